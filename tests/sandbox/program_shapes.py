"""Programs in the shapes that models write, each with the answer that must arrive.

Written before the code that reads them, in the styles of several models. Every third one was kept out of tuning.
"""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    name: str
    code: str
    answer: str
    """The first line of the reply."""
    printed: str | None = None
    """What the rest of the reply must contain."""


SHAPES = (
    # A value by return
    Shape("return", "return 6 * 7", "42"),
    Shape(
        "return-object",
        "const a = [1, 2, 3];\nreturn { sum: a.reduce((x, y) => x + y, 0), n: a.length };",
        '{"sum":6,"n":3}',
    ),
    Shape("return-in-if", "const n = 5;\nif (n > 3) {\n  return 'big';\n}\nreturn 'small';", '"big"'),
    Shape("return-early-then-expression", "if (false) return 1;\n2 + 2", "4"),
    # The last line is the value
    Shape(
        "last-identifier", "const prices = [3, 5, 9];\nlet total = 0;\nfor (const p of prices) total += p;\ntotal", "17"
    ),
    Shape("last-identifier-semicolon", "const x = 20;\nconst y = 22;\nx + y;", "42"),
    Shape("last-object-in-parentheses", "const n = 3;\n({ n, square: n * n })", '{"n":3,"square":9}'),
    Shape("last-object-bare", "const n = 3;\nconst r = { n };\nr", '{"n":3}'),
    Shape("last-template", "const name = 'Ada';\n`Hello ${name}!`", '"Hello Ada!"'),
    Shape("last-call", "function square(n) {\n  return n * n;\n}\nsquare(9);", "81"),
    Shape("last-await", "const later = () => new Promise((done) => setTimeout(() => done(7), 1));\nawait later()", "7"),
    Shape("last-promise", "const later = (n) => Promise.resolve(n + 1);\nlater(41)", "42"),
    Shape("last-promise-all", "Promise.all([1, 2, 3].map(async (n) => n * 2))", "[2,4,6]"),
    Shape("last-ternary", "const n = 7;\nn % 2 === 0 ? 'even' : 'odd'", '"odd"'),
    Shape("last-assignment", "let result;\nresult = [1, 2, 3].map((n) => n ** 2)", "[1,4,9]"),
    Shape(
        "last-method-chain",
        "const words = 'the quick brown fox'.split(' ');\nwords\n  .filter((w) => w.length > 3)\n  .map((w) => w.toUpperCase())",
        '["QUICK","BROWN"]',
    ),
    Shape("last-with-comment", "const a = 1;\na + 1 // the answer", "2"),
    Shape("last-with-block-comment", "const a = 1;\na + 1;\n/* done\n   here */", "2"),
    Shape("last-string-with-slashes", "const host = 'example.com';\n'https://' + host", '"https://example.com"'),
    Shape("last-regex", "const text = 'a1b22';\ntext.match(/\\d+/g)", '["1","22"]'),
    Shape("last-await-in-expression", "const f = async () => ({ rows: [1, 2] });\n(await f()).rows.length", "2"),
    Shape("last-sequence", "let a = 1, b = 2;\na = 5, b = 6, a + b", "11"),
    Shape("last-new", "new Map([['a', 1]])", '{"a":1}'),
    Shape("last-negation", "const list = [];\n!list.length", "true"),
    Shape("last-json-text", "const out = { ok: true };\nJSON.stringify(out)", '"{\\"ok\\":true}"'),
    Shape("last-undefined-falls-to-null", "const m = new Map();\nm.get('x')", "null"),
    Shape("asi-between-lines", "let n = 1\nn++\nn", "2"),
    Shape("last-line-after-function", "const total = add(2, 3)\ntotal\nfunction add(a, b) { return a + b }", "5"),
    Shape("strict-directive", "'use strict';\nconst a = 4;\na * a", "16"),
    # The last statement is a block
    Shape("trailing-block", "{\n  const a = 2;\n  a * 21;\n}", "42"),
    Shape("trailing-if", "const n = 4;\nif (n % 2 === 0) {\n  'even';\n} else {\n  'odd';\n}", '"even"'),
    Shape("trailing-else-if", "const n = 0;\nif (n > 0) 'plus';\nelse if (n < 0) 'minus';\nelse 'zero';", '"zero"'),
    Shape("trailing-try", "try {\n  JSON.parse('{\"a\": 1}').a;\n} catch (error) {\n  'bad json';\n}", "1"),
    Shape("trailing-try-catch-used", "try {\n  JSON.parse('{');\n} catch (error) {\n  'bad json';\n}", '"bad json"'),
    Shape(
        "trailing-try-finally", "let open = true;\ntry {\n  const v = 5;\n  v + 1\n} finally {\n  open = false;\n}", "6"
    ),
    Shape(
        "trailing-nested",
        "const rows = [1];\ntry {\n  if (rows.length) {\n    rows[0] + 1;\n  } else {\n    null;\n  }\n} catch {\n  -1;\n}",
        "2",
    ),
    Shape(
        "try-with-await", "try {\n  const v = await Promise.resolve(3);\n  v * 2;\n} catch (e) {\n  e.message;\n}", "6"
    ),
    # Functions
    Shape("arrow-async", "async () => {\n  const a = await Promise.resolve(20);\n  return a + 22;\n}", "42"),
    Shape("arrow-sync", "() => {\n  return 'done';\n}", '"done"'),
    Shape("arrow-expression", "() => [1, 2].length", "2"),
    Shape("arrow-in-parentheses", "(async () => {\n  return 9;\n})", "9"),
    Shape("arrow-called", "(async () => {\n  return 9;\n})()", "9"),
    Shape("arrow-called-semicolon", "(async () => {\n  return 9;\n})();", "9"),
    Shape("function-expression-called", "(function () {\n  return 8;\n})();", "8"),
    Shape("async-function-expression", "(async function () {\n  return 8;\n})", "8"),
    Shape("return-function", "return () => 5", "5"),
    Shape("return-async-function", "const work = async () => ({ a: 1 });\nreturn work;", '{"a":1}'),
    Shape("main-not-called", "async function main() {\n  const v = await Promise.resolve(3);\n  return v + 1;\n}", "4"),
    Shape("main-called", "async function main() {\n  return 'ok';\n}\n\nmain();", '"ok"'),
    Shape("main-awaited", "async function main() {\n  return 'ok';\n}\n\nawait main();", '"ok"'),
    Shape("main-then-log", "async function main() {\n  return 'ok';\n}\nmain().then(console.log);", "null", "ok"),
    Shape(
        "main-catch",
        "async function main() {\n  return { status: 'ok' };\n}\nmain().catch(console.error);",
        '{"status":"ok"}',
    ),
    Shape("main-arrow", "const main = async () => {\n  return [1, 2];\n};", "[1,2]"),
    Shape("main-arrow-called", "const main = async () => {\n  return [1, 2];\n};\nmain();", "[1,2]"),
    Shape(
        "main-with-helpers",
        "function double(n) {\n  return n * 2;\n}\nfunction main() {\n  return double(21);\n}",
        "42",
    ),
    Shape(
        "run-not-called",
        "const LIMIT = 3;\nasync function run() {\n  return Array.from({ length: LIMIT }, (_, i) => i);\n}",
        "[0,1,2]",
    ),
    Shape(
        "only-function",
        "function solve() {\n  let n = 0;\n  for (let i = 1; i <= 10; i++) n += i;\n  return n;\n}",
        "55",
    ),
    Shape("only-function-expression", "const getAnswer = function () {\n  return 42;\n};", "42"),
    Shape("export-default-function", "export default async function () {\n  return 'exported';\n}", '"exported"'),
    Shape("export-default-named", "export default function main() {\n  return 'exported';\n}", '"exported"'),
    Shape("export-default-arrow", "export default async () => {\n  return 3;\n};", "3"),
    Shape("export-default-value", "const answer = { n: 1 };\nexport default answer;", '{"n":1}'),
    Shape("export-const", "export const x = 2;\nx * 21", "42"),
    Shape("export-async-function-main", "export async function main() {\n  return 1;\n}", "1"),
    Shape("void-main", "async function main() {\n  console.log('hi');\n}\nvoid main();", "null", "hi"),
    Shape("main-with-context", "async function main(context) {\n  return typeof context;\n}", '"object"'),
    # Printing
    Shape("print-only", "const sum = [1, 2, 3].reduce((a, b) => a + b);\nconsole.log(sum);", "null", "6"),
    Shape("print-label", "console.log('The answer is', 42);", "null", "The answer is 42"),
    Shape("print-many", "for (const n of [1, 2, 3]) {\n  console.log(`row ${n}`);\n}", "null", "row 3"),
    Shape("print-in-main", "function main() {\n  console.log('total', 12);\n}\nmain();", "null", "total 12"),
    Shape("print-object", "console.log({ a: 1, b: [1, 2] });", "null", "{ a: 1, b: [ 1, 2 ] }"),
    Shape("print-table", "console.table([{ a: 1 }, { a: 2 }]);", "null", "a"),
    Shape("print-json", "console.log(JSON.stringify({ ok: true }, null, 2));", "null", '"ok": true'),
    Shape("print-and-value", "console.log('working');\n42", "42"),
    Shape("nothing-at-all", "const a = 1;", "null", "return"),
    # Fences
    Shape("fence-js", "```js\nreturn 5;\n```", "5"),
    Shape("fence-ts", "```typescript\nconst n: number = 4;\nn * 2\n```", "8"),
    Shape("fence-bare", "```\nconst a = 1;\na\n```\n", "1"),
    Shape("fence-inside-string", "const md = '```js\\ncode\\n```';\nmd.length", "14"),
    # TypeScript
    Shape(
        "ts-last",
        "const xs: number[] = [1, 2, 3];\nconst sum: number = xs.reduce((a: number, b: number) => a + b, 0);\nsum",
        "6",
    ),
    Shape(
        "ts-interface",
        "interface Row { id: number; name: string }\nconst rows: Row[] = [{ id: 1, name: 'a' }];\nrows.map((r: Row) => r.name)",
        '["a"]',
    ),
    Shape("ts-generic", "function first<T>(xs: T[]): T | undefined {\n  return xs[0];\n}\nfirst<number>([7, 8])", "7"),
    Shape("ts-enum", "enum Color { Red = 'red', Blue = 'blue' }\nColor.Blue", '"blue"'),
    Shape("ts-as", "const data = { n: 5 } as { n: number };\ndata.n as number", "5"),
    Shape("ts-main", "async function main(): Promise<{ ok: boolean }> {\n  return { ok: true };\n}", '{"ok":true}'),
    Shape("ts-arrow", "async (): Promise<number> => {\n  const n: number = 2;\n  return n;\n}", "2"),
    Shape("ts-if", "const n: number = 3;\nif (n > 2) {\n  `more than two: ${n}` as string;\n}", '"more than two: 3"'),
    Shape("ts-satisfies", "const c = { a: 1 } satisfies Record<string, number>;\nc.a", "1"),
    Shape("ts-non-null", "const m = new Map<string, number>([['k', 3]]);\nm.get('k')!", "3"),
    Shape(
        "ts-class",
        "class Counter {\n  private n = 0;\n  add(k: number): this { this.n += k; return this; }\n  get value(): number { return this.n; }\n}\nnew Counter().add(2).add(3).value",
        "5",
    ),
    Shape("ts-type-last", "type Id = string;\nconst id: Id = 'x1';\nid\ntype Other = number;", '"x1"'),
    # Written for Deno's own command line
    Shape("deno-main", "async function main() {\n  return 5;\n}\nif (import.meta.main) {\n  main();\n}", "5"),
    Shape(
        "deno-main-printed", "function main() { return 5 }\nif (import.meta.main) { console.log(main()) }", "null", "5"
    ),
    Shape("deno-main-in-a-text", "const text = 'import.meta.main';\ntext", '"import.meta.main"'),
    Shape("first-line-names-a-program", "#!/usr/bin/env -S deno run\nconst n = 4;\nn * n", "16"),
    Shape("a-name-like-eval", "function main() {\n  const evaluate = (n) => n + 1;\n  return evaluate(1);\n}", "2"),
)
