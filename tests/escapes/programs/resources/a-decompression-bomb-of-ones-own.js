// name: a-decompression-bomb-of-ones-own
// class: resources
// tier: isolated
// timeout: 6
// alone: yes
// expect: what the code unpacks counts as its own memory
// check: not ok and peak_mb < memory_mb + 120
const pack = (stream) => new Response(new Blob([new Uint8Array(16 << 20)]).stream().pipeThrough(stream)).arrayBuffer();
const packed = await pack(new CompressionStream("gzip"));
const kept = [];
for (;;) kept.push(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
