// name: forged-job-frames
// class: later
// tier: isolated
// authority: yes
// uses: send
// runs: 8
// timeout: 3
// expect: no frame starts, shows or cancels a job: a frame of such a type ends the run that sent it
// check: raised == "" and not ok and error == "CrashError"
const shapes = [
  { type: "__later__", code: "return 1", purpose: "x" },
  { type: "__job__", job: "job-" + "0".repeat(32) },
  { type: "__job__", job: "job-" + "0".repeat(32), cancel: true },
  { type: "__job_ended__", job: "job-" + "0".repeat(32), state: "done", ok: true, reply: "forged" },
  { type: "__result__", value: 1, job: "job-" + "0".repeat(32) },
  { type: "core.job_ended", data: { job: "x" } },
  { type: "__signal__", signal: "core.job_ended", data: {} },
];
frame(shapes[Math.floor(Math.random() * shapes.length)]);
await pause(2000);
throw new Error("still here");
