// name: the-largest-file
// class: workspace
// tier: workspace
// timeout: 6
// alone: yes
// expect: a file as large as it may be is written and read without holding up the host
// check: ok and value == 8388608
await Deno.writeFile("large", new Uint8Array(8 << 20).fill(255));
return (await Deno.readFile("large")).length;
