// name: forged-file-calls
// class: workspace
// tier: workspace
// uses: send
// timeout: 4
// expect: file calls of any other shape are refused, and do not raise in the host
// check: raised == "" and canary == []
let id = 0;
const ask = (operation, params) => frame({ type: "__file__", call_id: `f${id++}`, operation, params });
for (const params of [{}, { path: 1 }, { path: null }, { path: ["kept.txt"] }, { path: "kept.txt", extra: 1 }, { path: { a: 1 } }, { path: "x".repeat(1_000_000) }]) {
  for (const operation of ["readFile", "readDir", "stat", "mkdir", "remove", "rename", "copyFile", "realPath", "writeFile"]) ask(operation, params);
}
for (const operation of ["", "exec", "__init__", "chmod", "symlink", "open", "commit", "drop", "answer"]) ask(operation, { path: "kept.txt" });
for (const data of ["!!!", 5, null, "====", "A", "\u00ff"]) ask("writeFile", { path: "bad", data, append: false, create: true, create_new: false });
ask("writeFile", { path: "../canary/x", data: "eA==", append: false, create: true, create_new: false });
ask("writeFile", { path: "@@CANARY@@/x", data: "eA==", append: false, create: true, create_new: false });
ask("rename", { path: "kept.txt", to: "../canary/kept.txt" });
ask("copyFile", { path: "to-secret", to: "mine" });
await pause(600);
return "end";
