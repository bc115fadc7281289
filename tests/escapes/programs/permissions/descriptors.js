// name: descriptors
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: no descriptor but the three pipes can be used, by number or by name
// check: ok and got == []
const net = await import("node:net");
const fs = await import("node:fs");
for (let number = 3; number < 40; number++) {
  await attempt(`socket ${number}`, () => { const socket = new net.Socket({ fd: number }); return socket.remoteAddress ?? socket.localAddress ?? false; });
  await attempt(`file ${number}`, () => { const count = fs.readSync(number, new Uint8Array(9)); return count ? "read" : false; });
}
for (const number of [3, 4, 5, 9]) {
  await attempt(`/dev/fd/${number}`, () => { Deno.openSync(`/dev/fd/${number}`); return "opened"; });
  await attempt(`/proc/self/fd/${number}`, () => { Deno.openSync(`/proc/self/fd/${number}`); return "opened"; });
}
return "end";
