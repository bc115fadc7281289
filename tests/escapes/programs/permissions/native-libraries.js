// name: native-libraries
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: no library of the machine can be loaded that the process does not have already
// check: ok and got == []
for (const name of ["libcrypt.so.1", "libresolv.so.2", "libsqlite3.so.0", "libvulkan.so.1", "libutil.so.1", "/lib/x86_64-linux-gnu/libnss_files.so.2", "@@SECRET@@"]) {
  await attempt(name, () => { Deno.dlopen(name, {}); return "loaded"; });
}
return "end";
