// name: files-through-data-modules
// class: imports
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: a module made of text cannot import what the code itself cannot
// check: ok and got == []
const module = (source, type = "text/javascript") => `data:${type};base64,${btoa(source)}`;
const tries = [
  'import leak from "file://@@SECRET@@" with { type: "text" }; export default leak',
  'import leak from "file://@@SECRET@@" with { type: "json" }; export default leak',
  'export { default } from "file://@@SECRET@@" with { type: "text" }',
  'export * from "file://@@SECRET@@"; export default "loaded"',
  'export default await import("file://@@SECRET@@", { with: { type: "text" } })',
];
for (const [number, source] of tries.entries()) {
  await attempt(`javascript ${number}`, async () => String((await import(module(source))).default));
  await attempt(`typescript ${number}`, async () => String((await import(module(source, "application/typescript"))).default));
  await attempt(`blob ${number}`, async () => String((await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))).default));
}
await attempt("source map", () => import(module("export default 1\n//# sourceMappingURL=file://@@SECRET@@")).then(() => false));
await attempt("types", () => import(module('/// <reference path="@@SECRET@@" />\nexport default 1', "application/typescript")).then(() => false));
return "end";
