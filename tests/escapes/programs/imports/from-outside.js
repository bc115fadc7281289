// name: from-outside
// class: imports
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 6
// expect: no module is fetched from anywhere
// check: ok and got == [] and hits == []
for (const name of ["http://@@FORBIDDEN@@/module.js", "https://@@FORBIDDEN@@/module.js", "https://deno.land/x/mod.ts", "https://esm.sh/is-odd", "npm:is-odd", "npm:/is-odd@1", "jsr:@std/path", "is-odd", "@std/path", "std/path"]) {
  await attempt(name, () => import(name));
}
return "end";
