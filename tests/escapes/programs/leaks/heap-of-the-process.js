// name: heap-of-the-process
// class: leaks
// tier: isolated
// timeout: 6
// expect: a search of the whole heap finds nothing of the host: no secret, no path, no other run
// check: ok and value == []
const v8 = await import("node:v8");
const needle = /(FILE-S[E]CRET-|ENV-S[E]CRET-|HOST-S[E]CRET-|site-p[a]ckages|escapes.a[r]ena|"P[A]TH=)[^]{0,40}/;
const found = [];
for await (const chunk of v8.getHeapSnapshot()) {
  const match = needle.exec(String(chunk));
  if (match) found.push(match[0]);
}
return found;
