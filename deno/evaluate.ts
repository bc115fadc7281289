/** The agent's code, compiled and not yet run. */
export type Program = () => Promise<unknown>;

/** The code of a neuron, compiled. */
export type Neuron = (
  signal: unknown,
  state: unknown,
  emit: (type: string, data?: unknown) => void,
) => Promise<unknown>;

/** The code of a learned function, compiled. */
export type LearnedFunction = (args: unknown) => Promise<unknown>;

type FunctionMaker = new (parameters: string, body: string) => (...values: any[]) => Promise<unknown>;

const AsyncFunction = (async () => {}).constructor as unknown as FunctionMaker;
const encoder = new TextEncoder();

// Every form begins with as many columns, so that the host can give positions in the agent's own lines. An expression
// is the second of two: of one that is the whole `return`, V8 would place some errors at the `return`.
const COLUMNS = 60;
const script = '"use strict";'.padEnd(COLUMNS);
const scriptReturn = '"use strict"; return(0,'.padEnd(COLUMNS);
const module = "export default async function () {".padEnd(COLUMNS);
const moduleReturn = "export default async function () { return(0,".padEnd(COLUMNS);

// Where an `import` may begin a module to be loaded, by what can stand behind the word: also a comment, of any kind.
const IMPORT = /(?<![^.]\.)\bimport(?=\s*(?:[(.]|\/[/*]|<!--|-->))/g;

// `f<T>(x)` is a call in TypeScript and two comparisons in JavaScript: only the TypeScript loader may read it. All
// other TypeScript is no JavaScript at all, so that trying JavaScript first cannot mistake it.
const GENERIC_CALL = /[\w$]\s*<[^;]*[^=]>\s*[(`]/;

// No loader can make sense of this mistake, and Deno's ends the process on it: it looks for a file of the system.
const FUNCTION_WITHOUT_BLOCK =
  "In strict mode code, functions can only be declared at top level or inside a block.";

const CLOSED_TOO_MUCH = "Unexpected '}': it closes more than the code has opened";

const sourceOf = Function.prototype.toString;
const randomUUID = crypto.randomUUID.bind(crypto);

// What begins like this is a statement, and needs no second look as an expression.
const STATEMENT = new RegExp(
  [
    /^(?:const|var|if|for|while|do|switch|try|throw|return|function|class|export|enum|debugger)\b/,
    /^import\s+[^(.\s]/,
    /^(?:let|type|interface|declare|namespace|abstract|async\s+function)\s+[\w$[{*]/,
  ].map((pattern) => pattern.source).join("|"),
);

/**
 * Compile the code as the body of an async function, or as one expression whose value is returned. JavaScript is
 * compiled at once; TypeScript goes through Deno's loader, which also explains syntax errors with their position.
 */
export async function compile(code: string): Promise<Program> {
  const expression = asExpression(code);
  if (!GENERIC_CALL.test(code)) {
    const program = compileScript(code, expression);
    if (program !== undefined) return program;
  }
  return await compileModule(code, expression);
}

/**
 * Compile the code as the body of an async function of `signal`, `state` and `emit`. It can import nothing: a module
 * can be made of any text.
 */
export async function compileNeuron(given: string, parameters = "signal,state,emit"): Promise<Neuron> {
  // Written so, the word is a mistake where it is a keyword, and the same as before in a text, a comment or a name.
  const code = given.replace(IMPORT, "impor\\u0074");
  const neuron = GENERIC_CALL.test(code) ? undefined : attempt(`${script}${code}`, parameters);
  return neuron ?? await loadNeuron(code, parameters);
}

/** Compile the code as the body of an async function of `args`, whose result is what it returns. */
export async function compileFunction(code: string): Promise<LearnedFunction> {
  return await compileNeuron(code, "args") as LearnedFunction;
}

/** Load it as a module, and run nothing of it: code that has closed the function would find no label for its end. */
async function loadNeuron(code: string, parameters: string): Promise<Neuron> {
  const label = `_${randomUUID().slice(-12)}`;
  const beginning = `export default async(${parameters})=>{${label}:{`.padEnd(COLUMNS);
  try {
    return await load(`${beginning}${code}`, `break ${label}}`);
  } catch (error) {
    throw error instanceof SyntaxError && error.message.includes(label)
      ? new SyntaxError(CLOSED_TOO_MUCH)
      : error;
  }
}

function compileScript(code: string, expression: string | undefined): Program | undefined {
  const statements = attempt(`${script}${code}`);
  if (expression === undefined) return statements;
  // What is no list of statements may be an object literal; anything else (`1); f(); (2`) is a mistake, and so is
  // what fits between parentheses and not between brackets.
  if (statements === undefined && !(expression.startsWith("{") && attempt(`[${expression}\n]`))) {
    return undefined;
  }
  return attempt(`${scriptReturn}${expression}\n)`) ??
    // What was taken for a final comment may have stood in a string: `"a;//b"`.
    (expression === code ? undefined : attempt(`${scriptReturn}${code}\n)`)) ?? statements;
}

function attempt(body: string, parameters = ""): Program | undefined {
  try {
    return new AsyncFunction(parameters, `${body}\n//# sourceURL=code.js`);
  } catch (error) {
    if (error instanceof SyntaxError && error.message !== FUNCTION_WITHOUT_BLOCK) return undefined;
    throw error;
  }
}

async function compileModule(code: string, expression: string | undefined): Promise<Program> {
  const asReturn = () => load(`${moduleReturn}${expression}\n)`);
  let statements: Program;
  try {
    statements = await load(`${module}${code}`);
  } catch (error) {
    if (!expression?.startsWith("{")) throw error;
    return await asReturn().catch(() => Promise.reject(error));
  }
  if (expression === undefined) return statements;
  return await asReturn().catch(() => statements);
}

/** Whether a function is a class, which cannot be called. */
export function isClass(value: CallableFunction): boolean {
  return sourceOf.call(value).startsWith("class");
}

/** The function that the source begins. It is closed here, behind the last words. */
async function load(source: string, lastWords = ""): Promise<Program> {
  // The last thing in the function, and nothing that the code could have in it. Where it is missing from the function's
  // source, the code has closed the function with a brace of its own and went on outside of it.
  const end = `void "${randomUUID()}";`;
  // Behind a semicolon: what the code left unfinished must not take this for its end.
  const text = encoder.encode(`${source}\n;${end}${lastWords}}`).toBase64();
  const program = (await import(`data:application/typescript;base64,${text}`)).default;
  if (typeof program === "function" && sourceOf.call(program).includes(end)) return program;
  throw new SyntaxError(CLOSED_TOO_MUCH);
}

/** The code without its final semicolons and comment, if it can be one expression; undefined if it cannot. */
function asExpression(code: string): string | undefined {
  if (STATEMENT.test(withoutLeadingComments(code))) return undefined;
  let text = code;
  for (;;) {
    const trimmed = withoutTrailingComment(text.trimEnd());
    const shorter = trimmed.endsWith(";") ? trimmed.slice(0, -1) : trimmed;
    if (shorter === text) return text.trim() === "" ? undefined : text;
    text = shorter;
  }
}

function withoutLeadingComments(code: string): string {
  let text = code.trimStart();
  while (text.startsWith("//") || text.startsWith("/*")) {
    const isLine = text.startsWith("//");
    const end = text.indexOf(isLine ? "\n" : "*/");
    if (end < 0) return "";
    text = text.slice(end + (isLine ? 1 : 2)).trimStart();
  }
  return text;
}

// A `//` after a semicolon or at the start of a line ends the code; elsewhere it may stand in a string.
function withoutTrailingComment(text: string): string {
  const comment = /(?:^|[;\n])[^\S\n]*(?:\/\/[^\n]*|\/\*(?:(?!\*\/)[^])*\*\/)$/.exec(text.slice(-2000));
  return comment === null
    ? text
    : text.slice(0, text.length - comment[0].length + (comment[0][0] === ";" ? 1 : 0));
}
