import type { FetchFrame, FetchResult, RunFrame } from "./protocol.ts";
import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { lendFetch } = await import("./fetch.ts");
const { guest, host } = readGolden();
const runNamed = (name: string) => host.find((entry) => entry.name === name)!.frame as RunFrame;
const network = runNamed("a run in the network tier");
const fetch = lendFetch(network);

const page: FetchResult = {
  url: "https://example.com/last",
  status: 200,
  statusText: "OK",
  headers: [["content-type", "application/json"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]],
  body: btoa('{"a":[1]}'),
  redirected: true,
};

async function sent(): Promise<FetchFrame> {
  return JSON.parse((await pipe.takeWhenWritten(1))[0]);
}

/** Fetch, and be answered; return what was sent and what came back. */
async function exchange(
  input: RequestInfo | URL,
  init?: RequestInit,
  result: Partial<FetchResult> = {},
): Promise<[FetchFrame, Response]> {
  const promise = fetch(input, init);
  const frame = await sent();
  const answer = { type: "__tool_result__", call_id: frame.call_id, result: { ...page, ...result } };
  pipe.send(JSON.stringify(answer) + "\n");
  return [frame, await promise];
}

async function refused(code: string, retryable = false): Promise<Error & Record<string, unknown>> {
  const promise = fetch("https://example.com/");
  const { call_id } = await sent();
  pipe.send(JSON.stringify({ type: "__tool_error__", call_id, error: "why", code, retryable }) + "\n");
  return await thrownBy(() => promise) as Error & Record<string, unknown>;
}

Deno.test("requests are written as the golden lines", async () => {
  const golden = guest.filter(({ frame }) => frame.type === "__fetch__");
  const promises = golden.map(async ({ frame }) => {
    const { url, method, headers, body, redirect } = frame as FetchFrame;
    await fetch(url, {
      method,
      headers: new Headers(headers),
      redirect,
      ...body === null ? {} : { body: Uint8Array.fromBase64(body) },
    });
  });
  const lines = await pipe.takeWhenWritten(golden.length);
  // A body is read before its request is sent, so that ids come in another order.
  const asText = (line: string) => line.replace(/"call_id":"\d+"/, "");
  assertEquals(
    lines.map(asText).sort(),
    golden.map(({ line }) => asText(line)).sort(),
  );
  for (const line of lines) {
    const { call_id } = JSON.parse(line);
    pipe.send(JSON.stringify({ type: "__tool_result__", call_id, result: page }) + "\n");
  }
  await Promise.all(promises);
});

Deno.test("a response has all that a response has", async () => {
  const [frame, response] = await exchange("https://example.com/first");
  assertEquals([frame.method, frame.headers, frame.body, frame.redirect], ["GET", [], null, "follow"]);
  assertEquals(response instanceof Response, true);
  assertEquals([response.status, response.statusText, response.ok], [200, "OK", true]);
  assertEquals([response.url, response.redirected, response.type], [
    "https://example.com/last",
    true,
    "basic",
  ]);
  assertEquals(response.headers.get("Content-Type"), "application/json");
  assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
  const copy = response.clone();
  assertEquals([response.bodyUsed, await response.json(), response.bodyUsed], [false, { a: [1] }, true]);
  assertEquals([copy.url, copy.type, copy.redirected], [response.url, "basic", true]);
  assertEquals(await copy.clone().text(), '{"a":[1]}');
  assertEquals((await copy.arrayBuffer()).byteLength, 9);
  assertEquals((await thrownBy(() => copy.text())).name, "TypeError");
});

Deno.test("a body is bytes, a blob, a form or a stream, as the code wishes", async () => {
  const bytes = new Uint8Array([0, 255, 254, 10]);
  const body = bytes.toBase64();
  const get = async () => (await exchange("https://a/", {}, { body }))[1];
  assertEquals(await (await get()).bytes(), bytes);
  assertEquals((await (await get()).blob()).size, 4);
  const parts = [];
  for await (const part of (await get()).body!) parts.push(...part);
  assertEquals(parts, [...bytes]);
  const headers: [string, string][] = [["content-type", "application/x-www-form-urlencoded"]];
  const [, form] = await exchange("https://a/", {}, { headers, body: btoa("a=1&b=%C3%A9") });
  assertEquals([...await form.formData()], [["a", "1"], ["b", "é"]]);
});

