// name: uninitialised-memory
// class: leaks
// tier: isolated
// timeout: 3
// expect: buffers that are not cleared hold nothing of another run or of the host
// check: ok and value == []
const { Buffer } = await import("node:buffer");
const found = [];
for (let n = 0; n < 500; n++) {
  const words = Buffer.allocUnsafe(65536).toString("latin1");
  for (const needle of ["FILE-" + "SECRET", "ENV-" + "SECRET", "PATH" + "=/", "site-" + "packages"]) if (words.includes(needle)) found.push(needle);
}
return found;
