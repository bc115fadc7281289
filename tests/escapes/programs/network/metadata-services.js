// name: metadata-services
// class: network
// tier: network
// uses: attempts
// timeout: 4
// expect: addresses of metadata services and private networks are refused in every form
// check: ok and got == []
for (const host of ["169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "100.100.100.200", "10.0.0.1", "192.168.0.1", "172.16.0.1", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "0", "[::]", "224.0.0.1", "100.64.0.1"]) {
  await attempt(host, async () => `${(await fetch(`http://${host}/latest/`)).status}`);
}
return "end";
