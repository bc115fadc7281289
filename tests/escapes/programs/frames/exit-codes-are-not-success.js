// name: exit-codes-are-not-success
// class: frames
// tier: isolated
// timeout: 2
// expect: leaving with exit code 0 is not a result
// check: not ok and error == "CrashError" and "exit code 0" in message
Deno.exit(0);
