import { assertEquals, FakePipe } from "./testing.ts";

// What a run is granted reaches its code: a fetch and a file, each a frame to the host.
const pipe = new FakePipe();
const { addEventListener, console, fetch } = globalThis;
const { cwd, readTextFile } = Deno;
globalThis.addEventListener = () => {};
const run = {
  type: "__run__",
  code: `const send = () => fetch("https://example.com/", { method: "POST", body: "x".repeat(60_000) });
    const [page] = await Promise.all([send(), send()]);
    return [Deno.cwd(), await page.text(), await Deno.readTextFile("a"), Deno.readTextFileSync("b")]`,
  context: {},
  tools: [],
  tier: "network",
  workspace: true,
  max_result_bytes: 1000,
  max_output_bytes: 1000,
  max_frame_bytes: 1024 * 1024,
};
const page = {
  url: "https://example.com/",
  status: 200,
  statusText: "",
  headers: [],
  body: btoa("page"),
  redirected: false,
};
const results = [page, page, { data: btoa("a") }, { data: btoa("b") }];
for (const frame of [{ type: "__rehearse__", runs: [] }, run]) pipe.send(JSON.stringify(frame) + "\n");
await import("./main.ts");
// Both requests, before one is answered: what is held back goes by the frames that this host takes.
const lines = await pipe.takeWhenWritten(3);
for (const [at, result] of results.entries()) {
  pipe.send(JSON.stringify({ type: "__tool_result__", call_id: String(at + 1), result }) + "\n");
}
lines.push(...await pipe.takeWhenWritten(3));
Object.assign(globalThis, { addEventListener, console, fetch });
Object.assign(Deno, { cwd, readTextFile });

Deno.test("a run in the network tier with a workspace fetches, and reads files in both ways", () => {
  assertEquals(lines.slice(1).map((line) => JSON.parse(line).type), [
    "__fetch__",
    "__fetch__",
    "__file__",
    "__file__",
    "__result__",
  ]);
  assertEquals(JSON.parse(lines[5]).value, ["/workspace", "page", "a", "b"]);
});
