// name: a-bomb-in-a-bomb
// class: network
// tier: network
// timeout: 6
// alone: yes
// expect: encodings on top of encodings are refused or stop at the limit
// check: not ok
return (await (await fetch("http://@@ALLOWED@@/bombs")).arrayBuffer()).byteLength;
