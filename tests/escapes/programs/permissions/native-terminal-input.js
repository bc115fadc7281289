// name: native-terminal-input
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: nothing can be typed into the terminal of the host
// check: ok and got == []
for (const number of [0, 1, 2]) {
  await attempt(`TIOCSTI ${number}`, () => `${sys(16, number, 0x5412, new Uint8Array([120]))}`);
  await attempt(`TIOCLINUX ${number}`, () => `${sys(16, number, 0x541c, new Uint8Array([2]))}`);
}
await attempt("open the terminal", () => `${sys(2, "/dev/tty", 2)}`);
return "end";
