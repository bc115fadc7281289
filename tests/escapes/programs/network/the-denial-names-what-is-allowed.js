// name: the-denial-names-what-is-allowed
// class: network
// tier: network
// timeout: 3
// expect: a denial says which hosts are allowed and nothing of the secret that goes with them
// check: ok and "127.0.0.1" in value[1] and value[0] == "PermissionDenied" and env_secret not in text
try { await fetch("https://example.com/"); } catch (refusal) { return [refusal.name, refusal.message, refusal.code]; }
