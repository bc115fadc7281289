import { callHost } from "./call_host.ts";
import { LimitError } from "./limit_error.ts";
import type { FetchResult, RunFrame } from "./protocol.ts";
import { refusalError } from "./refusal_error.ts";

/** The request went wrong on its way, as a TypeError like every failure of `fetch`. */
class NetworkError extends TypeError {
  override name = "NetworkError";
}

// Kept from before the agent's code ran. Deno loads the classes when they are first asked for, which takes 4 ms: so
// what is kept is the way to ask.
const fetchLocally = globalThis.fetch;
const requestClass = lazily<typeof Request>("Request");
const responseClass = lazily<typeof Response>("Response");
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

// What a page has in itself is no business of the host's.
const LOCAL = /^(?:data|blob):/;
const WITHOUT_BODY = [101, 103, 204, 205, 304];
// The type, the id and the names of the fields.
const FRAME_BYTES = 256;

type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

/** What of a request goes to the host, and the signal that takes it back. */
interface Asked {
  url: string;
  method: string;
  headers: [string, string][];
  body: Uint8Array | null;
  redirect: RequestRedirect;
  signal?: AbortSignal;
}

/** The `fetch` of a run: the standard one, but that the host makes the request, or says why not. */
export function lendFetch({ tier, max_frame_bytes }: Pick<RunFrame, "tier" | "max_frame_bytes">): Fetch {
  return async function fetch(input, init = undefined) {
    const simple = init === undefined ? simply(input) : undefined;
    const request = simple ?? new (requestClass())(input, init);
    if (LOCAL.test(request.url)) return await fetchLocally(request as Request);
    if (tier !== "network") {
      const why = `fetch needs the network tier; this run is in the ${tier} tier`;
      throw assign(new PermissionDenied(why), { code: "denied", retryable: false });
    }
    const asked = simple ?? await wholly(request as Request);
    const fields = fieldsOf(asked, max_frame_bytes - FRAME_BYTES);
    const answering = callHost("__fetch__", fields, asked.signal);
    responseClass(); // loads while the host is at work
    const answer = await answering;
    if (answer.type === "__tool_result__") return responseOf(answer.result as FetchResult, asked.method);
    throw refusalError(answer, (message) => new NetworkError(message));
  };
}

/** A URL without more is asked for at once, and not after the milliseconds in which Deno loads its Request. */
function simply(input: unknown): Asked | undefined {
  const url = typeof input === "string" || input instanceof UrlClass ? parseUrl(String(input)) : null;
  if (url === null || LOCAL.test(url.href)) return undefined;
  return { url: url.href, method: "GET", headers: [], body: null, redirect: "follow" };
}

async function wholly(request: Request): Promise<Asked> {
  const { url, method, redirect, signal } = request;
  signal.throwIfAborted();
  const headers: [string, string][] = [];
  request.headers.forEach((value, name) => headers.push([name, value]));
  const body = request.body === null ? null : await request.bytes();
  signal.throwIfAborted();
  return { url, method, headers, body, redirect, signal };
}

function lazily<Class>(name: string): () => Class {
  const { get, value } = Object.getOwnPropertyDescriptor(globalThis, name)!;
  return () => get === undefined ? value : Reflect.apply(get, globalThis, []);
}

/** The request as fields of its frame. The host would end the run for one that is too long, so that it throws. */
function fieldsOf({ url, method, headers, body, redirect }: Asked, maxBytes: number): string {
  const rest = `"url":${stringify(url)},"method":${stringify(method)},"headers":${stringify(headers)}`;
  const bodyBytes = body === null ? 0 : Math.ceil(body.length / 3) * 4;
  const bytes = encode(rest).length + bodyBytes;
  if (bytes > maxBytes) {
    throw new LimitError(
      `Cannot send a request of ${bytes} bytes, more than ${maxBytes}; a body counts four bytes for three`,
    );
  }
  const base64 = body === null ? null : `"${Reflect.apply(toBase64, body, [])}"`;
  return `${rest},"body":${base64},"redirect":"${redirect}"`;
}

function responseOf(result: FetchResult, method: string): Response {
  const { url, redirected, status, statusText, headers } = result;
  const hasBody = method !== "HEAD" && !WITHOUT_BODY.includes(status);
  const hasUsualStatus = status >= 200 && status <= 599;
  const response = new (responseClass())(hasBody ? fromBase64(result.body) : null, {
    status: hasUsualStatus ? status : 200,
    statusText,
    headers,
  });
  // A Response that code makes itself comes from nowhere and has no odd status. A server's may.
  const details = { type: "basic", url, redirected, ...hasUsualStatus ? {} : { status, ok: false } };
  return described(response, details);
}

function described(response: Response, details: Record<string, unknown>): Response {
  const { clone } = response;
  const own = { ...details, clone: () => described(Reflect.apply(clone, response, []), details) };
  for (const [name, value] of Object.entries(own)) define(response, name, { value, configurable: true });
  return response;
}
