// name: little-objects-by-the-million
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: a frame of little objects is refused before they are made
// check: not ok and host_mb < 32
send('{"type":"__result__","value":[' + "{},".repeat(600_000) + "0]}\n");
await pause(2000);
