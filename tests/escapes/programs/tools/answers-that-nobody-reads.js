// name: answers-that-nobody-reads
// class: tools
// tier: isolated
// tools: big
// timeout: 1
// alone: yes
// expect: large answers to a process that does not read are not piled up in the host
// check: not ok and error == "TimeoutError" and host_mb < 60
for (let n = 0; n < 24; n++) tools.big({ size: 4 << 20 }).catch(() => {});
await new Promise((resolve) => setTimeout(resolve, 20));
for (;;);
