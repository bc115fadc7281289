// name: answers-of-the-store-that-nobody-reads
// class: store
// tier: store
// uses: send
// alone: yes
// timeout: 5
// expect: answers that are not read are not piled up in the host
// check: raised == "" and host_mb < 32
await store.set("big", "x".repeat(250_000));
for (let n = 0; n < 900; n++) frame({ type: "__store__", call_id: `r${n}`, operation: "get", key: "big", value: null });
for (;;);
