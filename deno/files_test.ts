import type { FileFrame, RunFrame } from "./protocol.ts";
import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { lendFiles } = await import("./files.ts");
const { guest, host } = readGolden();
const granted = host.find(({ name }) => name === "a run with a workspace")!.frame as RunFrame;
const lent = lendFiles(granted) as typeof Deno;
let lastId = 0;

/** Answer the calls that come next, in their order. */
function willAnswer(...results: unknown[]): void {
  for (const result of results) {
    pipe.send(JSON.stringify({ type: "__tool_result__", call_id: String(++lastId), result }) + "\n");
  }
}

function willRefuse(code: string, error = "why"): void {
  const call_id = String(++lastId);
  pipe.send(JSON.stringify({ type: "__tool_error__", call_id, error, code, retryable: false }) + "\n");
}

function asked(): Pick<FileFrame, "operation" | "params">[] {
  return pipe.take().map((line) => {
    const { operation, params } = JSON.parse(line);
    return { operation, params };
  });
}

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();

Deno.test("calls are written as the golden lines", async () => {
  const lines = guest.filter(({ frame }) => frame.type === "__file__").map(({ line }) => line);
  const info = { isFile: true, isDirectory: false, isSymlink: false, size: 0, mtime: null };
  willAnswer({ data: "" }, null, [], info, info, null, null, null, null, "/workspace/x");
  await lent.readFile("a.txt");
  await lent.writeFile("dir/é 漢字 😀.txt", new Uint8Array([0, 1, 2, 3]));
  for await (const _ of lent.readDir(".")) throw new Error("an entry of an empty folder");
  await lent.stat("/workspace/a.txt");
  await lent.lstat('a "quote"\n\\');
  await lent.mkdir("a/b", { recursive: true });
  await lent.remove("a.txt");
  await lent.rename("a.txt", "b.txt");
  await lent.copyFile("b.txt", "c.txt");
  assertEquals(await lent.realPath("../workspace/x"), "/workspace/x");
  const inThrees = lendFiles({ ...granted, max_frame_bytes: 32 * 1024 + 4 }) as typeof Deno;
  willAnswer(null, null);
  await inThrees.writeFile("a.bin", new Uint8Array([0, 1, 2, 3, 4]), { append: true, create: false });
  assertEquals(pipe.take(), lines);
});

Deno.test("the synchronous functions ask the same and answer at once", () => {
  const info = { isFile: false, isDirectory: true, isSymlink: false, size: 5, mtime: 1000 };
  const entry = { name: "a", isFile: true, isDirectory: false, isSymlink: false };
  willAnswer({ data: base64("é") }, { data: "AP8=" }, null, null, [entry], info, info);
  assertEquals(lent.readTextFileSync("a"), "é");
  assertEquals(lent.readFileSync("a"), new Uint8Array([0, 255]));
  lent.writeTextFileSync("a", "é");
  lent.writeFileSync("a", new Uint8Array([1]));
  assertEquals([...lent.readDirSync("d")], [entry]);
  assertEquals([lent.statSync("d").isDirectory, lent.lstatSync("d").mtime], [true, new Date(1000)]);
  willAnswer(null, null, null, null, "/workspace/r");
  lent.mkdirSync("d");
  lent.removeSync("d", { recursive: true });
  lent.renameSync("a", "b");
  lent.copyFileSync("b", "c");
  assertEquals(lent.realPathSync("r"), "/workspace/r");
  const written = { append: false, create: true, create_new: false, last: true };
  assertEquals(asked(), [
    { operation: "readFile", params: { path: "a" } },
    { operation: "readFile", params: { path: "a" } },
    { operation: "writeFile", params: { path: "a", data: base64("é"), ...written, upload: 3, size: 2 } },
    { operation: "writeFile", params: { path: "a", data: "AQ==", ...written, upload: 4, size: 1 } },
    { operation: "readDir", params: { path: "d" } },
    { operation: "stat", params: { path: "d" } },
    { operation: "lstat", params: { path: "d" } },
    { operation: "mkdir", params: { path: "d", recursive: false } },
    { operation: "remove", params: { path: "d", recursive: true } },
    { operation: "rename", params: { path: "a", to: "b" } },
    { operation: "copyFile", params: { path: "b", to: "c" } },
    { operation: "realPath", params: { path: "r" } },
  ]);
});

Deno.test("text is read as Deno reads it: broken bytes are replaced and a byte order mark is kept", async () => {
  willAnswer({ data: new Uint8Array([0xef, 0xbb, 0xbf, 0x68, 0xff]).toBase64() });
  assertEquals(await lent.readTextFile("a"), "\ufeffh\ufffd");
  pipe.take();
});

