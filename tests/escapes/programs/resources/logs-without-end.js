// name: logs-without-end
// class: resources
// tier: isolated
// timeout: 3
// alone: yes
// expect: logs without end are cut off by the limit on output
// check: not ok and error == "LimitError"
for (;;) console.log("again and again");
