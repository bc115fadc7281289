import { type Answer, callHost, callHostSync } from "./call_host.ts";
import type { FileFrame, ResideFrame, RunFrame } from "./protocol.ts";
import { refusalError } from "./refusal_error.ts";

type Params = FileFrame["params"];
type Path = string | URL;
type Data = string | Uint8Array | ReadableStream;

/** One function of `Deno`: what the host is asked, one after the other, and what its last answer is for the code. */
interface Operation {
  name: string;
  params: (...values: any[]) => Iterable<Params>;
  result: (answer: any) => unknown;
}

// Kept from before the agent's code ran.
const stringify = JSON.stringify;
const fromBase64 = Uint8Array.fromBase64;
const toBase64 = Uint8Array.prototype.toBase64;
const errors = Deno.errors as unknown as Record<string, new (message: string) => Error>;
const { hasOwn } = Object;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const decode = decoder.decode.bind(decoder);

/** Where the code finds the folder that it was granted, whatever its path is on the host. */
const MOUNT = "/workspace";
const MAX_PIECE_BYTES = 1024 * 1024;
const MAX_PATH = 4096;
// A path of control characters takes six bytes for each in JSON.
const PATH_BYTES = 32 * 1024;

const CANNOT_WAIT = "cannot wait while other calls are under way: use await";

const nothing = () => undefined;
const atPath = (path: Path): Params[] => [{ path: textOf(path) }];
const fromTo = (from: Path, to: Path): Params[] => [{ path: textOf(from), to: textOf(to) }];
const recursively = (path: Path, options?: { recursive?: boolean }): Params[] => [
  { path: textOf(path), recursive: Boolean(options?.recursive) },
];
const bytesOf = ({ data }: { data: string }): Uint8Array => fromBase64(data);

// Those whose answer is one frame and needs no more arguments than they are called with.
const SIMPLE: Record<string, Operation> = {
  readFile: { name: "readFile", params: atPath, result: bytesOf },
  readTextFile: { name: "readFile", params: atPath, result: (answer) => decode(bytesOf(answer)) },
  stat: { name: "stat", params: atPath, result: fileInfo },
  lstat: { name: "lstat", params: atPath, result: fileInfo },
  realPath: { name: "realPath", params: atPath, result: String },
  mkdir: { name: "mkdir", params: recursively, result: nothing },
  remove: { name: "remove", params: recursively, result: nothing },
  rename: { name: "rename", params: fromTo, result: nothing },
  copyFile: { name: "copyFile", params: fromTo, result: nothing },
};
const READ_DIR: Operation = { name: "readDir", params: atPath, result: (entries) => entries };

/** The file functions of `Deno`, asynchronous and synchronous, on the files of the workspace. */
export function lendFiles({ max_frame_bytes }: RunFrame | ResideFrame): object {
  const pieceBytes = Math.min(MAX_PIECE_BYTES, Math.floor((max_frame_bytes - PATH_BYTES) / 4) * 3);
  const write: Operation = { name: "writeFile", params: pieces(pieceBytes), result: nothing };
  const functions: Record<string, unknown> = {
    cwd: () => MOUNT,
    readDir: (path: Path) => ({
      async *[Symbol.asyncIterator]() {
        yield* await run(READ_DIR, [path]) as Deno.DirEntry[];
      },
    }),
    readDirSync: (path: Path) => (runSync(READ_DIR, [path], "readDir") as Deno.DirEntry[])[Symbol.iterator](),
  };
  for (const [name, operation] of Object.entries(SIMPLE)) {
    Object.assign(functions, {
      [name]: async (...values: unknown[]) => {
        refuseIfAborted(values[1]);
        return await run(operation, values);
      },
      [`${name}Sync`]: (...values: unknown[]) => runSync(operation, values, name),
    });
  }
  for (const [name, toBytes] of [["writeFile", binary], ["writeTextFile", text]] as const) {
    Object.assign(functions, {
      [name]: async (path: Path, data: Data, options?: Deno.WriteFileOptions) => {
        refuseIfAborted(options);
        const bytes = isStream(data) ? await gathered(data) : toBytes(data);
        return await inTurn(() => run(write, [path, bytes, options]));
      },
      [`${name}Sync`]: (path: Path, data: Data, options?: Deno.WriteFileOptions) =>
        runSync(write, [path, toBytes(data), options], name),
    });
  }
  return functions;
}

async function run({ name, params, result }: Operation, values: unknown[]): Promise<unknown> {
  let last: unknown;
  for (const each of params(...values)) last = resultOf(await callHost("__file__", fieldsOf(name, each)));
  return result(last);
}

