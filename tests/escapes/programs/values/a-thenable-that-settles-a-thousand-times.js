// name: a-thenable-that-settles-a-thousand-times
// class: values
// tier: isolated
// timeout: 2
// expect: a thenable that resolves again and again resolves once
// check: ok and value == 0
return { then(resolve) { for (let n = 0; n < 1000; n++) resolve(n); } };
