// name: other-realms
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no other realm brings the constructors back
// check: ok and got == []
await attempt("shadow", () => new ShadowRealm().evaluate(signal.data.text));
await attempt("global shadow", () => new globalThis["Shadow" + "Realm"]().evaluate(signal.data.text));
await attempt("frame", () => document.createElement("iframe") && "there");
await attempt("compartment", () => new Compartment().evaluate(signal.data.text));
await attempt("flags", () => process.getBuiltinModule("v8").setFlagsFromString("--harmony-shadow-realm") ?? "set");
await attempt("clone", () => structuredClone(() => 42)());
await attempt("port", () => new Promise((resolve, reject) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = ({ data }) => resolve(data()); port2.postMessage(() => 42); reject(); }));
await attempt("serialized", () => { const { core } = Deno[Deno.internal]; return core.deserialize(core.serialize(() => 42))(); });
