// Made of the .ts files beside it by bundle.ts. Do not edit.
"use strict";
// pipe.ts
const { pipe } = (() => {
const pipe = {
  isOpen: true
};
return { pipe };
})();

// internals.ts
const { internals } = (() => {
const deno = Deno;
const internals = deno[deno.internal];
return { internals };
})();

// read_frames.ts
const { readFrames, readFramesSync } = (() => {
const parse = JSON.parse;
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);
const stdin = Deno.stdin;
const readSync = stdin.readSync.bind(stdin);
const read = stdin.read.bind(stdin);
const exit = Deno.exit;
const SMALL = 16 * 1024;
const LARGE = 1024 * 1024;
let buffer = new Uint8Array(SMALL);
let chunks = [];
function readFramesSync() {
  for(;;){
    const frames = accept(readSync(buffer));
    if (frames.length > 0) return frames;
  }
}
async function readFrames() {
  for(;;){
    const frames = accept(await read(buffer));
    if (frames.length > 0) return frames;
  }
}
function accept(count) {
  if (count === null) return exit(0);
  const fresh = buffer.subarray(0, count);
  const end = fresh.lastIndexOf(10);
  if (end < 0) {
    chunks.push(fresh.slice());
    if (buffer.length === SMALL) buffer = new Uint8Array(LARGE);
    return [];
  }
  const lines = decode(joined(fresh.subarray(0, end))).split("\n");
  chunks = end + 1 < count ? [
    fresh.slice(end + 1)
  ] : [];
  return lines.map((line)=>parse(line));
}
function joined(last) {
  if (chunks.length === 0) return last;
  let length = last.length;
  for (const chunk of chunks)length += chunk.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks){
    whole.set(chunk, at);
    at += chunk.length;
  }
  whole.set(last, at);
  return whole;
}
return { readFrames, readFramesSync };
})();

// write_frame.ts
const { writeFrame, writeLine } = (() => {
const stringify = JSON.stringify;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const stdout = Deno.stdout;
const writeSync = stdout.writeSync.bind(stdout);
function writeFrame(frame) {
  writeLine(stringify(frame));
}
function writeLine(json) {
  const bytes = encode(json + "\n");
  let written = 0;
  while(written < bytes.length){
    written += writeSync(written === 0 ? bytes : bytes.subarray(written));
  }
  return written;
}
return { writeFrame, writeLine };
})();

// call_host.ts
const { callHost, callHostSync, forgetCalls, limitCalls, nextSignals } = (() => {
const core = internals.core;
const defer = queueMicrotask;
const { addEventListener, removeEventListener } = AbortSignal.prototype;
const MAX_SENT = 200;
const sent = Object.create(null);
const wire = {
  calls: 0,
  bytes: 0,
  maxFrameBytes: 64 * 1024
};
let firstHeld;
let lastHeld;
let waitingCount = 0;
let lastId = 0;
let pumping = false;
let pumped = Promise.resolve();
const signals = [];
let scheduled = false;
function limitCalls(max_frame_bytes) {
  wire.maxFrameBytes = max_frame_bytes;
}
function callHost(type, fields, signal) {
  return new Promise((resolve, reject)=>{
    if (!pipe.isOpen) return;
    const call = {
      settle: resolve,
      id: "",
      bytes: 0
    };
    waitingCount++;
    if (hasRoom()) send(call, type, fields);
    else hold({
      call,
      type,
      fields
    });
    if (signal !== undefined) giveUpOn(signal, call, reject);
    schedule();
  });
}
function callHostSync(type, fields) {
  if (pumping) return undefined;
  let answer;
  waitingCount++;
  send({
    settle: (given)=>answer = given,
    id: "",
    bytes: 0
  }, type, fields);
  while(answer === undefined)readFramesSync().forEach(settle);
  return answer;
}
function forgetCalls() {
  if (wire.calls === 0) return;
  firstHeld = lastHeld = undefined;
  for(const id in sent){
    leave(sent[id]);
    delete sent[id];
  }
  wire.calls = wire.bytes = waitingCount = 0;
}
async function nextSignals() {
  if (pumping) await pumped;
  while(signals.length === 0)readFramesSync().forEach(settle);
  return signals.shift();
}
function hasRoom() {
  return wire.calls < MAX_SENT && wire.bytes <= wire.maxFrameBytes;
}
function send(call, type, fields) {
  const id = call.id = String(++lastId);
  sent[id] = call;
  wire.calls++;
  wire.bytes += call.bytes = writeLine(`{"type":"${type}","call_id":"${id}",${fields}}`);
}
function hold(held) {
  if (lastHeld === undefined) firstHeld = held;
  else lastHeld.next = held;
  lastHeld = held;
}
function sendHeld() {
  while(firstHeld !== undefined && hasRoom()){
    const { call, type, fields, next } = firstHeld;
    firstHeld = next;
    if (next === undefined) lastHeld = undefined;
    if (call.settle !== undefined) send(call, type, fields);
  }
}
function giveUpOn(signal, call, reject) {
  const giveUp = ()=>{
    if (leave(call) === undefined) return;
    if (call.id !== "") writeLine(`{"type":"__abort__","call_id":"${call.id}"}`);
    reject(signal.reason);
  };
  Reflect.apply(addEventListener, signal, [
    "abort",
    giveUp
  ]);
  call.release = ()=>Reflect.apply(removeEventListener, signal, [
      "abort",
      giveUp
    ]);
}
function takeAnswers() {
  scheduled = false;
  if (pumping || waitingCount === 0) return;
  core.setHasTickScheduled(false); // this very tick would count as work
  if (core.eventLoopHasMoreWork()) pumped = pump();
  else readFramesSync().forEach(settle);
  if (waitingCount > 0 && !pumping) schedule();
}
function schedule() {
  if (scheduled || pumping) return;
  scheduled = true;
  defer(queueFirstTick);
}
const queueFirstTick = ()=>queueTick(passOn);
const passOn = ()=>defer(queueSecondTick);
const queueSecondTick = ()=>queueTick(takeAnswers);
function queueTick(callback) {
  core.queueNextTick({
    callback,
    asyncId: 0,
    triggerAsyncId: 0
  });
}
async function pump() {
  pumping = true;
  while(waitingCount > 0)(await readFrames()).forEach(settle);
  pumping = false;
}
function settle(frame) {
  if (frame.type === "__signals__") signals.push(frame);
  else if (frame.type === "__tool_result__" || frame.type === "__tool_error__") take(frame.call_id)?.(frame);
  if (firstHeld !== undefined) sendHeld();
}
function take(id) {
  const call = sent[id];
  if (call === undefined) return undefined;
  delete sent[id];
  wire.calls--;
  wire.bytes -= call.bytes;
  return leave(call);
}
function leave(call) {
  const { settle } = call;
  if (settle === undefined) return undefined;
  call.settle = undefined;
  waitingCount--;
  call.release?.();
  return settle;
}
return { callHost, callHostSync, forgetCalls, limitCalls, nextSignals };
})();

// capture_console.ts
const { captureConsole, limitConsole, writeLog } = (() => {
const LEVELS = [
  "debug",
  "log",
  "warn",
  "error",
  "error"
];
let maxCharacters = 64 * 1024;
function limitConsole(maxOutputBytes) {
  maxCharacters = maxOutputBytes;
}
function captureConsole() {
  let asInfo = false;
  const captured = new internals.Console((text, level)=>writeLog(asInfo ? "info" : LEVELS[level] ?? "log", text));
  const log = captured.log;
  captured.info = (...values)=>{
    asInfo = true;
    try {
      log(...values);
    } finally{
      asInfo = false;
    }
  };
  globalThis.console = captured;
}
function writeLog(level, message) {
  const text = message.endsWith("\n") ? message.slice(0, -1) : message;
  if (!pipe.isOpen || text === "" && message !== "\n") return;
  writeFrame({
    type: "__output__",
    level,
    data: text.slice(0, maxCharacters + 1).toWellFormed()
  });
}
return { captureConsole, limitConsole, writeLog };
})();

// tool_error.ts
const { ToolError } = (() => {
class ToolError extends Error {
  tool;
  code;
  retryable;
  name;
  constructor(tool, message, code, retryable){
    super(message), this.tool = tool, this.code = code, this.retryable = retryable, this.name = "ToolError";
  }
}
return { ToolError };
})();

