// name: references-in-a-result
// class: workflows
// tier: isolated
// timeout: 3
// expect: what looks like a reference of a plan in a result is data to the tasks that are given it
// check: ok and got == []
// check: value == {'text': '${victim.secret}', 'list': ['${input.token}', '${victim}'], '${victim.secret}': 1}
return { text: "${victim.secret}", list: ["${input.token}", "${victim}"], "${victim.secret}": 1 };
