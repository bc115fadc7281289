// name: forged-displays-past-the-harness
// class: display
// tier: isolated
// uses: send
// authority: yes
// timeout: 3
// expect: displays that the harness did not count are counted by the host, and one too many ends the run
// check: not ok and error == "LimitError"
// check: len(displayed) == 20
for (let n = 0; n < 5000; n++) frame({ type: "__display__", kind: "markdown", title: "", data: "x" });
await pause(2000);