// mcp_tool_error.ts
const { MCPToolError } = (() => {
class MCPToolError extends ToolError {
  server;
  name;
  constructor(server, tool, message, code, retryable){
    super(tool, message, code, retryable), this.server = server, this.name = "MCPToolError";
  }
}
return { MCPToolError };
})();

// describe_error.ts
const { describeError } = (() => {
const MAX_NAME = 100;
const MAX_MESSAGE = 4096;
const MAX_STACK = 16 * 1024;
function describeError(thrown, phase) {
  const isObject = typeof thrown === "object" && thrown !== null;
  const name = isObject ? textOf(()=>thrown.name) : undefined;
  const message = isObject ? textOf(()=>messageOf(thrown)) : undefined;
  return {
    type: "__error__",
    phase,
    name: cut(name ?? "Error", MAX_NAME),
    message: cut(message ?? inspected(thrown), MAX_MESSAGE),
    stack: cut((isObject ? textOf(()=>thrown.stack) : undefined) ?? "", MAX_STACK)
  };
}
function messageOf(thrown) {
  if (!(thrown instanceof MCPToolError)) return thrown.message;
  return `Tool "${thrown.tool}" of MCP server "${thrown.server}": ${thrown.message}`;
}
function cut(text, maxCharacters) {
  return text.slice(0, maxCharacters).toWellFormed();
}
function textOf(get) {
  try {
    const text = get();
    return typeof text === "string" ? text : undefined;
  } catch  {
    return undefined;
  }
}
function inspected(thrown) {
  try {
    return `a thrown value: ${Deno.inspect(thrown, {
      depth: 2,
      strAbbreviateSize: 1000
    })}`;
  } catch  {
    return "a thrown value that cannot be shown";
  }
}
return { describeError };
})();

// beyond.ts
const { beyond } = (() => {
const encoder = new TextEncoder();
function beyond(text, maxBytes) {
  if (text.length * 3 <= maxBytes) return 0;
  const { length } = encoder.encode(text);
  return length > maxBytes ? length : 0;
}
return { beyond };
})();

// limit_error.ts
const { LimitError } = (() => {
class LimitError extends Error {
  name = "LimitError";
  code = "limit";
  retryable = false;
}
return { LimitError };
})();

// visible_bytes.ts
const { requireBytes, visibleBytes } = (() => {
const isView = ArrayBuffer.isView;
const Bytes = Uint8Array;
const Clamped = Uint8ClampedArray;
const Buffer = ArrayBuffer;
const Words = DataView;
const at = Uint8Array.prototype.at;
const views = Object.getPrototypeOf(Uint8Array.prototype);
const [arrayBuffer, arrayOffset, arrayLength] = gettersOf(views);
const [wordsBuffer, wordsOffset, wordsLength] = gettersOf(DataView.prototype);
function gettersOf(prototype) {
  return [
    "buffer",
    "byteOffset",
    "byteLength"
  ].map((name)=>Object.getOwnPropertyDescriptor(prototype, name).get);
}
function visibleBytes(value) {
  if (value instanceof Bytes || value instanceof Clamped) {
    requireBytes(value);
    return bytesOf(value, arrayBuffer, arrayOffset, arrayLength);
  }
  if (value instanceof Buffer) return present(()=>new Bytes(value));
  if (isView(value) && value instanceof Words) {
    return present(()=>bytesOf(value, wordsBuffer, wordsOffset, wordsLength));
  }
  return undefined;
}
function requireBytes(view) {
  present(()=>Reflect.apply(at, view, [
      0
    ]));
}
function bytesOf(view, ...[buffer, offset, length]) {
  const read = (getter)=>Reflect.apply(getter, view, []);
  return new Bytes(read(buffer), read(offset), read(length));
}
function present(read) {
  try {
    return read();
  } catch  {
    throw new TypeError("its bytes are gone: the buffer was transferred or made smaller");
  }
}
return { requireBytes, visibleBytes };
})();

// to_json.ts
const { MAX_VALUES_IN_CALL, NotJson, toJson } = (() => {
class NotJson extends TypeError {
  name = "TypeError";
}
const MAX_DEPTH = 100;
const MAX_VALUES = 1_000_000;
const MAX_VALUES_IN_CALL = 100_000;
const MAX_BIGINT_DIGITS = 1000;
const stringify = JSON.stringify;
const rawJson = JSON.rawJSON;
const isArray = Array.isArray;
const keysOf = Object.keys;
const prototypeOf = Object.getPrototypeOf;
const objectPrototype = Object.prototype;
const iterateMap = Map.prototype.entries;
const iterateSet = Set.prototype.values;
const toBase64 = Uint8Array.prototype.toBase64;
class Refusal {
  what;
  constructor(what){
    this.what = what;
  }
}
function toJson(value, verb, root, maxValues = MAX_VALUES, bytesAs = "numbers") {
  const walk = {
    path: [],
    ancestors: [],
    values: 0,
    maxValues,
    bytesAs
  };
  try {
    return stringify(plain(value, walk));
  } catch (thrown) {
    const path = walk.path.map((key)=>typeof key === "number" ? `[${key}]` : `.${key}`).join("");
    const what = thrown instanceof Refusal ? thrown.what : `reading it threw ${textOf(thrown)}`;
    throw new NotJson(`Cannot ${verb} ${root}${path}: ${what}`);
  }
}
function textOf(thrown) {
  try {
    return String(thrown);
  } catch  {
    return "an error that cannot be shown";
  }
}
function plain(value, walk) {
  if (++walk.values > walk.maxValues) throw new Refusal(`more than ${walk.maxValues} values`);
  switch(typeof value){
    case "undefined":
      return null;
    case "string":
      return value.isWellFormed() ? value : value.toWellFormed();
    case "bigint":
      return integer(value);
    case "function":
      throw new Refusal("a function");
    case "symbol":
      throw new Refusal("a symbol");
    case "object":
      return value === null ? null : plainObject(value, walk);
    default:
      return value;
  }
}
function plainObject(value, walk) {
  if (walk.ancestors.includes(value)) throw new Refusal("it contains itself");
  if (walk.ancestors.length >= MAX_DEPTH) throw new Refusal(`nested deeper than ${MAX_DEPTH} levels`);
  walk.ancestors.push(value);
  const copy = copyObject(value, walk);
  walk.ancestors.pop();
  return copy;
}
function copyObject(value, walk) {
  if (isArray(value)) return elements(value, walk);
  const own = value.toJSON;
  if (typeof own === "function") return plain(Reflect.apply(own, value, [
    ""
  ]), walk);
  return prototypeOf(value) === objectPrototype ? properties(value, walk) : instance(value, walk);
}
function instance(value, walk) {
  if (value instanceof Map) return mapping(value, walk);
  if (value instanceof Set) return elements([
    ...Reflect.apply(iterateSet, value, [])
  ], walk);
  if (value instanceof Error) {
    return {
      name: String(value.name).toWellFormed(),
      message: String(value.message).toWellFormed()
    };
  }
  if (value instanceof RegExp) return String(value).toWellFormed();
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return plain(value.valueOf(), walk);
  }
  const bytes = value instanceof DataView ? undefined : visibleBytes(value);
  if (bytes !== undefined) {
    return walk.bytesAs === "base64" ? Reflect.apply(toBase64, bytes, []) : elements(bytes, walk);
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    requireBytes(value);
    return elements(value, walk);
  }
  if (value instanceof Promise) throw new Refusal("a Promise; await it first");
  if (isOpaque(value)) throw new Refusal(`an object of type ${value.constructor.name}`);
  return properties(value, walk);
}
function isOpaque(value) {
  return value instanceof SharedArrayBuffer || value instanceof DataView || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Blob;
}
function elements(value, walk) {
  if (value.length > walk.maxValues) throw new Refusal(`more than ${walk.maxValues} values`);
  const copy = [];
  for(let index = 0; index < value.length; index++){
    walk.path.push(index);
    copy[index] = plain(value[index], walk);
    walk.path.pop();
  }
  return copy;
}
function properties(value, walk) {
  const copy = Object.create(null);
  for (const key of keysOf(value)){
    walk.path.push(key);
    const property = value[key];
    if (property !== undefined) copy[key.toWellFormed()] = plain(property, walk);
    walk.path.pop();
  }
  return copy;
}
function mapping(value, walk) {
  const entries = [
    ...Reflect.apply(iterateMap, value, [])
  ];
  if (!entries.every(([key])=>typeof key === "string")) return elements(entries, walk);
  const copy = Object.create(null);
  for (const [key, item] of entries){
    walk.path.push(key);
    copy[key.toWellFormed()] = plain(item, walk);
    walk.path.pop();
  }
  return copy;
}
function integer(value) {
  const digits = value.toString();
  if (digits.length > MAX_BIGINT_DIGITS) {
    throw new Refusal(`a BigInt of more than ${MAX_BIGINT_DIGITS} digits`);
  }
  return rawJson(digits);
}
return { MAX_VALUES_IN_CALL, NotJson, toJson };
})();

