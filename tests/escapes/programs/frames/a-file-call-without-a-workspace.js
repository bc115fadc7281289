// name: a-file-call-without-a-workspace
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a file frame of a run that was granted no folder reads and writes nothing
// check: canary == []
frame({ type: "__file__", call_id: "1", operation: "readFile", params: { path: "@@SECRET@@" } });
frame({ type: "__file__", call_id: "2", operation: "writeFile", params: { path: "@@CANARY@@/x", data: "eA==", append: false, create: true, create_new: false } });
frame({ type: "__file__", call_id: "3", operation: "readDir", params: { path: "/" } });
const bytes = new Uint8Array(65536);
const reading = Deno[Deno.internal].core.read(0, bytes);
const count = await Promise.race([reading, pause(500)]);
return count ? new TextDecoder().decode(bytes.subarray(0, count)) : "no answer";
