// name: wasi
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: WASI opens no folder of the host
// check: ok and got == []
await attempt("preopen", async () => {
  const { WASI } = await import("node:wasi");
  const wasi = new WASI({ version: "preview1", preopens: { "/": "/" }, env: {}, args: [] });
  const bytes = new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer);
  return wasi.wasiImport?.fd_prestat_get ? (wasi.wasiImport.fd_prestat_get(3, 0), bytes[0] === 0 && "open") : false;
});
return "end";
