// name: native-without-a-head
// class: permissions
// tier: isolated
// authority: yes
// uses: native
// timeout: 4
// alone: yes
// expect: a process whose main thread has ended is not left to its other threads
// check: not ok and error != "TimeoutError"
const { pthread_exit } = libc({ pthread_exit: { parameters: ["pointer"], result: "void" } });
console.log("the head goes");
setTimeout(() => pthread_exit(null), 10);
await new Promise(() => {});
