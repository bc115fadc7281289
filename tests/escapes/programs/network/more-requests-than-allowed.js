// name: more-requests-than-allowed
// class: network
// tier: network
// timeout: 8
// expect: the number of requests has an end that the code can catch
// check: len(asked) <= 50 and (ok or error in ("LimitError", "RuntimeError", "TimeoutError"))
const ends = [];
for (let n = 0; n < 300; n++) {
  try { ends.push((await fetch("http://@@ALLOWED@@/ok")).status); } catch (refusal) { ends.push(refusal.name); break; }
}
return ends.slice(-1);
