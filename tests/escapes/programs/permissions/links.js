// name: links
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: links that exist on every system lead nowhere
// check: ok and got == []
for (const path of ["/proc/self/root@@SECRET@@", "/proc/self/cwd@@SECRET@@", "/proc/1/root@@SECRET@@", `/proc/${Deno.ppid}/root@@SECRET@@`, "/proc/@@HOST@@/root@@SECRET@@", "/proc/@@HOST@@/cwd/README.md", `/proc/${Deno.ppid}/cwd@@SECRET@@`, "/dev/fd/../root@@SECRET@@"]) {
  await attempt(path.slice(0, 30), () => Deno.readTextFileSync(path));
}
return "end";
