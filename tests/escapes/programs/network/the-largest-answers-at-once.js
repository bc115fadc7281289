// name: the-largest-answers-at-once
// class: network
// tier: network
// timeout: 6
// alone: yes
// expect: as many large answers at once as the limits give do not hold up the host, nor fill it
// check: (ok or error == "LimitError") and host_mb < 64
const ends = await Promise.allSettled(Array.from({ length: 8 }, () => fetch("http://@@ALLOWED@@/bytes?size=4000000&of=%00").then((response) => response.arrayBuffer())));
return ends.map((end) => end.status);
