// name: a-flood-of-requests-by-frame
// class: network
// tier: network
// uses: send
// timeout: 4
// alone: yes
// expect: requests forged by the thousand end at the limit, without connections by the thousand
// check: len(asked) <= 50 and raised == ""
for (let n = 0; n < 3000; n++) frame({ type: "__fetch__", call_id: `${n}`, url: "http://@@ALLOWED@@/ok", method: "GET", headers: [], body: null, redirect: "follow" });
await pause(1500);
return "end";
