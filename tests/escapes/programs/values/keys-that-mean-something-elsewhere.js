// name: keys-that-mean-something-elsewhere
// class: values
// tier: isolated
// timeout: 2
// expect: keys that have a meaning for objects, or look like frames, arrive as plain keys
// check: ok and value == {"__proto__": {"x": 1}, "constructor": {"prototype": {"y": 2}}, "type": "__error__", "__class__": "z"}
return JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":2}},"type":"__error__","__class__":"z"}');
