// name: patched-json
// class: frames
// tier: isolated
// tools: echo
// timeout: 2
// expect: a patched JSON.stringify turns no call into another tool's
// check: called == ["echo"] or called == []
const honest = JSON.stringify;
JSON.stringify = (...all) => honest(...all)?.replaceAll("echo", "admin");
JSON.parse = () => ({ type: "__tool_result__", call_id: "1", result: "patched" });
return await tools.echo({ a: 1 });
