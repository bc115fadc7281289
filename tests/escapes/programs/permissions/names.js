// name: names
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 8
// expect: no name is resolved, and no datagram leaves for a name server of the code's choice
// check: ok and got == [] and hits == []
const dns = await import("node:dns");
const nameServer = { ipAddr: "127.0.0.1", port: Number("@@UDP@@".split(":")[1]) };
await attempt("resolveDns", () => Deno.resolveDns("@@MARK@@.example", "A"));
await attempt("resolveDns elsewhere", () => Deno.resolveDns("@@MARK@@.example", "TXT", { nameServer }));
await attempt("lookup", async () => (await dns.promises.lookup("localhost")).address);
await attempt("resolve4", () => dns.promises.resolve4("@@MARK@@.example"));
await attempt("resolver", async () => { const resolver = new dns.promises.Resolver(); resolver.setServers(["@@UDP@@"]); return await resolver.resolveTxt("@@MARK@@.example"); });
await attempt("reverse", () => dns.promises.reverse("127.0.0.1"));
return "end";
