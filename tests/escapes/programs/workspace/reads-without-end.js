// name: reads-without-end
// class: workspace
// tier: workspace
// uses: send
// timeout: 4
// alone: yes
// expect: reads of a large file that are never taken are not piled up in the host
// check: not ok and host_mb < 64
await Deno.writeFile("big", new Uint8Array(12 << 20));
for (let n = 0; n < 60; n++) frame({ type: "__file__", call_id: `r${n}`, operation: "readFile", params: { path: "big" } });
for (;;);
