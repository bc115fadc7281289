// name: numbers-made-to-be-slow
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// expect: a frame full of long numbers is read or refused without holding up the host
// check: raised == ""
send('{"type":"__result__","value":[' + ("9".repeat(4000) + ",").repeat(500) + "0]}\n");
await pause(2000);
