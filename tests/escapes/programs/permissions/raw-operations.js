// name: raw-operations
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: operations of Deno's core, called past its own functions, are checked like them
// check: ok and got == []
const { ops } = Deno[Deno.internal].core;
const tries = {
  op_fs_read_file_text_sync: ["@@SECRET@@"], op_fs_read_file_sync: ["@@SECRET@@"], op_fs_open_sync: ["@@SECRET@@", undefined],
  op_fs_write_file_sync: ["@@CANARY@@/op", 0o644, false, true, false, new Uint8Array(1)], op_fs_mkdir_sync: ["@@CANARY@@/dir", false, 0o755],
  op_env: [], op_get_env: ["@@ENV@@"], op_hostname: [], op_spawn_sync: [{ cmd: "/bin/true", args: [] }], op_kill: [Deno.ppid, 0, "x"],
  op_node_fs_exists_sync: ["@@SECRET@@"], op_require_read_file: ["@@SECRET@@"], op_require_stat: ["@@SECRET@@"], op_load_env_file: ["/etc/environment"],
  op_exec_path: undefined, op_bundle: undefined, op_internal_log: undefined, op_set_raw: undefined,
};
for (const [name, words] of Object.entries(tries)) {
  if (!words) continue;
  await attempt(name, () => { if (!ops[name]) throw new Error("not there"); const got = ops[name](...words); return got !== undefined && got !== false && !(got < 0) && String(got); });
}
return Object.keys(ops).length;
