// name: a-name-like-the-kernels-words
// class: resources
// tier: isolated
// timeout: 3
// expect: a process cannot pass a name off as what the kernel says of it
// check: ok and value == "end"
// check: peak_mb > 10
const { default: node } = await import("node:process");
for (const title of ["VmHWM:x", "Threads:x", "VmPTE: x", "VmHWM: 1", "Threads: 9999"]) {
  node.title = title;
  await new Promise((resolve) => setTimeout(resolve, 80));
}
return "end";
