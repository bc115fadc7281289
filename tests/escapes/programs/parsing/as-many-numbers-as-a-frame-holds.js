// name: as-many-numbers-as-a-frame-holds
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: a frame of a million little numbers, which are not objects, is read or refused without holding up the host
// check: raised == "" and (truncated or not ok)
send('{"type":"__result__","value":[' + "0,".repeat(1_048_000) + "0]}\n");
await pause(2000);
