// name: one-huge-log
// class: resources
// tier: isolated
// timeout: 4
// expect: one log of hundreds of megabytes is refused or cut
// check: not ok and len(text) < 3000000
console.log("y".repeat(200 << 20));
return 1;
