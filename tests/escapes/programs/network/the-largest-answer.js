// name: the-largest-answer
// class: network
// tier: network
// timeout: 5
// alone: yes
// expect: an answer as large as it may be, full of beginnings of the host's secret, is searched and passed on without holding up the host
// check: ok and value == 4194304
return (await (await fetch("http://@@ALLOWED@@/bytes?size=4194304&of=ENV-SECRET-")).arrayBuffer()).byteLength;