function runSync({ name, params, result }: Operation, values: unknown[], asyncName: string): unknown {
  let last: unknown;
  for (const each of params(...values)) {
    const answer = callHostSync("__file__", fieldsOf(name, each));
    // A timer, and a call that has no answer yet: then only the event loop reads answers.
    if (answer === undefined) throw new Error(`Deno.${asyncName}Sync ${CANNOT_WAIT} Deno.${asyncName}`);
    last = resultOf(answer);
  }
  return result(last);
}

function fieldsOf(operation: string, params: Params): string {
  return `"operation":"${operation}","params":${stringify(params)}`;
}

function resultOf(answer: Answer): unknown {
  if (answer.type === "__tool_result__") return answer.result;
  throw refusalError(answer, (message, code) => {
    if (hasOwn(errors, code)) return new errors[code](message);
    return Object.assign(new Error(message), /^[A-Z]\w+$/.test(code) ? { name: code } : {});
  });
}

let lastWrite: Promise<unknown> = Promise.resolve();
let lastUpload = 0;
let round = 0;

/** Forget the writes of a signal that has ended: those that had not begun never do, and the next one waits for none. */
export function forgetWrites(): void {
  lastWrite = Promise.resolve();
  round++;
}

// One write after the other: the host keeps the pieces of each until the last has come.
async function inTurn(write: () => Promise<unknown>): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const before = lastWrite;
  const mine = round;
  lastWrite = promise;
  await before;
  if (mine !== round) await new Promise<never>(() => {});
  try {
    return await write();
  } finally {
    resolve();
  }
}

/** Cut what is written into frames that the host takes. It writes when it has the last one: all of it, or nothing. */
function pieces(pieceBytes: number) {
  return function* (path: Path, bytes: Uint8Array, options: Deno.WriteFileOptions = {}): Iterable<Params> {
    const { append = false, create = true, createNew = false } = options;
    const to = textOf(path);
    const upload = ++lastUpload;
    const size = bytes.length;
    let start = 0;
    do {
      const data = Reflect.apply(toBase64, bytes.subarray(start, start + pieceBytes), []) as string;
      start += pieceBytes;
      yield { path: to, data, append, create, create_new: createNew, upload, size, last: start >= size };
    } while (start < size);
  };
}

function binary(data: Data): Uint8Array {
  if (data instanceof Uint8Array) return data;
  throw new TypeError(
    "The data of Deno.writeFile must be a Uint8Array; for text there is Deno.writeTextFile",
  );
}

function text(data: Data): Uint8Array {
  return encode(data as string);
}

function isStream(data: Data): data is ReadableStream {
  return typeof data === "object" && data !== null && Symbol.asyncIterator in data;
}

/** All that a stream has, of bytes or of text. */
async function gathered(stream: ReadableStream): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of stream) chunks.push(typeof chunk === "string" ? encode(chunk) : chunk);
  return await new Blob(chunks).bytes();
}

function textOf(path: Path): string {
  const text = path instanceof URL ? pathOfUrl(path) : path;
  if (typeof text !== "string") {
    throw new TypeError(`A path must be a string or a file URL, not ${typeof path}`);
  }
  if (text.length > MAX_PATH) {
    throw new TypeError(`A path may have ${MAX_PATH} characters, not ${text.length}`);
  }
  return text.toWellFormed();
}

function pathOfUrl({ protocol, pathname }: URL): string {
  if (protocol !== "file:") throw new TypeError("Must be a file URL");
  return decodeURIComponent(pathname.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"));
}

function refuseIfAborted(options: unknown): void {
  (options as { signal?: AbortSignal } | undefined)?.signal?.throwIfAborted();
}

/** A Deno.FileInfo that tells what the host does, and nothing of its disk. */
function fileInfo({ isFile, isDirectory, isSymlink, size, mtime }: any): Deno.FileInfo {
  const unknown = {
    atime: null,
    birthtime: null,
    ctime: null,
    dev: null,
    ino: null,
    mode: null,
    nlink: null,
    uid: null,
    gid: null,
    rdev: null,
    blksize: null,
    blocks: null,
    isBlockDevice: null,
    isCharDevice: null,
    isFifo: null,
    isSocket: null,
  };
  const changed = mtime === null ? null : new Date(mtime);
  return { isFile, isDirectory, isSymlink, size, mtime: changed, ...unknown } as unknown as Deno.FileInfo;
}