Deno.test("a folder is listed when somebody looks", async () => {
  const entries = ["a", "b"].map((name) => ({ name, isFile: true, isDirectory: false, isSymlink: false }));
  const folder = lent.readDir("d");
  assertEquals(asked(), []);
  willAnswer(entries);
  const seen = [];
  for await (const entry of folder) seen.push(entry);
  assertEquals(seen, entries);
  willRefuse("NotFound");
  assertEquals((await thrownBy(() => Array.fromAsync(lent.readDir("no")))).name, "NotFound");
  pipe.take();
});

Deno.test("what is known of a file is a Deno.FileInfo, and the rest is null", async () => {
  willAnswer({ isFile: true, isDirectory: false, isSymlink: false, size: 7, mtime: 1.5 });
  const { isFile, isDirectory, isSymlink, size, mtime, ...rest } = await lent.stat("a");
  assertEquals([isFile, isDirectory, isSymlink, size, mtime], [true, false, false, 7, new Date(1.5)]);
  assertEquals(Object.values(rest).every((value) => value === null), true);
  const { isFile: _, ...real } = await Deno.stat(new URL("testdata", import.meta.url));
  assertEquals(Object.keys(rest).filter((key) => !(key in real)), []);
  willAnswer({ isFile: true, isDirectory: false, isSymlink: false, size: 7, mtime: null });
  assertEquals((await lent.lstat("a")).mtime, null);
  pipe.take();
});

Deno.test("options of a write go with it", async () => {
  willAnswer(null, null, null);
  await lent.writeTextFile("a", "b", { append: true });
  await lent.writeTextFile("a", "b", { create: false });
  await lent.writeFile("a", new Uint8Array(), { createNew: true, mode: 0o600 });
  assertEquals(asked().map(({ params: { append, create, create_new } }) => [append, create, create_new]), [
    [true, true, false],
    [false, false, false],
    [false, true, true],
  ]);
});

Deno.test("long data goes in pieces, each as asked, with what the host needs to write them as one", async () => {
  const bytes = new Uint8Array(2.5 * 1024 * 1024).map((_, at) => at % 251);
  willAnswer(null, null, null, null, null, null);
  await lent.writeFile("a", bytes, { createNew: true });
  lent.writeFileSync("a", bytes, { createNew: true });
  const calls = asked();
  const uploads = [calls.slice(0, 3), calls.slice(3)];
  for (const upload of uploads) {
    const parts = upload.map(({ params }) => Uint8Array.fromBase64(params.data as string));
    assertEquals(parts.map(({ length }) => length), [1024 * 1024, 1024 * 1024, 512 * 1024]);
    assertEquals(await new Blob(parts).bytes(), bytes);
    assertEquals(upload.map(({ params }) => params.last), [false, false, true]);
    for (const { params: { data: _, upload: number, last: __, ...same } } of upload) {
      assertEquals(number, upload[0].params.upload);
      assertEquals(same, { path: "a", append: false, create: true, create_new: true, size: bytes.length });
    }
  }
  assertEquals(uploads[0][0].params.upload === uploads[1][0].params.upload, false);
});

Deno.test("data of exactly one piece is one piece, and so is none at all", async () => {
  willAnswer(null, null, null);
  for (const size of [1024 * 1024, 1, 0]) await lent.writeFile("a", new Uint8Array(size));
  assertEquals(asked().map(({ params: { size, last } }) => [size, last]), [
    [1024 * 1024, true],
    [1, true],
    [0, true],
  ]);
});

Deno.test("data that shrinks while it is written never claims to be whole", async () => {
  const buffer = new ArrayBuffer(1024 * 1024 + 1, { maxByteLength: 1024 * 1024 + 1 });
  const writing = lent.writeFile("a", new Uint8Array(buffer));
  await pipe.takeWhenWritten(1);
  buffer.resize(10);
  willAnswer(null, null);
  await writing;
  const [{ params: { data, size, last } }] = asked();
  assertEquals([data, size, last], ["", 1024 * 1024 + 1, true]);
});

Deno.test("a piece fits the frame, however small frames must be", async () => {
  const tight = lendFiles({ ...granted, max_frame_bytes: 64 * 1024 }) as typeof Deno;
  const path = "\u0001".repeat(4096);
  willAnswer(null, null, null, null, null);
  await tight.writeFile(path, new Uint8Array(100_000));
  const lines = pipe.take();
  assertEquals([lines.length, lines.every((line) => line.length <= 64 * 1024)], [5, true]);
});

Deno.test("writes that nobody waits for go one after the other, and one that fails holds up nobody", async () => {
  const bytes = new Uint8Array(1024 * 1024 + 1);
  const writes = ["a", "b"].map((path) => lent.writeFile(path, bytes));
  const [first] = await pipe.takeWhenWritten(1);
  assertEquals(JSON.parse(first).params.path, "a");
  willRefuse("LimitError");
  willAnswer(null, null);
  const [a, b] = await Promise.allSettled(writes);
  assertEquals([a.status, b.status], ["rejected", "fulfilled"]);
  assertEquals(asked().map(({ params }) => params.path), ["b", "b"]);
});

