// name: as-many-texts-as-a-frame-holds
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: a frame of half a million little texts is read or refused without holding up the host
// check: raised == "" and (truncated or not ok)
send('{"type":"__result__","value":[' + '"a",'.repeat(520_000) + "0]}\n");
await pause(2000);
