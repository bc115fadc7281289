import { compile, compileFunction, compileNeuron } from "./evaluate.ts";
import { assertEquals, thrownBy } from "./testing.ts";

const run = async (code: string) => await (await compile(code))();

const programs: [string, string, unknown][] = [
  ["statements return what they return", "const a = 1;\nreturn a + 1;", 2],
  ["statements without return give undefined", "let a = 1; a", undefined],
  ["no code at all gives undefined", "", undefined],
  ["only a comment gives undefined", "// nothing\n/* here */", undefined],
  ["an expression is its value", "1 + 1", 2],
  ["an expression may end in semicolons", "1 + 1;;\n;", 2],
  ["an expression may be awaited", "await Promise.resolve(4)", 4],
  ["an expression may be a text", "'return'", "return"],
  ["an object literal is an object and no block", "{ a: 1, b: [2] }", { a: 1, b: [2] }],
  ["an object literal of one property is no label", "{ a: 1 };", { a: 1 }],
  ["an empty object literal is an object", "{}", {}],
  ["a block is a block", "{ let a = 1; a++ }", undefined],
  ["comments may stand before an expression", "// first\n/* second\n */ 5", 5],
  ["comments may stand before an object literal", "// first\n{ a: 1 }", { a: 1 }],
  ["a comment may follow an expression", "5 // five", 5],
  ["a comment may follow a semicolon", "5; // five\n/* and no more */", 5],
  ["what looks like a comment in a text is text", "'a // b'", "a // b"],
  ["what looks like a final comment in a text is text", "'a;//b'", "a;//b"],
  ["what looks like a final comment in a template is text", "`a\n// b`.length", 6],
  ["of expressions with commas the last one counts", "1, 2", 2],
  ["below a blank line an expression is its value too", "\n\n  { a: 1 }", { a: 1 }],
  ["an arrow function can be called", "(() => 7)()", 7],
  ["a comparison is no generic call", "const a = 1; return a < 2 && 3 > (2)", true],
  ["types are TypeScript", "const a: number = 3; return a as number", 3],
  ["an expression may be TypeScript", "[1, 2] as number[]", [1, 2]],
  ["an object literal may be TypeScript", "{ a: 1 as number }", { a: 1 }],
  ["enums are TypeScript", "enum Colour { Red = 4, Blue }\nreturn Colour.Blue", 5],
  ["interfaces are TypeScript", "interface P { a: number }\nconst p: P = { a: 1 };\nreturn p", { a: 1 }],
  ["type aliases are TypeScript", "type A = 'x' | 'y'; const a: A = 'y'; return a", "y"],
  ["satisfies is TypeScript", "return { a: 1 } satisfies { a: number }", { a: 1 }],
  ["generics are TypeScript", "const same = <T,>(a: T): T => a; return same(6)", 6],
  ["a call with a type argument is a call", "const f = (a) => a; return f<number>(7)", 7],
  ["an expression may have a type argument", "[1, 2].map<string>(String)", ["1", "2"]],
  ["parameter properties are TypeScript", "class A { constructor(readonly a = 8) {} } return new A().a", 8],
  ["non-ASCII text survives the TypeScript loader", "'é 漢字 😀' as string", "é 漢字 😀"],
  ["code is strict", "(function () { return this })()", undefined],
];

for (const [name, code, expected] of programs) {
  Deno.test(name, async () => assertEquals(await run(code), expected));
}

const mistakes: [string, string][] = [
  ["an unclosed brace", "if (true) {"],
  ["an unclosed text", "'abc"],
  ["a word too many", "const const a = 1"],
  ["a wrong type annotation", "const a: = 1"],
  ["closing the parenthesis of the wrapper", "1); f(); (2"],
  ["taking the parenthesis of the wrapper for parameters", "{ a }) => ({ b }"],
  ["closing the function of the wrapper as a call", "})(); x(); (async () => {"],
  ["closing the function of the wrapper and exporting", "} export const y = 1; {"],
  ["closing the function of the wrapper and opening another", "} async function f() {"],
  ["import", 'import a from "b"'],
  ["export", "export const a = 1"],
  ["with", "with ({}) {}"],
];

