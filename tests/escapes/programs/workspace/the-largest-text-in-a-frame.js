// name: the-largest-text-in-a-frame
// class: workspace
// tier: workspace
// uses: send
// timeout: 4
// alone: yes
// expect: a frame full of base64 that is not quite base64 is refused without holding up the host
// check: raised == ""
frame({ type: "__file__", call_id: "b1", operation: "writeFile", params: { path: "x", data: "A".repeat(2_000_001), append: false, create: true, create_new: false } });
frame({ type: "__file__", call_id: "b2", operation: "writeFile", params: { path: "x", data: "=".repeat(2_000_000), append: false, create: true, create_new: false } });
frame({ type: "__file__", call_id: "b3", operation: "writeFile", params: { path: "/".repeat(2_000_000), data: "", append: false, create: true, create_new: false } });
frame({ type: "__file__", call_id: "b4", operation: "stat", params: { path: "a/".repeat(900_000) } });
frame({ type: "__file__", call_id: "b5", operation: "stat", params: { path: "a/../".repeat(380_000) } });
frame({ type: "__file__", call_id: "b6", operation: "rename", params: { path: "./".repeat(900_000), to: "b" } });
await pause(1000);
return "end";
