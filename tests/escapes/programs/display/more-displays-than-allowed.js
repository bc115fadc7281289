// name: more-displays-than-allowed
// class: display
// tier: isolated
// timeout: 3
// expect: the harness refuses what is too many or too large, with an error that code may catch
// check: ok and value["refused"] == 2000
// check: len(displayed) == 20
let refused = 0;
for (let n = 0; n < 2020; n++) try { display("x") } catch { refused++ }
return { refused };
