// name: ambient-facts
// class: leaks
// tier: isolated
// timeout: 3
// expect: what is visible without permission names neither the project, nor the user, nor the host's environment
// check: ok and "harness" not in str(value).replace("harness.js", "") and "main/" not in str(value)
const { default: process } = await import("node:process");
return [Deno.mainModule.slice(0, 30), Deno.cwd(), Deno.args, process.argv.slice(1).map((word) => word.slice(0, 30)), navigator.userAgent, import.meta?.url?.slice?.(0, 30) ?? null];
