// name: headers-that-are-two
// class: network
// tier: network
// uses: send
// timeout: 4
// expect: line ends in a header, a method or a path cannot smuggle a second request
// check: raised == "" and all("smuggled" not in line.split(" ")[2] for line in asked)
let id = 0;
const ask = (changes) => frame({ type: "__fetch__", call_id: `h${id++}`, url: "http://@@ALLOWED@@/ok", method: "GET", headers: [], body: null, redirect: "follow", ...changes });
ask({ headers: [["x", "a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"]] });
ask({ headers: [["x\r\nGET /smuggled", "a"]] });
ask({ method: "GET /smuggled HTTP/1.1\r\nx:" });
ask({ url: "http://@@ALLOWED@@/ok HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled" });
ask({ headers: [["content-length", "5"], ["transfer-encoding", "chunked"]], method: "POST", body: btoa("0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n") });
ask({ headers: [["host", "@@FORBIDDEN@@"]] });
ask({ headers: [["connection", "upgrade"], ["upgrade", "h2c"]] });
await pause(800);
return "end";