for (const [name, code] of mistakes) {
  Deno.test(`${name} is a syntax error`, async () => {
    const { message, name } = await thrownBy(() => compile(code));
    assertEquals(name === "SyntaxError" || message.startsWith("SyntaxError: "), true);
  });
}

Deno.test("a syntax error says where it is, after the columns of the wrapper", async () => {
  const { message } = await thrownBy(() => compile("const a = 1;\nconst b = ;"));
  assertEquals(/:2:11\b/.test(message), true);
  const first = await thrownBy(() => compile("const b = ;"));
  assertEquals(first.message.includes(`:1:${60 + 11}`), true);
});

Deno.test("an error in an expression is placed where it is, whatever stands above", async () => {
  const place = async (code: string) =>
    /(?:code\.js, <anonymous>|typescript;base64,[^:]*):(\d+:\d+)/.exec(
      (await thrownBy(() => run(code))).stack!,
    )![1];
  for (const above of ["\n", "\n\n", "// why\n", "/* why\nnot */\n"]) {
    const line = above.split("\n").length;
    // A script stands two lines down.
    assertEquals(await place(`${above}missing`), `${line + 2}:1`);
    assertEquals(await place(`${above}  missing();`), `${line + 2}:3`);
    assertEquals(await place(`${above}await [].x.deep()`), `${line + 2}:12`);
    assertEquals(await place(`${above}  missing as number`), `${line}:3`);
  }
  assertEquals(await place("  missing"), `3:${60 + 3}`);
  assertEquals(await place("  missing as number"), `1:${60 + 3}`);
});

Deno.test("compiling runs nothing", async () => {
  const ran = () => "ran" in globalThis;
  await compile("globalThis.ran = true");
  await compile("const a: boolean = true; globalThis.ran = a");
  assertEquals(ran(), false);
});

// The TypeScript loader sees `export default async function () {} … {}`, which is a module, and runs what stands
// outside of the function before anybody can look. Nothing is won by it: it is the same process and permissions.
Deno.test("what stands outside of the wrapper's function has run when it is refused", async () => {
  const error = await thrownBy(() => compile('} throw new RangeError("early"); {'));
  assertEquals([error.name, error.message], ["RangeError", "early"]);
});

Deno.test("what follows an object literal that closes the wrapper is never reached", async () => {
  assertEquals(await run("{ a: 1 }); globalThis.ran = true; ({ b: 2 }"), { a: 1 });
  assertEquals("ran" in globalThis, false);
});

const neurons: [string, string, unknown][] = [
  ["finds its signal and its state", "state.a = signal.b; emit('x', 1)", [{ a: 2 }, ["x", 1]]],
  ["may be TypeScript", "const b: number = signal.b; state.a = b as number; emit<string>('x')", [{ a: 2 }, [
    "x",
  ]]],
  ["may end early", "if (signal.b === 2) return; emit('x')", [{}]],
  ["may wait", "await null; emit('x')", [{}, ["x"]]],
  ["may be an expression", "emit('x')", [{}, ["x"]]],
  ["may be nothing", "", [{}]],
];

for (const [what, code, expected] of neurons) {
  Deno.test(`the code of a neuron ${what}`, async () => {
    const state = {};
    const emitted: unknown[] = [];
    await (await compileNeuron(code))({ b: 2 }, state, (...values) => emitted.push(values));
    assertEquals([state, ...emitted], expected);
  });
}

for (
  const [what, code, expected] of [
    ["returns its result", "return args.a + 1", 3],
    ["may be TypeScript", "const { a } = args as { a: number }; return a * 2 as number", 4],
    ["may wait", "await null; return [args.a]", [2]],
    [
      "knows nothing of signals",
      "return [typeof signal, typeof state, typeof emit].join()",
      "undefined,undefined,undefined",
    ],
  ] as [string, string, unknown][]
) {
  Deno.test(`the code of a function ${what}`, async () => {
    assertEquals(await (await compileFunction(code))({ a: 2 }), expected);
  });
}