Deno.test("a status without a body has none, and an odd status is told as it is", async () => {
  for (const status of [204, 205, 304]) {
    const [, response] = await exchange("https://a/", {}, { status, body: "" });
    assertEquals([response.status, response.body, await response.text()], [status, null, ""]);
  }
  const [, head] = await exchange("https://a/", { method: "HEAD" }, { body: "" });
  assertEquals(head.body, null);
  const [, moved] = await exchange("https://a/", { redirect: "manual" }, { status: 302, redirected: false });
  assertEquals([moved.status, moved.ok, moved.redirected], [302, false, false]);
  const [, odd] = await exchange("https://a/", {}, { status: 999 });
  assertEquals([odd.status, odd.ok, odd.clone().status, await odd.text()], [999, false, 999, '{"a":[1]}']);
});

Deno.test("a request may have a body of every kind, and says which kind it is", async () => {
  const form = new FormData();
  form.append("a", "é");
  const stream = () => new Blob(["streamed"]).stream();
  const cases: [BodyInit, string, RegExp][] = [
    ["é", "é", /^text\/plain;charset=UTF-8$/],
    [new URLSearchParams({ a: "é" }), "a=%C3%A9", /^application\/x-www-form-urlencoded/],
    [new Blob(["blob"], { type: "text/x" }), "blob", /^text\/x$/],
    [new TextEncoder().encode("bytes").buffer, "bytes", /^$/],
    [stream(), "streamed", /^$/],
    [form, "é", /^multipart\/form-data; boundary=/],
  ];
  for (const [body, text, type] of cases) {
    const [frame] = await exchange("https://a/", { method: "POST", body });
    const decoded = new TextDecoder().decode(Uint8Array.fromBase64(frame.body!));
    assertEquals([decoded.includes(text), type.test(new Headers(frame.headers).get("content-type") ?? "")], [
      true,
      true,
    ]);
  }
  const request = new Request("https://a/x", { method: "PUT", headers: { "X-A": "1" }, body: "b" });
  const [frame] = await exchange(request, { headers: { "X-B": "2" } });
  assertEquals([frame.url, frame.method, frame.headers.find(([name]) => name === "x-b")], [
    "https://a/x",
    "PUT",
    ["x-b", "2"],
  ]);
  assertEquals((await exchange(new URL("https://a/y z")))[0].url, "https://a/y%20z");
});

Deno.test("a URL alone is asked for as a Request of it would be", async () => {
  for (
    const url of [
      "https://a",
      "HTTPS://A:443/b/../c?d=é#f",
      " https://a/x y ",
      "ftp://a/",
      "https://ü.example/",
    ]
  ) {
    const [whole] = await exchange(url, {});
    for (const input of [url, new URL(url)]) {
      const [simple] = await exchange(input);
      assertEquals({ ...simple, call_id: "" }, { ...whole, call_id: "" });
    }
  }
});

Deno.test("a request that is none is refused before anything is sent", async () => {
  for (
    const action of [
      () => fetch("/relative"),
      () => fetch("https://a/", { method: "GET", body: "x" }),
      () => fetch("https://a/", { headers: { "bad name": "x" } }),
      () => fetch("https://a/", { method: "a b" }),
      () => (fetch as () => Promise<Response>)(),
    ]
  ) {
    assertEquals((await thrownBy(action)).name, "TypeError");
  }
  assertEquals(pipe.take(), []);
});

Deno.test("what the host refuses is an error to catch, with its code", async () => {
  const denied = await refused("denied");
  assertEquals([denied instanceof Deno.errors.PermissionDenied, denied.name], [true, "PermissionDenied"]);
  assertEquals([denied.message, denied.code, denied.retryable], ["why", "denied", false]);
  const limit = await refused("limit");
  assertEquals([limit.name, limit.code, limit.retryable], ["LimitError", "limit", false]);
  for (const code of ["timeout", "network", "invalid"]) {
    const error = await refused(code, true);
    assertEquals([error instanceof TypeError, error.name, error.code, error.retryable], [
      true,
      "NetworkError",
      code,
      true,
    ]);
  }
});

Deno.test("an error's stack names the line that fetched, also when a body was read first", async () => {
  for (const init of [{}, { method: "POST", body: "x" }]) {
    const whoFetches = async () => void await fetch("https://a/", init);
    const promise = whoFetches();
    const { call_id } = await sent();
    pipe.send(
      `{"type":"__tool_error__","call_id":"${call_id}","error":"e","code":"network","retryable":false}\n`,
    );
    const { stack } = await thrownBy(() => promise);
    assertEquals([stack!.split("\n")[0], stack!.includes("whoFetches")], ["NetworkError: e", true]);
  }
});

