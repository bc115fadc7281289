// name: a-log-with-a-trap-inside
// class: values
// tier: isolated
// timeout: 2
// expect: inspecting a hostile object for the console is the code's own trouble
// check: ok and value == 1 or error in ("RuntimeError", "TimeoutError")
const trap = { [Symbol.for("Deno.customInspect")]() { throw new Error("in inspect"); }, get [Symbol.toStringTag]() { throw 1; } };
try { console.log(trap); } catch { /* its own */ }
try { console.table(new Proxy([], { get() { throw 2; } })); } catch { /* its own */ }
return 1;
