import { internals } from "./internals.ts";

const KINDS: CallableFunction[] = [() => {}, async () => {}, function* () {}, async function* () {}];

// Each takes a text for code, or leads to a module that does.
const LOADERS = ["getBuiltinModule", "binding", "dlopen", "mainModule", "_eval"];
// All that is left of what Deno has for itself: it could compile text, and hand out other realms.
const KEPT_OF_CORE = ["read", "readSync", "write", "writeSync"] as const;

/**
 * From here on no text becomes code: neither by the four constructors of functions, by whatever way they are reached,
 * nor by `eval`, another realm, a module of Node, a worker or WebAssembly. What the harness has taken before still works.
 */
export function forbidCode(): void {
  for (const kind of KINDS) closeConstructor(Object.getPrototypeOf(kind));
  const globals = globalThis as unknown as Record<string, unknown>;
  set(globals, "Function", Function.prototype.constructor);
  set(globals, "eval", refusing("eval"));
  for (const name of ["Worker", "WebAssembly"]) Reflect.deleteProperty(globals, name);
  for (const name of LOADERS) Reflect.deleteProperty(globals.process as object, name);
  const { internal } = Deno as unknown as { internal: symbol };
  const core = internals.core as unknown as Record<string, unknown>;
  set(Deno, internal, { core: Object.fromEntries(KEPT_OF_CORE.map((name) => [name, core[name]])) });
}

function closeConstructor(prototype: CallableFunction): void {
  const closed = refusing(prototype.constructor.name);
  closed.prototype = prototype; // for `instanceof`
  set(prototype, "constructor", closed);
}

function refusing(name: string): { prototype: unknown } {
  const refuse = function () {
    throw new EvalError(`Cannot make code out of text with ${name}: only the code that was loaded runs here`);
  };
  return Object.defineProperty(refuse, "name", { value: name });
}

function set(target: object, name: string | symbol, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: false });
}
