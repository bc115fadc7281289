// name: a-store-call-without-a-conversation
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a store frame of a run that belongs to no conversation is refused, and keeps and tells nothing
// check: kept == {} and "[" not in str(value)
for (const operation of ["set", "get", "keys", "delete"]) frame({ type: "__store__", call_id: operation, operation, key: "kept", value: 1 });
const bytes = new Uint8Array(65536);
const reading = Deno[Deno.internal].core.read(0, bytes);
const count = await Promise.race([reading, pause(500)]);
return count ? new TextDecoder().decode(bytes.subarray(0, count)) : "no answer";
