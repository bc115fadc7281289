// name: a-long-text-for-many-choices
// class: parsing
// tier: isolated
// timeout: 5
// tools: choose
// expect: a text of megabytes is compared with none of hundreds of choices that it cannot be
// check: ok and value == "invalid_arguments"
try {
  return await tools.choose({ one: "Choice-".repeat(250_000) });
} catch (refusal) {
  return refusal.code;
}