Deno.test("a request longer than a frame may be is refused, and the longest that fits is sent", async () => {
  const tight = lendFetch({ ...network, max_frame_bytes: 64 * 1024 });
  const post = (bytes: number) => tight("https://a/", { method: "POST", body: new Uint8Array(bytes) });
  for (const bytes of [49_152, 5_000_000]) {
    const error = await thrownBy(() => post(bytes));
    assertEquals([error.name, /^Cannot send a request of \d+ bytes, more than/.test(error.message)], [
      "LimitError",
      true,
    ]);
  }
  const long = await thrownBy(() => tight("https://a/", { headers: { a: "é".repeat(40_000) } }));
  assertEquals(long.name, "LimitError");
  assertEquals(pipe.take(), []);
  const promise = post(48_000);
  const [line] = await pipe.takeWhenWritten(1);
  assertEquals(line.length <= 64 * 1024, true);
  pipe.send(
    JSON.stringify({ type: "__tool_result__", call_id: JSON.parse(line).call_id, result: page }) + "\n",
  );
  await promise;
});

Deno.test("a signal that is aborted already sends nothing", async () => {
  assertEquals(
    await thrownBy(() => fetch("https://a/", { signal: AbortSignal.abort("no") })) as unknown,
    "no",
  );
  const request = new Request("https://a/", { signal: AbortSignal.abort() });
  assertEquals((await thrownBy(() => fetch(request))).name, "AbortError");
  assertEquals(pipe.take(), []);
});

Deno.test("a signal that is aborted keeps a body from being read, or ends the request once it is read", async () => {
  const endless = new ReadableStream();
  const aborted = { method: "POST", body: endless, signal: AbortSignal.abort("no") };
  assertEquals(await thrownBy(() => fetch("https://a/", aborted)) as unknown, "no");
  const controller = new AbortController();
  const body = new ReadableStream({
    pull(stream) {
      controller.abort("meanwhile");
      stream.close();
    },
  });
  const promise = fetch("https://a/", { method: "POST", body, signal: controller.signal });
  assertEquals(await thrownBy(() => promise) as unknown, "meanwhile");
  assertEquals(pipe.take(), []);
});

Deno.test("a signal aborted later takes the request back", async () => {
  const controller = new AbortController();
  const promise = fetch("https://a/", { signal: controller.signal });
  const { call_id } = await sent();
  controller.abort();
  assertEquals((await thrownBy(() => promise)).name, "AbortError");
  assertEquals(pipe.take(), [`{"type":"__abort__","call_id":"${call_id}"}`]);
  const timed = fetch("https://a/", { signal: AbortSignal.timeout(5) });
  assertEquals((await thrownBy(() => timed)).name, "TimeoutError");
  assertEquals((await pipe.takeWhenWritten(2)).length, 2);
  pipe.send(`{"type":"__tool_result__","call_id":"${call_id}","result":null}\n`); // ends the read under way
});

Deno.test("in the isolated tier it fails in one sentence that names the tier", async () => {
  const isolated = lendFetch(runNamed("a run with an empty context"));
  const error = await thrownBy(() => isolated("https://example.com/"));
  assertEquals([error instanceof Deno.errors.PermissionDenied, error.message], [
    true,
    "fetch needs the network tier; this run is in the isolated tier",
  ]);
  assertEquals(await (await isolated("data:text/plain,hello")).text(), "hello");
  assertEquals(pipe.take(), []);
});

Deno.test("what the code has itself is not the host's business", async () => {
  assertEquals(await (await fetch("data:application/json,[1]")).json(), [1]);
  const url = URL.createObjectURL(new Blob(["mine"]));
  assertEquals(await (await fetch(url)).text(), "mine");
  URL.revokeObjectURL(url);
  assertEquals(pipe.take(), []);
});

Deno.test("it is called as the standard one is", () => {
  assertEquals([fetch.name, fetch.length], ["fetch", 1]);
});

Deno.test("replacing the classes changes what the code has, not what is fetched", async () => {
  const kept = { Request, Response };
  Object.assign(globalThis, { Request: class {}, Response: class {} });
  try {
    const [frame, response] = await exchange("https://a/");
    assertEquals([frame.url, response instanceof kept.Response], ["https://a/", true]);
  } finally {
    Object.assign(globalThis, kept);
  }
});