// display.ts
const { lendDisplay } = (() => {
const { parse, stringify } = JSON;
const isArray = Array.isArray;
const keys = Object.keys;
const toBase64 = Uint8Array.prototype.toBase64;
const SVG = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^]*?-->\s*|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>\s*)*<svg[\s>\/]/;
const DATA_URL = /^data:image\/(?:png|jpeg);base64,/;
const fromBase64 = Uint8Array.fromBase64;
const MAX_TITLE = 1_000;
const MAX_CELLS = 20_000;
const MAX_ROWS = 1_000;
const FRAME_BYTES = 256 + 6 * MAX_TITLE;
const MIME_TYPE = /^[a-z0-9][a-z0-9.+-]{0,59}\/[a-z0-9][a-z0-9.+-]{0,59}$/;
const OF_PICTURES = /^image\/(?:png|jpe?g)$/;
const WANTED = "display takes PNG or JPEG bytes, SVG text, rows of objects, or Markdown";
function lendDisplay({ display_limits, max_frame_bytes }) {
  const [maxCount, maxBytes] = display_limits ?? [
    0,
    0
  ];
  let count = 0;
  let left = maxBytes;
  return function display(value, options) {
    const { title: wanted, type } = optionsOf(options);
    const [kind, data, bytes, about = ""] = shown(value, type, left);
    if ((type ?? kind) !== kind) {
      throw new TypeError(`Cannot display ${called(value)} as "${type}": it would be shown as "${kind}"`);
    }
    if (count >= maxCount) {
      throw new LimitError(`Cannot display: a run may display at most ${maxCount} times`);
    }
    const own = String(wanted ?? "").toWellFormed().slice(0, MAX_TITLE - about.length);
    const title = (own + about).trim();
    const line = `{"type":"__display__","kind":"${kind}","title":${stringify(title.toWellFormed())},"data":${data}}`;
    const over = beyond(line, max_frame_bytes - FRAME_BYTES);
    if (over > 0) {
      throw new LimitError(`Cannot display ${over} bytes at once: one display may have ${max_frame_bytes}, as base64`);
    }
    count++;
    left -= bytes;
    if (pipe.isOpen) writeLine(line);
  };
}
function optionsOf(options) {
  if (options === undefined || options === null) return {};
  if (!isRow(options)) {
    const kind = isArray(options) ? "an array" : `a ${typeof options}`;
    throw new TypeError(`Cannot display with ${kind} for options: write display(value, { title, type })`);
  }
  const strange = keys(options).find((name)=>name !== "title" && name !== "type");
  if (strange === undefined) return options;
  throw new TypeError(`Cannot display with the option "${strange}": there are title and type`);
}
function called(value) {
  if (value === null) return "null";
  if (isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : typeof value === "string" ? "a text" : typeof value;
}
function tooLarge(bytes, left) {
  return new LimitError(`Cannot display ${bytes} bytes: this run may display ${left} more`);
}
function shown(value, type, left) {
  if (typeof value === "string") return shownText(value.toWellFormed(), type, left);
  const bytes = visibleBytes(value);
  if (bytes !== undefined) return shownBytes(bytes, left);
  if (typeof value === "object" && value !== null) {
    const { type, mimeType, data } = value;
    const bytes = visibleBytes(data);
    if (bytes !== undefined) return shownMedia(type, mimeType, bytes, left);
  }
  if (isArray(value) && value.every(isRow)) return shownTable(value, left);
  if (isRow(value)) {
    throw new TypeError("Cannot display a single object: put it into an array, display([row])");
  }
  throw new TypeError(`Cannot display ${called(value)}: ${WANTED}`);
}
function isRow(value) {
  return typeof value === "object" && value !== null && !isArray(value);
}
function shownTable(rows, left) {
  const about = rows.length > MAX_ROWS ? ` (the first ${MAX_ROWS} of ${rows.length} rows)` : "";
  const json = toJson(about ? rows.slice(0, MAX_ROWS) : rows, "display", "rows", MAX_CELLS);
  const at = parse(json).findIndex((row)=>!isRow(row));
  if (at >= 0) throw new TypeError(`Cannot display rows[${at}]: it is no object with fields`);
  const [kind, data, bytes] = measured("table", json, left);
  return [
    kind,
    data,
    bytes,
    about
  ];
}
function shownText(text, type, left) {
  if (type !== "markdown" && DATA_URL.test(text)) return shownBytes(decoded(text), left);
  const isSvg = type === "svg" || type !== "markdown" && SVG.test(text);
  return measured(isSvg ? "svg" : "markdown", text, left);
}
function decoded(url) {
  try {
    return fromBase64(url.replace(DATA_URL, ""));
  } catch  {
    throw new TypeError("Cannot display a data URL whose base64 is damaged");
  }
}
function shownMedia(type, mimeType, bytes, left) {
  const stated = String(mimeType ?? "").split(";", 1)[0].trim().toLowerCase();
  const isFile = type === "audio" || type === "blob" || type === "image" && !OF_PICTURES.test(stated);
  if (!isFile || pictureKind(bytes) !== null || typeof mimeType !== "string") return shownBytes(bytes, left);
  if (bytes.length > left) throw tooLarge(bytes.length, left);
  const mime = MIME_TYPE.test(stated) ? stated : "application/octet-stream";
  const kind = type === "audio" && mime.startsWith("audio/") ? "audio" : "blob";
  return [
    kind,
    `"${mime};base64,${Reflect.apply(toBase64, bytes, [])}"`,
    bytes.length
  ];
}
function pictureKind(bytes) {
  if (startsWith(bytes, 0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10)) return "png";
  return startsWith(bytes, 0xff, 0xd8, 0xff) ? "jpeg" : null;
}
function shownBytes(bytes, left) {
  const kind = pictureKind(bytes);
  if (kind === null) throw new TypeError("Cannot display bytes that are neither PNG nor JPEG");
  if (bytes.length > left) throw tooLarge(bytes.length, left);
  return [
    kind,
    `"${Reflect.apply(toBase64, bytes, [])}"`,
    bytes.length
  ];
}
function startsWith(bytes, ...head) {
  return head.every((byte, at)=>bytes[at] === byte);
}
function measured(kind, text, left) {
  const over = beyond(text, left);
  if (over > 0) throw tooLarge(over, left);
  return [
    kind,
    stringify(text),
    new TextEncoder().encode(text).length
  ];
}
return { lendDisplay };
})();

