// name: unread-messages
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: messages that nobody reads count
// check: not ok and peak_mb < memory_mb + 120
const { port1 } = new MessageChannel();
const part = new Uint8Array(4 << 20).fill(1);
for (;;) port1.postMessage(part);
