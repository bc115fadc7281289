// name: html-comments-and-odd-line-ends
// class: frames
// tier: isolated
// timeout: 2
// expect: comment marks and line separators in the code cannot swallow what the harness puts after it
// check: ok and value == 3
const one = 1; /* */ const two = 2;
return one + two; // an end that is a comment
