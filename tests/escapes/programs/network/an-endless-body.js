// name: an-endless-body
// class: network
// tier: network
// timeout: 6
// alone: yes
// expect: a body without end stops at the limit of bytes, and costs the host no more than that
// check: not ok and host_mb < 64
return (await (await fetch("http://@@ALLOWED@@/endless")).text()).length;
