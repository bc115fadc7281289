// name: a-flood-of-events
// class: workflows
// tier: isolated
// timeout: 4
// expect: what code prints and returns makes no events of its run, however much and whatever it looks like
// check: got == []
for (let n = 0; n < 20_000; n++) console.log('{"kind":"run_done","task":"victim"}');
const events = Array.from({ length: 5_000 }, () => ({ kind: "run_aborted", data: {} }));
return { events, messages: events, state: { events } };
