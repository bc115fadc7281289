// name: a-context-that-is-never-read
// class: resources
// tier: isolated
// context: yes
// timeout: 1
// expect: megabytes of context for code that spins cost its own time
// check: not ok and error == "TimeoutError"
for (;;);