Deno.test("streams are written, of bytes and of text", async () => {
  willAnswer(null, null);
  await lent.writeFile("a", new Blob(["bytes"]).stream());
  await lent.writeTextFile("a", ReadableStream.from(["é", "text"]));
  assertEquals(asked().map(({ params }) => params.data), [base64("bytes"), base64("étext")]);
});

Deno.test("a path may be a file URL", async () => {
  willAnswer(null, null);
  await lent.remove(new URL("file:///workspace/a%20b/%C3%A9"));
  lent.removeSync(new URL("file:///workspace/c"));
  assertEquals(asked().map(({ params }) => params.path), ["/workspace/a b/é", "/workspace/c"]);
});

Deno.test("what is no path or no data is refused before anything is sent", async () => {
  const files = lent as unknown as Record<string, (...values: unknown[]) => unknown>;
  const cases: [() => unknown, string][] = [
    [() => files.readTextFile(5), "A path must be a string or a file URL, not number"],
    [() => files.readTextFileSync(), "A path must be a string or a file URL, not undefined"],
    [() => files.stat(new URL("https://a/")), "Must be a file URL"],
    [() => files.rename("a"), "A path must be a string or a file URL, not undefined"],
    [() => files.mkdir("a".repeat(5000)), "A path may have 4096 characters, not 5000"],
    [
      () => files.writeFile("a", "text"),
      "The data of Deno.writeFile must be a Uint8Array; for text there is Deno.writeTextFile",
    ],
  ];
  for (const [action, message] of cases) assertEquals((await thrownBy(action)).message, message);
  assertEquals(pipe.take(), []);
});

Deno.test("half a character in a path is replaced: the host would take the frame for malformed", async () => {
  willAnswer(null);
  await lent.remove("a\ud800");
  assertEquals(asked()[0].params.path, "a\ufffd");
});

Deno.test("a signal that is aborted already sends nothing", async () => {
  const signal = AbortSignal.abort("no");
  assertEquals(await thrownBy(() => lent.readTextFile("a", { signal })) as unknown, "no");
  assertEquals(await thrownBy(() => lent.writeTextFile("a", "b", { signal })) as unknown, "no");
  assertEquals(pipe.take(), []);
});

Deno.test("an error is the one of Deno with this name, in both kinds of call", async () => {
  const names = [
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "NotADirectory",
    "IsADirectory",
    "InvalidData",
  ];
  for (const name of names) {
    for (const action of [() => lent.readTextFile("a"), () => lent.readTextFileSync("a")]) {
      willRefuse(name, `No: ${name}`);
      const error = await thrownBy(action) as Error & { code: string; retryable: boolean };
      assertEquals(error instanceof Deno.errors[name as keyof typeof Deno.errors], true);
      assertEquals([error.name, error.message, error.code, error.retryable], [
        name,
        `No: ${name}`,
        name,
        false,
      ]);
    }
  }
  pipe.take();
});

Deno.test("an error that Deno has no name for keeps its own", async () => {
  for (
    const [code, name] of [
      ["LimitError", "LimitError"],
      ["limit", "LimitError"],
      ["denied", "PermissionDenied"],
      ["NotEmpty", "NotEmpty"],
      ["internal", "Error"],
      ["constructor", "Error"],
    ]
  ) {
    willRefuse(code);
    const error = await thrownBy(() => lent.remove("a")) as Error & { code: string };
    assertEquals([error.name, error.message, error.code], [name, "why", code]);
  }
  pipe.take();
});

Deno.test("an error's stack names the line that called", async () => {
  const whoReads = async () => await lent.readTextFile("a");
  const whoReadsAtOnce = () => lent.readTextFileSync("a");
  const whoWrites = async () => await lent.writeTextFile("a", "b");
  for (const who of [whoReads, whoReadsAtOnce, whoWrites]) {
    willRefuse("NotFound");
    const { stack } = await thrownBy(who);
    assertEquals([stack!.split("\n")[0], stack!.includes(`${who.name} `)], ["NotFound: why", true]);
  }
  pipe.take();
});

Deno.test("a synchronous call says what to use while answers are read asynchronously", async () => {
  const keepsBusy = setInterval(() => {}, 1000);
  const other = lent.readTextFile("a");
  await new Promise((resolve) => setTimeout(resolve, 5));
  const error = await thrownBy(() => lent.readTextFileSync("b"));
  assertEquals(
    error.message,
    "Deno.readTextFileSync cannot wait while other calls are under way: use await Deno.readTextFile",
  );
  willAnswer({ data: "" });
  await other;
  clearInterval(keepsBusy);
  assertEquals(pipe.take().length, 1);
});

Deno.test("the working directory is the workspace, and functions have their names", () => {
  assertEquals(lent.cwd(), "/workspace");
  assertEquals([lent.readTextFile.name, lent.writeFileSync.name], ["readTextFile", "writeFileSync"]);
});
