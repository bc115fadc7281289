// name: names-of-core
// class: tools
// tier: isolated
// tools: core.secret, echo
// uses: attempts
// timeout: 2
// expect: what is called core is lent to nobody, even when its owner declares it
// check: ok and got == [] and called == []
await attempt("core", () => tools.core.secret({}));
await attempt("core by name", () => tools["core.secret"]({}));
return Object.keys(tools);
