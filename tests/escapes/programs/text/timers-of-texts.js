// name: timers-of-texts
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no timer and no task takes a text for code
// check: ok and got == []
const wait = () => new Promise((resolve) => setTimeout(resolve, 50, false));
for (const set of [setTimeout, setInterval, setImmediate, queueMicrotask, process.nextTick]) {
  await attempt(set.name, () => (set(signal.data.text), wait()));
}
for (const set of ["setTimeout", "setInterval", "setImmediate", "requestIdleCallback", "queueMicrotask"]) {
  await attempt(`global ${set}`, () => (globalThis[set](signal.data.text, 0), wait()));
}
