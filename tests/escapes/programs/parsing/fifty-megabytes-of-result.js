// name: fifty-megabytes-of-result
// class: parsing
// tier: isolated
// uses: send
// timeout: 4
// alone: yes
// expect: a huge line is refused by its size before it is parsed
// check: not ok and error == "LimitError"
const head = new TextEncoder().encode('{"type":"__result__","value":[');
send(head);
const chunk = new TextEncoder().encode("{},".repeat(300_000));
for (let n = 0; n < 50; n++) send(chunk);
send("0]}\n");
await pause(2000);
