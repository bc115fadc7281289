// name: many-answers-that-nobody-reads
// class: tools
// tier: isolated
// tools: big
// timeout: 2
// alone: yes
// expect: hundreds of megabytes of answers that are due to a process that does not read are not held by the host
// check: not ok and host_mb < 64
for (let n = 0; n < 100; n++) tools.big({ size: 4 << 20 }).catch(() => {});
await new Promise((resolve) => setTimeout(resolve, 20));
for (;;);
