// name: a-line-without-end
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: a line that never ends is cut off at the limit
// check: not ok and error == "LimitError"
const chunk = new Uint8Array(1 << 20).fill(120);
for (;;) send(chunk);
