// name: an-executable-for-the-host
// class: workspace
// tier: workspace
// commit: yes
// timeout: 3
// expect: a program that the code writes is a plain file without the right to run
// check: ok and commit_error == "" and files["run.sh"].startswith("#!/bin/sh")
await Deno.writeTextFile("run.sh", "#!/bin/sh\ntouch @@CANARY@@/x\n", { mode: 0o4777 });
return "end";
