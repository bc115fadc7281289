// name: internals-of-deno
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: what Deno keeps for itself compiles no text either
// check: ok and got == []
const kept = Deno[Deno.internal];
await attempt("evalContext", () => kept.core.evalContext(signal.data.text, "file:///a.js")[0]);
await attempt("compileFunction", () => kept.core.compileFunction(`return ${signal.data.text}`)[0]());
for (const place of [kept, kept.core, kept.core.ops ?? {}]) {
  for (const name of Object.getOwnPropertyNames(place)) {
    if (/eval|compile|script|module|vm_|context|worker|import|lazy|require/i.test(name)) {
      if (["scopeAsyncContext", "getAsyncContext", "setAsyncContext", "kNoAsyncContextRestore", "addMainModuleHandler"].includes(name)) continue;
      console.log(`GOT ${name}`);
    }
  }
}
for (const symbol of [...Object.getOwnPropertySymbols(Deno), ...Object.getOwnPropertySymbols(globalThis)]) {
  await attempt(String(symbol), () => (Deno[symbol] ?? globalThis[symbol])?.core?.evalContext && "there");
}
