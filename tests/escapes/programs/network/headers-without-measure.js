// name: headers-without-measure
// class: network
// tier: network
// timeout: 4
// expect: megabytes of headers are refused
// check: not ok and host_mb < 64
return [...(await fetch("http://@@ALLOWED@@/headers")).headers].length;
