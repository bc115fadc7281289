// name: an-integer-just-readable
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: an integer near the limit of digits does not raise when the outcome is written
// check: raised == "" and len(text) < 100000
send(`{"type":"__result__","value":[${"9".repeat(4300)},-${"8".repeat(4299)},${"7".repeat(4301)}]}\n`);
await pause(1000);
