// name: terminals-and-devices
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: no device that leads out can be opened
// check: ok and got == []
for (const path of ["/dev/tty", "/dev/ptmx", "/dev/console", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/sda", "/dev/vda", "/dev/vsock", "/dev/loop-control"]) {
  await attempt(path, () => { Deno.openSync(path, { read: true, write: true }); return "opened"; });
}
return "end";