// evaluate.ts
const { compile, compileFunction, compileNeuron, isClass } = (() => {
const AsyncFunction = (async ()=>{}).constructor;
const encoder = new TextEncoder();
const COLUMNS = 60;
const script = '"use strict";'.padEnd(COLUMNS);
const scriptReturn = '"use strict"; return(0,'.padEnd(COLUMNS);
const module = "export default async function () {".padEnd(COLUMNS);
const moduleReturn = "export default async function () { return(0,".padEnd(COLUMNS);
const IMPORT = /(?<![^.]\.)\bimport(?=\s*(?:[(.]|\/[/*]|<!--|-->))/g;
const GENERIC_CALL = /[\w$]\s*<[^;]*[^=]>\s*[(`]/;
const FUNCTION_WITHOUT_BLOCK = "In strict mode code, functions can only be declared at top level or inside a block.";
const CLOSED_TOO_MUCH = "Unexpected '}': it closes more than the code has opened";
const sourceOf = Function.prototype.toString;
const randomUUID = crypto.randomUUID.bind(crypto);
const STATEMENT = new RegExp([
  /^(?:const|var|if|for|while|do|switch|try|throw|return|function|class|export|enum|debugger)\b/,
  /^import\s+[^(.\s]/,
  /^(?:let|type|interface|declare|namespace|abstract|async\s+function)\s+[\w$[{*]/
].map((pattern)=>pattern.source).join("|"));
async function compile(code) {
  const expression = asExpression(code);
  if (!GENERIC_CALL.test(code)) {
    const program = compileScript(code, expression);
    if (program !== undefined) return program;
  }
  return await compileModule(code, expression);
}
async function compileNeuron(given, parameters = "signal,state,emit") {
  const code = given.replace(IMPORT, "impor\\u0074");
  const neuron = GENERIC_CALL.test(code) ? undefined : attempt(`${script}${code}`, parameters);
  return neuron ?? await loadNeuron(code, parameters);
}
async function compileFunction(code) {
  return await compileNeuron(code, "args");
}
async function loadNeuron(code, parameters) {
  const label = `_${randomUUID().slice(-12)}`;
  const beginning = `export default async(${parameters})=>{${label}:{`.padEnd(COLUMNS);
  try {
    return await load(`${beginning}${code}`, `break ${label}}`);
  } catch (error) {
    throw error instanceof SyntaxError && error.message.includes(label) ? new SyntaxError(CLOSED_TOO_MUCH) : error;
  }
}
function compileScript(code, expression) {
  const statements = attempt(`${script}${code}`);
  if (expression === undefined) return statements;
  if (statements === undefined && !(expression.startsWith("{") && attempt(`[${expression}\n]`))) {
    return undefined;
  }
  return attempt(`${scriptReturn}${expression}\n)`) ?? // What was taken for a final comment may have stood in a string: `"a;//b"`.
  (expression === code ? undefined : attempt(`${scriptReturn}${code}\n)`)) ?? statements;
}
function attempt(body, parameters = "") {
  try {
    return new AsyncFunction(parameters, `${body}\n//# sourceURL=code.js`);
  } catch (error) {
    if (error instanceof SyntaxError && error.message !== FUNCTION_WITHOUT_BLOCK) return undefined;
    throw error;
  }
}
async function compileModule(code, expression) {
  const asReturn = ()=>load(`${moduleReturn}${expression}\n)`);
  let statements;
  try {
    statements = await load(`${module}${code}`);
  } catch (error) {
    if (!expression?.startsWith("{")) throw error;
    return await asReturn().catch(()=>Promise.reject(error));
  }
  if (expression === undefined) return statements;
  return await asReturn().catch(()=>statements);
}
function isClass(value) {
  return sourceOf.call(value).startsWith("class");
}
async function load(source, lastWords = "") {
  const end = `void "${randomUUID()}";`;
  const text = encoder.encode(`${source}\n;${end}${lastWords}}`).toBase64();
  const program = (await import(`data:application/typescript;base64,${text}`)).default;
  if (typeof program === "function" && sourceOf.call(program).includes(end)) return program;
  throw new SyntaxError(CLOSED_TOO_MUCH);
}
function asExpression(code) {
  if (STATEMENT.test(withoutLeadingComments(code))) return undefined;
  let text = code;
  for(;;){
    const trimmed = withoutTrailingComment(text.trimEnd());
    const shorter = trimmed.endsWith(";") ? trimmed.slice(0, -1) : trimmed;
    if (shorter === text) return text.trim() === "" ? undefined : text;
    text = shorter;
  }
}
function withoutLeadingComments(code) {
  let text = code.trimStart();
  while(text.startsWith("//") || text.startsWith("/*")){
    const isLine = text.startsWith("//");
    const end = text.indexOf(isLine ? "\n" : "*/");
    if (end < 0) return "";
    text = text.slice(end + (isLine ? 1 : 2)).trimStart();
  }
  return text;
}
function withoutTrailingComment(text) {
  const comment = /(?:^|[;\n])[^\S\n]*(?:\/\/[^\n]*|\/\*(?:(?!\*\/)[^])*\*\/)$/.exec(text.slice(-2000));
  return comment === null ? text : text.slice(0, text.length - comment[0].length + (comment[0][0] === ";" ? 1 : 0));
}
return { compile, compileFunction, compileNeuron, isClass };
})();

// refusal_error.ts
const { refusalError } = (() => {
const { PermissionDenied } = Deno.errors;
const assign = Object.assign;
function refusalError({ error, code, retryable }, other) {
  const made = code === "denied" ? new PermissionDenied(error) : code === "limit" || code === "LimitError" ? new LimitError(error) : other(error, code);
  return assign(made, {
    code,
    retryable
  });
}
return { refusalError };
})();

// fetch.ts
const { lendFetch } = (() => {
class NetworkError extends TypeError {
  name = "NetworkError";
}
const fetchLocally = globalThis.fetch;
const requestClass = lazily("Request");
const responseClass = lazily("Response");
const { PermissionDenied } = Deno.errors;
const assign = Object.assign;
const UrlClass = URL;
const parseUrl = URL.parse.bind(URL);
const stringify = JSON.stringify;
const fromBase64 = Uint8Array.fromBase64;
const toBase64 = Uint8Array.prototype.toBase64;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const define = Object.defineProperty;
const LOCAL = /^(?:data|blob):/;
const WITHOUT_BODY = [
  101,
  103,
  204,
  205,
  304
];
const FRAME_BYTES = 256;
function lendFetch({ tier, max_frame_bytes }) {
  return async function fetch(input, init = undefined) {
    const simple = init === undefined ? simply(input) : undefined;
    const request = simple ?? new (requestClass())(input, init);
    if (LOCAL.test(request.url)) return await fetchLocally(request);
    if (tier !== "network") {
      const why = `fetch needs the network tier; this run is in the ${tier} tier`;
      throw assign(new PermissionDenied(why), {
        code: "denied",
        retryable: false
      });
    }
    const asked = simple ?? await wholly(request);
    const fields = fieldsOf(asked, max_frame_bytes - FRAME_BYTES);
    const answering = callHost("__fetch__", fields, asked.signal);
    responseClass(); // loads while the host is at work
    const answer = await answering;
    if (answer.type === "__tool_result__") return responseOf(answer.result, asked.method);
    throw refusalError(answer, (message)=>new NetworkError(message));
  };
}
function simply(input) {
  const url = typeof input === "string" || input instanceof UrlClass ? parseUrl(String(input)) : null;
  if (url === null || LOCAL.test(url.href)) return undefined;
  return {
    url: url.href,
    method: "GET",
    headers: [],
    body: null,
    redirect: "follow"
  };
}
async function wholly(request) {
  const { url, method, redirect, signal } = request;
  signal.throwIfAborted();
  const headers = [];
  request.headers.forEach((value, name)=>headers.push([
      name,
      value
    ]));
  const body = request.body === null ? null : await request.bytes();
  signal.throwIfAborted();
  return {
    url,
    method,
    headers,
    body,
    redirect,
    signal
  };
}
function lazily(name) {
  const { get, value } = Object.getOwnPropertyDescriptor(globalThis, name);
  return ()=>get === undefined ? value : Reflect.apply(get, globalThis, []);
}
function fieldsOf({ url, method, headers, body, redirect }, maxBytes) {
  const rest = `"url":${stringify(url)},"method":${stringify(method)},"headers":${stringify(headers)}`;
  const bodyBytes = body === null ? 0 : Math.ceil(body.length / 3) * 4;
  const bytes = encode(rest).length + bodyBytes;
  if (bytes > maxBytes) {
    throw new LimitError(`Cannot send a request of ${bytes} bytes, more than ${maxBytes}; a body counts four bytes for three`);
  }
  const base64 = body === null ? null : `"${Reflect.apply(toBase64, body, [])}"`;
  return `${rest},"body":${base64},"redirect":"${redirect}"`;
}
function responseOf(result, method) {
  const { url, redirected, status, statusText, headers } = result;
  const hasBody = method !== "HEAD" && !WITHOUT_BODY.includes(status);
  const hasUsualStatus = status >= 200 && status <= 599;
  const response = new (responseClass())(hasBody ? fromBase64(result.body) : null, {
    status: hasUsualStatus ? status : 200,
    statusText,
    headers
  });
  const details = {
    type: "basic",
    url,
    redirected,
    ...hasUsualStatus ? {} : {
      status,
      ok: false
    }
  };
  return described(response, details);
}
function described(response, details) {
  const { clone } = response;
  const own = {
    ...details,
    clone: ()=>described(Reflect.apply(clone, response, []), details)
  };
  for (const [name, value] of Object.entries(own))define(response, name, {
    value,
    configurable: true
  });
  return response;
}
return { lendFetch };
})();

// files.ts
const { forgetWrites, lendFiles } = (() => {
const stringify = JSON.stringify;
const fromBase64 = Uint8Array.fromBase64;
const toBase64 = Uint8Array.prototype.toBase64;
const errors = Deno.errors;
const { hasOwn } = Object;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const decoder = new TextDecoder("utf-8", {
  ignoreBOM: true
});
const decode = decoder.decode.bind(decoder);
const MOUNT = "/workspace";
const MAX_PIECE_BYTES = 1024 * 1024;
const MAX_PATH = 4096;
const PATH_BYTES = 32 * 1024;
const CANNOT_WAIT = "cannot wait while other calls are under way: use await";
const nothing = ()=>undefined;
const atPath = (path)=>[
    {
      path: textOf(path)
    }
  ];
const fromTo = (from, to)=>[
    {
      path: textOf(from),
      to: textOf(to)
    }
  ];
const recursively = (path, options)=>[
    {
      path: textOf(path),
      recursive: Boolean(options?.recursive)
    }
  ];
const bytesOf = ({ data })=>fromBase64(data);
const SIMPLE = {
  readFile: {
    name: "readFile",
    params: atPath,
    result: bytesOf
  },
  readTextFile: {
    name: "readFile",
    params: atPath,
    result: (answer)=>decode(bytesOf(answer))
  },
  stat: {
    name: "stat",
    params: atPath,
    result: fileInfo
  },
  lstat: {
    name: "lstat",
    params: atPath,
    result: fileInfo
  },
  realPath: {
    name: "realPath",
    params: atPath,
    result: String
  },
  mkdir: {
    name: "mkdir",
    params: recursively,
    result: nothing
  },
  remove: {
    name: "remove",
    params: recursively,
    result: nothing
  },
  rename: {
    name: "rename",
    params: fromTo,
    result: nothing
  },
  copyFile: {
    name: "copyFile",
    params: fromTo,
    result: nothing
  }
};
const READ_DIR = {
  name: "readDir",
  params: atPath,
  result: (entries)=>entries
};
function lendFiles({ max_frame_bytes }) {
  const pieceBytes = Math.min(MAX_PIECE_BYTES, Math.floor((max_frame_bytes - PATH_BYTES) / 4) * 3);
  const write = {
    name: "writeFile",
    params: pieces(pieceBytes),
    result: nothing
  };
  const functions = {
    cwd: ()=>MOUNT,
    readDir: (path)=>({
        async *[Symbol.asyncIterator] () {
          yield* await run(READ_DIR, [
            path
          ]);
        }
      }),
    readDirSync: (path)=>runSync(READ_DIR, [
        path
      ], "readDir")[Symbol.iterator]()
  };
  for (const [name, operation] of Object.entries(SIMPLE)){
    Object.assign(functions, {
      [name]: async (...values)=>{
        refuseIfAborted(values[1]);
        return await run(operation, values);
      },
      [`${name}Sync`]: (...values)=>runSync(operation, values, name)
    });
  }
  for (const [name, toBytes] of [
    [
      "writeFile",
      binary
    ],
    [
      "writeTextFile",
      text
    ]
  ]){
    Object.assign(functions, {
      [name]: async (path, data, options)=>{
        refuseIfAborted(options);
        const bytes = isStream(data) ? await gathered(data) : toBytes(data);
        return await inTurn(()=>run(write, [
            path,
            bytes,
            options
          ]));
      },
      [`${name}Sync`]: (path, data, options)=>runSync(write, [
          path,
          toBytes(data),
          options
        ], name)
    });
  }
  return functions;
}
async function run({ name, params, result }, values) {
  let last;
  for (const each of params(...values))last = resultOf(await callHost("__file__", fieldsOf(name, each)));
  return result(last);
}
function runSync({ name, params, result }, values, asyncName) {
  let last;
  for (const each of params(...values)){
    const answer = callHostSync("__file__", fieldsOf(name, each));
    if (answer === undefined) throw new Error(`Deno.${asyncName}Sync ${CANNOT_WAIT} Deno.${asyncName}`);
    last = resultOf(answer);
  }
  return result(last);
}
function fieldsOf(operation, params) {
  return `"operation":"${operation}","params":${stringify(params)}`;
}
function resultOf(answer) {
  if (answer.type === "__tool_result__") return answer.result;
  throw refusalError(answer, (message, code)=>{
    if (hasOwn(errors, code)) return new errors[code](message);
    return Object.assign(new Error(message), /^[A-Z]\w+$/.test(code) ? {
      name: code
    } : {});
  });
}
let lastWrite = Promise.resolve();
let lastUpload = 0;
let round = 0;
function forgetWrites() {
  lastWrite = Promise.resolve();
  round++;
}
async function inTurn(write) {
  const { promise, resolve } = Promise.withResolvers();
  const before = lastWrite;
  const mine = round;
  lastWrite = promise;
  await before;
  if (mine !== round) await new Promise(()=>{});
  try {
    return await write();
  } finally{
    resolve();
  }
}
function pieces(pieceBytes) {
  return function*(path, bytes, options = {}) {
    const { append = false, create = true, createNew = false } = options;
    const to = textOf(path);
    const upload = ++lastUpload;
    const size = bytes.length;
    let start = 0;
    do {
      const data = Reflect.apply(toBase64, bytes.subarray(start, start + pieceBytes), []);
      start += pieceBytes;
      yield {
        path: to,
        data,
        append,
        create,
        create_new: createNew,
        upload,
        size,
        last: start >= size
      };
    }while (start < size)
  };
}
function binary(data) {
  if (data instanceof Uint8Array) return data;
  throw new TypeError("The data of Deno.writeFile must be a Uint8Array; for text there is Deno.writeTextFile");
}
function text(data) {
  return encode(data);
}
function isStream(data) {
  return typeof data === "object" && data !== null && Symbol.asyncIterator in data;
}
async function gathered(stream) {
  const chunks = [];
  for await (const chunk of stream)chunks.push(typeof chunk === "string" ? encode(chunk) : chunk);
  return await new Blob(chunks).bytes();
}
function textOf(path) {
  const text = path instanceof URL ? pathOfUrl(path) : path;
  if (typeof text !== "string") {
    throw new TypeError(`A path must be a string or a file URL, not ${typeof path}`);
  }
  if (text.length > MAX_PATH) {
    throw new TypeError(`A path may have ${MAX_PATH} characters, not ${text.length}`);
  }
  return text.toWellFormed();
}
function pathOfUrl({ protocol, pathname }) {
  if (protocol !== "file:") throw new TypeError("Must be a file URL");
  return decodeURIComponent(pathname.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"));
}
function refuseIfAborted(options) {
  options?.signal?.throwIfAborted();
}
function fileInfo({ isFile, isDirectory, isSymlink, size, mtime }) {
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
    isSocket: null
  };
  const changed = mtime === null ? null : new Date(mtime);
  return {
    isFile,
    isDirectory,
    isSymlink,
    size,
    mtime: changed,
    ...unknown
  };
}
return { forgetWrites, lendFiles };
})();

// harden.ts
const { harden } = (() => {
const decoder = new TextDecoder();
function harden() {
  define(Deno, "stdin", {
    read: ()=>Promise.resolve(null),
    readSync: ()=>null,
    isTerminal: ()=>false,
    get readable () {
      return new Blob([]).stream();
    }
  });
  for (const [name, level] of [
    [
      "stdout",
      "log"
    ],
    [
      "stderr",
      "error"
    ]
  ]){
    const writeSync = (bytes)=>{
      writeLog(level, decoder.decode(bytes));
      return bytes.length;
    };
    define(Deno, name, {
      writeSync,
      write: (bytes)=>Promise.resolve(writeSync(bytes)),
      isTerminal: ()=>false
    });
  }
}
function define(target, name, value) {
  Object.defineProperty(target, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true
  });
}
return { harden };
})();

// revive_bytes.ts
const { reviveBytes } = (() => {
const fromBase64 = Uint8Array.fromBase64;
function reviveBytes({ result, bytes }) {
  if (bytes === undefined) return result;
  const root = {
    result
  };
  for (const path of bytes){
    const last = path.length === 0 ? "result" : path[path.length - 1];
    let place = path.length === 0 ? root : result;
    for(let at = 0; at < path.length - 1; at++)place = place[path[at]];
    place[last] = fromBase64(place[last]);
  }
  return root.result;
}
return { reviveBytes };
})();

// call_tool.ts
const { callTool } = (() => {
const stringify = JSON.stringify;
async function callTool(lent, params) {
  const { name } = lent;
  if (visibleBytes(params) !== undefined) {
    const message = `tools.${name} takes one object with its arguments, not bytes: give them a name, as in { data: bytes }`;
    throw errorOf(lent, {
      error: message,
      code: "invalid_arguments",
      retryable: false
    });
  }
  const json = toJson(params ?? {}, `call ${name} with`, "arguments", MAX_VALUES_IN_CALL, "base64");
  const answer = await callHost("__tool_call__", `"name":${stringify(name)},"params":${json}`);
  if (answer.type === "__tool_result__") return reviveBytes(answer);
  throw errorOf(lent, answer);
}
function errorOf({ name, server, tool }, { error, code, retryable }) {
  if (server === undefined) return new ToolError(name, error, code, retryable);
  return new MCPToolError(server, tool ?? name, error, code, retryable);
}
return { callTool };
})();

// lend_tools.ts
const { lendTools } = (() => {
function lendTools(lent) {
  const tools = Object.create(null);
  const groups = [
    tools
  ];
  const put = (path, call, enumerable)=>{
    let group = tools;
    for (const part of path.slice(0, -1)){
      if (group[part] === undefined) {
        groups.push(Object.create(null));
        Object.defineProperty(group, part, {
          value: groups.at(-1),
          enumerable
        });
      }
      group = group[part];
    }
    Object.defineProperty(group, path[path.length - 1], {
      value: call,
      enumerable
    });
  };
  const calls = lent.map((tool)=>(params)=>callTool(tool, params));
  lent.forEach(({ path }, at)=>put(path, calls[at], true));
  lent.forEach(({ aliases }, at)=>aliases?.forEach((path)=>put(path, calls[at], false)));
  groups.forEach(Object.freeze);
  return tools;
}
return { lendTools };
})();

// make_repeatable.ts
const { makeRepeatable, makeSignalsRepeatable, prepareToRepeat, seedRandom } = (() => {
const EPOCH_MS = 946_684_800_000;
const { apply, construct, defineProperty, getOwnPropertyDescriptor } = Reflect;
const OriginalDate = Date;
const toText = Date.prototype.toString;
let replacements = [];
let clocks = [];
let hasVaried = false;
let looks = 0;
let [wordA, wordB, wordC, wordD] = [
  0,
  0,
  0,
  0
];
let epoch = EPOCH_MS;
let stillFor = 0;
let seeded;
function prepareToRepeat() {
  const watched = [
    "timeEnd",
    "timeLog",
    "timeStamp",
    "trace"
  ].flatMap(printer);
  putInPlace(watched.map((printer)=>({
      ...printer,
      target: {}
    })));
  const random = {
    target: Math,
    name: "random",
    descriptor: hidden(()=>chance("Math.random"))
  };
  seeded = hidden(draw);
  seed(1);
  clocks = [
    ...dates(),
    random
  ];
  replacements = [
    ...clocks,
    ...functionMakers(),
    ...watched
  ];
}
function makeRepeatable(how, clockMs = EPOCH_MS, from = 1) {
  putInPlace(replacements);
  epoch = clockMs;
  seed(from);
  if (how === "plain") return;
  fixPerformance();
  fixCrypto();
}
function seedRandom(from) {
  seed(from);
  defineProperty(Math, "random", seeded);
}
function makeSignalsRepeatable() {
  hasVaried = true;
  stillFor = 1_000;
  putInPlace(clocks);
  fixPerformance();
  fixCrypto();
  return (atMs)=>{
    looks = 0;
    seed(1);
    epoch = atMs >= 0 ? Math.floor(atMs) : EPOCH_MS;
  };
}
function putInPlace(all) {
  for (const { target, name, descriptor } of all)defineProperty(target, name, descriptor);
}
function vary(what) {
  if (hasVaried) return;
  hasVaried = true;
  writeFrame({
    type: "__varied__",
    what
  });
}
function now(what) {
  vary(what);
  return epoch + Math.max(0, looks++ - stillFor);
}
function chance(what) {
  vary(what);
  return draw();
}
function seed(from) {
  [wordA, wordB, wordC, wordD] = [
    from | 0,
    from ^ 0x9e3779b9,
    0x243f6a88,
    1
  ];
  for(let round = 0; round < 12; round++)word();
}
function word() {
  const sum = (wordA + wordB | 0) + wordD | 0;
  wordD = wordD + 1 | 0;
  wordA = wordB ^ wordB >>> 9;
  wordB = wordC + (wordC << 3) | 0;
  wordC = (wordC << 21 | wordC >>> 11) + sum | 0;
  return sum >>> 0;
}
function draw() {
  return ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;
}
function dates() {
  const value = new Proxy(Date, {
    construct: (target, values, newTarget)=>construct(target, values.length === 0 ? [
        now("new Date()")
      ] : values, newTarget),
    apply: ()=>apply(toText, new OriginalDate(now("Date()")), [])
  });
  return [
    {
      target: globalThis,
      name: "Date",
      descriptor: hidden(value)
    },
    {
      target: Date.prototype,
      name: "constructor",
      descriptor: hidden(value)
    },
    {
      target: Date,
      name: "now",
      descriptor: hidden(()=>now("Date.now"))
    }
  ];
}
function functionMakers() {
  const kinds = [
    ()=>{},
    async ()=>{},
    function*() {},
    async function*() {}
  ];
  return kinds.flatMap((kind)=>{
    const prototype = Object.getPrototypeOf(kind);
    const value = new Proxy(prototype.constructor, {
      construct: (target, values, newTarget)=>(vary("Function"), construct(target, values, newTarget)),
      apply: (target, self, values)=>(vary("Function"), apply(target, self, values))
    });
    const made = {
      target: prototype,
      name: "constructor",
      descriptor: hidden(value)
    };
    return value.name === "Function" ? [
      made,
      {
        ...made,
        target: globalThis,
        name: "Function"
      }
    ] : [
      made
    ];
  });
}
function printer(name) {
  const target = console;
  const original = getOwnPropertyDescriptor(target, name)?.value;
  if (typeof original !== "function") return [];
  const value = (...values)=>(vary(`console.${name}`), apply(original, target, values));
  return [
    {
      target,
      name,
      descriptor: {
        ...hidden(value),
        enumerable: true
      }
    }
  ];
}
function fixPerformance() {
  defineProperty(performance, "now", hidden(()=>now("performance") - epoch));
  defineProperty(performance, "timeOrigin", hidden(EPOCH_MS));
}
function fixCrypto() {
  const fill = (view)=>{
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    bytes.forEach((_, at)=>bytes[at] = Math.floor(chance("crypto") * 256));
    return view;
  };
  defineProperty(crypto, "getRandomValues", hidden(fill));
  defineProperty(crypto, "randomUUID", hidden(()=>uuid(fill(new Uint8Array(16)).toHex())));
}
function uuid(hex) {
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`
  ];
  return [
    ...parts,
    hex.slice(20)
  ].join("-");
}
function hidden(value) {
  return {
    value,
    configurable: true,
    writable: true,
    enumerable: false
  };
}
return { makeRepeatable, makeSignalsRepeatable, prepareToRepeat, seedRandom };
})();

// protocol.ts
const { PROTOCOL } = (() => {
const PROTOCOL = 1;
return { PROTOCOL };
})();

// cpu_meter.ts
const { CpuMeter } = (() => {
const now = performance.now.bind(performance);
const usage = Deno.cpuUsage;
const SHORT_MS = 1;
class CpuMeter {
  #looked = now();
  #used = 0;
  #guessed_us = 0;
  spent_us() {
    const before = this.#looked;
    this.#looked = now();
    const passed_us = (this.#looked - before) * 1000;
    if (passed_us < SHORT_MS * 1000) {
      this.#guessed_us += passed_us;
      return Math.round(passed_us);
    }
    const { user, system } = usage();
    const spent_us = user + system - this.#used - this.#guessed_us;
    this.#used = user + system;
    this.#guessed_us = 0;
    return Math.max(0, Math.round(spent_us));
  }
}
return { CpuMeter };
})();

// forbid_code.ts
const { forbidCode } = (() => {
const KINDS = [
  ()=>{},
  async ()=>{},
  function*() {},
  async function*() {}
];
const LOADERS = [
  "getBuiltinModule",
  "binding",
  "dlopen",
  "mainModule",
  "_eval"
];
const KEPT_OF_CORE = [
  "read",
  "readSync",
  "write",
  "writeSync"
];
function forbidCode() {
  for (const kind of KINDS)closeConstructor(Object.getPrototypeOf(kind));
  const globals = globalThis;
  set(globals, "Function", Function.prototype.constructor);
  set(globals, "eval", refusing("eval"));
  for (const name of [
    "Worker",
    "WebAssembly"
  ])Reflect.deleteProperty(globals, name);
  for (const name of LOADERS)Reflect.deleteProperty(globals.process, name);
  const { internal } = Deno;
  const core = internals.core;
  set(Deno, internal, {
    core: Object.fromEntries(KEPT_OF_CORE.map((name)=>[
        name,
        core[name]
      ]))
  });
}
function closeConstructor(prototype) {
  const closed = refusing(prototype.constructor.name);
  closed.prototype = prototype; // for `instanceof`
  set(prototype, "constructor", closed);
}
function refusing(name) {
  const refuse = function() {
    throw new EvalError(`Cannot make code out of text with ${name}: only the code that was loaded runs here`);
  };
  return Object.defineProperty(refuse, "name", {
    value: name
  });
}
function set(target, name, value) {
  Object.defineProperty(target, name, {
    value,
    configurable: true,
    writable: true,
    enumerable: false
  });
}
return { forbidCode };
})();

// outbox.ts
const { Outbox } = (() => {
const TYPE = /^[a-z][a-z0-9_.]{0,63}$/;
const matches = TYPE.test.bind(TYPE);
class Outbox {
  #limits;
  #emitted = [];
  #isClosed = false;
  constructor(limits){
    this.#limits = limits;
  }
  emit = (type, data)=>{
    if (this.#isClosed) return;
    if (typeof type !== "string" || !matches(type)) {
      throw new TypeError('Cannot emit: a type is a text of small letters, digits, "_" and ".", 64 at most');
    }
    const { max_emitted, max_signal_bytes } = this.#limits;
    if (this.#emitted.length >= max_emitted) {
      throw new LimitError(`Cannot emit "${type}": one signal may emit at most ${max_emitted}`);
    }
    const json = toJson(data, `emit "${type}" with`, "data", MAX_VALUES_IN_CALL);
    const bytes = beyond(json, max_signal_bytes);
    if (bytes > 0) {
      throw new LimitError(`Cannot emit "${type}": its data has ${bytes} bytes, more than ${max_signal_bytes}`);
    }
    this.#emitted.push(`["${type}",${json}]`);
  };
  give(result) {
    if (this.#isClosed) return;
    const json = toJson(result, "return", "result", MAX_VALUES_IN_CALL);
    const most = this.#limits.max_signal_bytes;
    const bytes = beyond(json, most);
    if (bytes > 0) throw new LimitError(`Cannot return a result of ${bytes} bytes, more than ${most}`);
    this.#emitted.push(`["result",${json}]`);
  }
  close() {
    this.#isClosed = true;
    return `[${this.#emitted.join()}]`;
  }
}
return { Outbox };
})();

// track_timers.ts
const { trackTimers } = (() => {
const KINDS = [
  "Timeout",
  "Interval",
  "Immediate"
];
function trackTimers() {
  const timers = globalThis;
  let ends = [];
  for (const kind of KINDS){
    const { [`set${kind}`]: set, [`clear${kind}`]: clear } = timers;
    timers[`set${kind}`] = (...values)=>{
      const timer = set(...values);
      ends.push(()=>clear(timer));
      return timer;
    };
  }
  return ()=>{
    if (ends.length === 0) return;
    for (const end of ends)end();
    ends = [];
  };
}
return { trackTimers };
})();

// reside.ts
const { failSignal, reside } = (() => {
const { core } = internals;
const { parse, stringify } = JSON;
const meter = new CpuMeter();
let fail;
let endTimers = ()=>{};
let beginAt;
let turn = ()=>Promise.resolve();
function failSignal(make) {
  if (fail === undefined) return false;
  fail(make());
  return true;
}
async function reside(frame) {
  grant(frame);
  forbidCode();
  let neuron;
  try {
    neuron = await (frame.is_function ? answeringCalls(frame.code) : answeringSignals(frame.code));
  } catch (error) {
    return writeFrame(describeError(error, "compile"));
  }
  await turn(); // until here this is still a module that is being loaded, which would count as work
  endTimers();
  pipe.isOpen = false;
  writeFrame({
    type: "__result__",
    value: null
  });
  for(;;)await answerBatch(neuron, frame, await nextSignals());
}
async function answeringSignals(code) {
  const neuron = await compileNeuron(code);
  return (signal, state, outbox)=>neuron(signal, state, outbox.emit);
}
async function answeringCalls(code) {
  const called = await compileFunction(code);
  return async (call, _, outbox)=>outbox.give(await called(call.args));
}
function grant(frame) {
  const { setImmediate } = globalThis;
  turn = ()=>new Promise((resolve)=>setImmediate(resolve));
  endTimers = trackTimers();
  Object.assign(globalThis, {
    tools: lendTools(frame.tools),
    fetch: lendFetch(frame)
  });
  if (frame.workspace) Object.assign(Deno, lendFiles(frame));
  if (frame.deterministic) beginAt = makeSignalsRepeatable();
  for (const name of [
    "context",
    "store"
  ])Reflect.deleteProperty(globalThis, name);
}
async function answerBatch(neuron, limits, frame) {
  let state = stringify(frame.state);
  let at = 0;
  meter.spent_us(); // what came before is no signal's
  for (const signal of frame.signals){
    const place = `"batch":${frame.batch},"at":${at++}`;
    const outbox = new Outbox(limits);
    const kept = parse(state); // its own: what an earlier signal has left running changes nothing here
    const failures = await run(neuron, signal, kept, outbox);
    state = answer(place, outbox.close(), failures, kept, state, limits);
  }
}
async function run(neuron, signal, state, outbox) {
  const failures = [];
  pipe.isOpen = true;
  beginAt?.(signal.at);
  await new Promise((resolve)=>{
    fail = (error)=>{
      failures.push(error);
      resolve();
    };
    neuron(signal, state, outbox).then(()=>resolve(), fail);
  });
  outbox.close();
  pipe.isOpen = false;
  forgetCalls();
  forgetWrites();
  endTimers();
  if (core.eventLoopHasMoreWork()) await turn();
  fail = undefined;
  return failures;
}
function answer(place, emitted, failures, state, before, limits) {
  try {
    if (failures.length > 0) throw failures[0];
    const after = stateText(state, limits.max_state_bytes);
    const line = `{"type":"__answer__",${place},"cpu_us":${meter.spent_us()},"emitted":${emitted},"state":${after === before ? null : after}}`;
    const bytes = beyond(line, limits.max_frame_bytes);
    if (bytes > 0) {
      throw new LimitError(`Cannot answer with ${bytes} bytes, more than ${limits.max_frame_bytes}`);
    }
    writeLine(line);
    return after;
  } catch (error) {
    const { type: _, ...failure } = describeError(error, "run");
    writeLine(`{"type":"__failed__",${place},"cpu_us":${meter.spent_us()},${stringify(failure).slice(1)}`);
    return before;
  }
}
function stateText(state, maxBytes) {
  const text = toJson(state, "keep", "state", MAX_VALUES_IN_CALL);
  if (text[0] !== "{") throw new TypeError("Cannot keep state: it is no longer an object");
  const bytes = beyond(text, maxBytes);
  if (bytes > 0) throw new LimitError(`Cannot keep state: it has ${bytes} bytes, more than ${maxBytes}`);
  return text;
}
return { failSignal, reside };
})();

// result_line.ts
const { resultLine } = (() => {
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const stringify = JSON.stringify;
const MARK_BYTES = 120;
function resultLine(json, maxBytes) {
  if (json.length * 3 > maxBytes) {
    const bytes = encoder.encode(json);
    if (bytes.length > maxBytes) {
      const room = Math.max(0, maxBytes - MARK_BYTES);
      const text = decoder.decode(bytes.subarray(0, room)).replace(/\ufffd$/, "");
      return stringify({
        type: "__result__",
        text: wholeElements(text),
        original_bytes: bytes.length
      });
    }
  }
  return `{"type":"__result__","value":${json}}`;
}
function wholeElements(text) {
  let end = 0;
  let inString = false;
  for(let at = 0; at < text.length; at++){
    const character = text[at];
    if (character === "\\" && inString) at++;
    else if (character === '"') inString = !inString;
    else if (character === "," && !inString) end = at;
  }
  return end > 0 ? text.slice(0, end) : text;
}
return { resultLine };
})();

// show_returned.ts
const { showReturned } = (() => {
const isArray = Array.isArray;
const keysOf = Object.keys;
const prototypeOf = Object.getPrototypeOf;
const objectPrototype = Object.prototype;
const MAX_PARTS = 100;
function showReturned(value, display) {
  if (isArray(value)) return withShownItems(value, display);
  const shown = withoutBytes(value, display);
  return shown === value ? withShownParts(value, display) : shown;
}
function withShownItems(value, display) {
  if (value.length > MAX_PARTS) return value;
  let copy;
  for(let at = 0; at < value.length; at++){
    const shown = withoutBytes(value[at], display);
    if (shown === value[at]) continue;
    copy ??= [
      ...value
    ];
    copy[at] = shown;
  }
  return copy ?? value;
}
function withShownParts(value, display) {
  if (typeof value !== "object" || value === null) return value;
  try {
    if (prototypeOf(value) !== objectPrototype || "toJSON" in value) return value;
    const names = keysOf(value);
    if (names.length > MAX_PARTS) return value;
    const found = {};
    for (const name of names){
      const part = Object.getOwnPropertyDescriptor(value, name)?.value;
      const shown = withoutBytes(part, display);
      if (shown !== part) found[name] = shown;
    }
    return keysOf(found).length === 0 ? value : {
      ...value,
      ...found
    };
  } catch  {
    return value;
  }
}
function withoutBytes(value, display) {
  if (typeof value !== "object" || value === null) return value;
  try {
    const { type, mimeType, uri, data } = value;
    const isMedia = type === "image" || type === "audio" || type === "blob";
    const bytes = isMedia && typeof mimeType === "string" ? visibleBytes(data) : undefined;
    if (bytes === undefined) return value;
    display({
      type,
      mimeType,
      data: bytes
    });
    const where = typeof uri === "string" ? {
      uri
    } : {};
    return {
      type,
      mimeType,
      ...where,
      bytes: bytes.length
    };
  } catch  {
    return value;
  }
}
return { showReturned };
})();

// share_errors.ts
const { shareErrors } = (() => {
function shareErrors() {
  for (const value of [
    ToolError,
    MCPToolError
  ]){
    Object.defineProperty(globalThis, value.name, {
      value,
      configurable: true,
      writable: true
    });
  }
}
return { shareErrors };
})();

// store.ts
const { lendStore, storeSettled } = (() => {
const stringify = JSON.stringify;
const { setTimeout } = globalThis;
const OTHER_BYTES = 4 * 1024;
const MAX_KEY = 256;
let unanswered = 0;
let lastCall = Promise.resolve();
let allAnswered = ()=>{};
function lendStore({ max_frame_bytes }) {
  const store = {
    get: async (key)=>{
      const found = await ask("get", checked(key));
      return found.length === 0 ? undefined : found[0];
    },
    set: async (key, value)=>{
      const json = toJson(value, `keep ${stringify(checked(key))}:`, "value", MAX_VALUES_IN_CALL);
      const bytes = beyond(json, max_frame_bytes - OTHER_BYTES);
      if (bytes > 0) throw new LimitError(`Cannot keep ${stringify(key)}: ${bytes} bytes are too many`);
      await ask("set", key, json);
    },
    delete: async (key)=>await ask("delete", checked(key)),
    keys: async ()=>await ask("keys", "")
  };
  return Object.freeze(Object.assign(Object.create(null), store));
}
function storeSettled() {
  if (unanswered === 0) return undefined;
  return new Promise((resolve)=>allAnswered = ()=>setTimeout(resolve, 0));
}
async function ask(operation, key, json = "null") {
  unanswered++;
  const { promise, resolve } = Promise.withResolvers();
  const before = lastCall;
  lastCall = promise;
  try {
    await before;
    const fields = `"operation":"${operation}","key":${stringify(key)},"value":${json}`;
    const answer = await callHost("__store__", fields);
    if (answer.type === "__tool_result__") return answer.result;
    throw refusalError(answer, (message)=>new Error(message));
  } finally{
    resolve();
    if (--unanswered === 0) allAnswered();
  }
}
function checked(key) {
  if (typeof key !== "string") throw new TypeError(`A key of the store must be a string, not ${typeof key}`);
  if (key.length > MAX_KEY) throw new LimitError(`A key of the store has at most ${MAX_KEY} characters`);
  return key.toWellFormed();
}
return { lendStore, storeSettled };
})();

// main.ts
(() => {
const stringify = JSON.stringify;
const NO_VALUE = stringify({
  type: "__no_value__"
});
let finished = false;
function grant(frame) {
  const display = lendDisplay(frame);
  Object.assign(globalThis, {
    context: frame.context,
    tools: lendTools(frame.tools),
    fetch: lendFetch(frame),
    store: lendStore(frame),
    display
  });
  if (frame.workspace) Object.assign(Deno, lendFiles(frame));
  if (frame.deterministic !== null) makeRepeatable(frame.deterministic, frame.clock_ms, frame.seed);
  else if (frame.seed !== undefined) seedRandom(frame.seed);
  return display;
}
async function answer(frame) {
  let phase = "compile";
  try {
    const display = grant(frame);
    const program = await compile(frame.code);
    phase = "run";
    const value = await valueOf(await program());
    const settled = storeSettled();
    if (settled !== undefined) await settled;
    phase = "return";
    if (value === undefined) return NO_VALUE;
    return resultLine(toJson(showReturned(value, display), "return", "result"), frame.max_result_bytes);
  } catch (error) {
    return stringify(describeError(error, phase));
  }
}
function valueOf(value) {
  if (typeof value !== "function" || value.length > 0 || isClass(value)) return value;
  return value();
}
async function rehearse(frame) {
  for (const run of frame.runs)writeLine(await answer(run));
}
function finish(line) {
  if (finished) return;
  finished = true;
  writeLine(line);
}
function fail(event, error) {
  event.preventDefault();
  if (!failSignal(()=>error)) finish(stringify(describeError(error, "run")));
}
function idle(event) {
  event.preventDefault();
  if (failSignal(()=>new Error("It waits for a promise that nothing will settle"))) return;
  if (!finished) writeFrame({
    type: "__debug__",
    message: "idle"
  });
  for(;;)readFramesSync();
}
async function main() {
  captureConsole();
  harden();
  shareErrors();
  prepareToRepeat();
  addEventListener("beforeunload", idle);
  addEventListener("error", (event)=>fail(event, event.error));
  addEventListener("unhandledrejection", (event)=>fail(event, event.reason));
  await rehearse(readFramesSync()[0]);
  writeFrame({
    type: "__ready__",
    protocol: PROTOCOL,
    deno: Deno.version.deno
  });
  const frame = readFramesSync()[0];
  limitConsole(frame.max_output_bytes);
  limitCalls(frame.max_frame_bytes);
  if (frame.type === "__reside__") await reside(frame);
  else finish(await answer(frame));
}
void main();
})();
//# sourceURL=harness.js
