// name: breaking-out-of-the-module
// class: frames
// tier: isolated
// timeout: 2
// expect: closing the wrapper of TypeScript is an error and not code beside it
// check: not ok and error == "SyntaxError"
const x: number = 1; return x }
export const beside: string = Deno.version.deno; export async function other() {
