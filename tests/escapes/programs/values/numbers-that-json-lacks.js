// name: numbers-that-json-lacks
// class: values
// tier: isolated
// timeout: 2
// expect: NaN and the infinities become null, never a Python nan
// check: ok and value == [None, None, None, 0]
return [NaN, Infinity, -Infinity, -0];
