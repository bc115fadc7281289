// name: read-what-the-kernel-shows
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: nothing of /proc, /sys and /dev that tells of the host or of another process can be read
// check: ok and got == []
const read = (path) => attempt(path, () => Deno.readTextFileSync(path).slice(0, 100) || false);
await read("/proc/self/environ");
await read("/proc/self/maps");
await read("/proc/self/cmdline");
await read("/proc/self/mountinfo");
await read("/proc/self/root/etc/passwd");
await read("/proc/self/cwd/etc/passwd");
await read("/proc/thread-self/environ");
await read(`/proc/${Deno.ppid}/environ`);
await read(`/proc/${Deno.ppid}/cmdline`);
await read("/proc/@@HOST@@/environ");
await read("/proc/@@HOST@@/maps");
await read("/proc/1/cmdline");
await read("/proc/net/tcp");
await read("/proc/version");
await read("/proc/cpuinfo");
await read("/proc/mounts");
await read("/sys/class/net/lo/address");
await read("/sys/kernel/hostname");
await attempt("kmsg", () => { const bytes = new Uint8Array(99); Deno.openSync("/dev/kmsg").readSync(bytes); return text(bytes); });
return "end";
