// name: native-sockets
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: with native calls at hand there is no socket of any family
// check: ok and got == [] and hits == []
const families = { unix: 1, inet: 2, inet6: 10, netlink: 16, packet: 17, alg: 38, vsock: 40, xdp: 44 };
for (const [name, family] of Object.entries(families)) {
  for (const type of [1, 2, 3, 5]) await attempt(`${name} ${type}`, () => `${sys(41, family, type, 0)}`);
}
await attempt("fast open", () => `${sys(44, 0, new Uint8Array(4), 4, 0x20000000, new Uint8Array(16), 16)}`);
return "end";
