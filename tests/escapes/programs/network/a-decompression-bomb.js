// name: a-decompression-bomb
// class: network
// tier: network
// timeout: 6
// alone: yes
// expect: a body that grows a thousandfold stops at the limit
// check: not ok
return (await (await fetch("http://@@ALLOWED@@/bomb")).arrayBuffer()).byteLength;
