// name: terminal-control
// class: values
// tier: isolated
// timeout: 2
// expect: control characters are data: they arrive as they are, as text
// check: ok and value == "\x1b[31mred\x1b]0;title\x07\x00\u202e"
console.log("\u001b[2J\u001b]52;c;cm0gLXJmIC8=\u0007");
return "\u001b[31mred\u001b]0;title\u0007\u0000\u202e";
