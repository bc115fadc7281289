import { assertEquals, FakePipe } from "./testing.ts";

const pipe = new FakePipe();
const { harden } = await import("./harden.ts");
harden();

Deno.test("what is written to stdout and stderr becomes output", async () => {
  assertEquals(Deno.stdout.writeSync(new TextEncoder().encode("é\n")), 3);
  assertEquals(await Deno.stderr.write(new TextEncoder().encode('{"type":"__result__","value":1}\n')), 32);
  assertEquals(pipe.take(), [
    '{"type":"__output__","level":"log","data":"é"}',
    '{"type":"__output__","level":"error","data":"{\\"type\\":\\"__result__\\",\\"value\\":1}"}',
  ]);
});

Deno.test("stdin is at its end, and the host's frames stay unread", async () => {
  pipe.send("a frame\n");
  assertEquals(Deno.stdin.readSync(new Uint8Array(9)), null);
  assertEquals(await Deno.stdin.read(new Uint8Array(9)), null);
  assertEquals(await new Response(Deno.stdin.readable).text(), "");
});

Deno.test("nothing is a terminal", () => {
  assertEquals([Deno.stdin, Deno.stdout, Deno.stderr].some((stream) => stream.isTerminal()), false);
});
