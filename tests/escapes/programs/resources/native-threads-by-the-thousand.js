// name: native-threads-by-the-thousand
// class: resources
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// alone: yes
// expect: with native calls at hand threads are limited in number: the machine keeps room for other processes
// check: got == []
await attempt("3000 threads", () => {
  const { pthread_create, dlsym } = libc({
    pthread_create: { parameters: ["buffer", "buffer", "pointer", "pointer"], result: "i32" },
    dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
  });
  const small = libc({ pthread_attr_init: { parameters: ["buffer"], result: "i32" }, pthread_attr_setstacksize: { parameters: ["buffer", "usize"], result: "i32" } });
  const attributes = new Uint8Array(64);
  small.pthread_attr_init(attributes);
  small.pthread_attr_setstacksize(attributes, 16384n);
  const routine = dlsym(null, new TextEncoder().encode("sleep\0"));
  let made = 0;
  while (made < 3000 && pthread_create(new Uint8Array(8), attributes, routine, Deno.UnsafePointer.create(60n)) === 0) made++;
  return made === 3000 && `${made}`;
});
return "end";
