// name: headers-of-the-wrong-kind
// class: network
// tier: network
// uses: send
// timeout: 4
// expect: headers, bodies and methods of any other kind are refused by the broker, which does not raise
// check: raised == "" and hits == []
let id = 0;
const ask = (changes) => frame({ type: "__fetch__", call_id: `w${id++}`, url: "http://@@ALLOWED@@/ok", method: "GET", headers: [], body: null, redirect: "follow", ...changes });
for (const headers of [[1], [[1, 2]], [["a"]], [["a", "b", "c"]], [{}], [[["a"], "b"]], Array(20000).fill(["a", "b"]), [["a", "x".repeat(1_000_000)]], [["", ""]], [["\ud83d\ude00", "x"]], [["a", "\u0000"]]]) ask({ headers });
for (const body of ["!!!", "====", "x", "\u00ff", "A".repeat(1_500_000)]) ask({ body, method: "POST" });
for (const method of ["", "get", "CONNECT", "TRACE", "FOO", "G\u00cbT"]) ask({ method });
await pause(800);
return "end";
