// name: vsock
// class: permissions
// tier: isolated
// authority: yes
// timeout: 2
// expect: no socket to the machine's own host
// check: not ok
const connection = await Deno.connect({ transport: "vsock", cid: 2, port: 1 });
return `connected ${connection.rid}`;
