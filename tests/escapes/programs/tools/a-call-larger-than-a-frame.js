// name: a-call-larger-than-a-frame
// class: tools
// tier: isolated
// tools: echo
// timeout: 3
// expect: a call that is too large for a frame is refused or ends its own run
// check: ok or error in ("LimitError", "RuntimeError", "MemoryError")
// check: called == []
return await tools.echo({ text: "x".repeat(5 << 20) });
