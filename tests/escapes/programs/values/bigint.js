// name: bigint
// class: values
// tier: isolated
// timeout: 2
// expect: an integer beyond doubles arrives exactly, or is an error; never silently another number
// check: not ok or value == [12345678901234567890123, -1]
return [12345678901234567890123n, -1n];
