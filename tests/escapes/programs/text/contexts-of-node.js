// name: contexts-of-node
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no module of Node makes another realm, and none runs a text
// check: ok and got == []
const ways = (vm) => ({
  here: () => vm.runInThisContext(signal.data.text),
  new: () => vm.runInNewContext(signal.data.text),
  script: () => new vm.Script(signal.data.text).runInThisContext(),
  function: () => vm.compileFunction(`return ${signal.data.text}`)(),
  realm: () => vm.runInNewContext("Function")(`return ${signal.data.text}`)(),
});
for (const load of [() => process.getBuiltinModule("node:vm"), () => process.getBuiltinModule("vm"), () => process.mainModule.require("vm"),
  () => require("vm"), () => process.binding("contextify"), () => process.constructor.getBuiltinModule("vm")]) {
  for (const way of ["here", "new", "script", "function", "realm"]) await attempt(`${load} ${way}`, () => ways(load())[way]());
}