Deno.test("code of a neuron that closes more than it has opened is told so", async () => {
  const { message } = await thrownBy(() => compileNeuron("const a: number = 1; }; void 'x'; {"));
  assertEquals(message, "Unexpected '}': it closes more than the code has opened");
});

Deno.test("a syntax error of a neuron says where it is, after the columns of the wrapper", async () => {
  const { message } = await thrownBy(() => compileNeuron("const b: number = ;"));
  assertEquals(message.includes(`:1:${60 + 19}`), true);
});

Deno.test("code cannot hold the end of the code", async () => {
  const { message } = await thrownBy(() => compile('const a: number = 1; void "end of code"; } {'));
  assertEquals(message, "Unexpected '}': it closes more than the code has opened");
});

Deno.test("the code of a neuron has its positions where those of a run are", async () => {
  for (
    const code of ["missing()", "\n  missing()", "missing() as number", "const a: number = 1;\n  missing()"]
  ) {
    const [run, neuron] = [await compile(code), await compileNeuron(code)];
    const places = [await thrownBy(run), await thrownBy(() => neuron({}, {}, () => {}))]
      .map(({ stack }) => /:(\d+:\d+)\)?$/m.exec(stack!)![1]);
    assertEquals(places[0], places[1]);
  }
});

for (const code of ["}; globalThis.leaked = 1; {", "const a: number = 1; } globalThis.leaked = 1; {"]) {
  Deno.test(`the code of a neuron cannot close its function: ${code}`, async () => {
    assertEquals(await thrownBy(() => compileNeuron(code)) instanceof Error, true);
  });
}

for (
  const code of [
    "return import('data:text/javascript,1')",
    "return (import)('data:text/javascript,1')",
    "return import /* from */ ('data:text/javascript,1')",
    "return import // from\n('data:text/javascript,1')",
    "return import<!-- from\n('data:text/javascript,1')",
    "return import\n--> from\n('data:text/javascript,1')",
    "return import\u00a0\ufeff('data:text/javascript,1')",
    "return import.source('data:text/javascript,1')",
    "return [...import('data:text/javascript,1')]",
    "const a: number = 1; return import('data:text/javascript,1')",
    "return `${import('data:text/javascript,1')}`",
  ]
) {
  Deno.test(`the code of a neuron imports nothing: ${JSON.stringify(code)}`, async () => {
    assertEquals(/SyntaxError/.test(String(await thrownBy(() => compileNeuron(code)))), true);
  });
}

Deno.test("where import is no keyword it stands for itself", async () => {
  const texts = String
    .raw`["import (a)", "\import (a)", ${"`import (${1})`"}, "an import. Then", "x/import/y", /import (b)/.test("import b")]`;
  for (const more of ["", "; const a: number = 1"]) {
    const emitted: unknown[] = [];
    const code =
      `const tools = { data: { ["import"]: (x) => x } }; /* import(1) */ emit(${texts}, tools.data.import(2))${more}`;
    await (await compileNeuron(code))({}, {}, (...values) => emitted.push(...values));
    assertEquals(emitted, [
      ["import (a)", "import (a)", "import (1)", "an import. Then", "x/import/y", true],
      2,
    ]);
  }
});

for (
  const code of [
    "const a: number = 1; } globalThis.leaked = 1; {",
    "const a: number = 1; }}; globalThis.leaked = 1; {{",
    "const a: number = 1; }}; globalThis.leaked = 1; async () => {{",
    "const a: number = 1; }}; globalThis.leaked = 1; export const b = async () => { _0: {",
    "const a: number = 1; }}; import vm from 'node:vm'; globalThis.leaked = vm; async () => {{",
  ]
) {
  Deno.test(`nothing of a neuron has run when it is refused: ${code}`, async () => {
    assertEquals(/SyntaxError|Unexpected/.test(String(await thrownBy(() => compileNeuron(code)))), true);
    assertEquals("leaked" in globalThis, false);
  });
}
