"""A function is called for its author only where nothing else can call it: what it does must never happen twice."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox import DenoRuntime, ExecutionRequest, ToolDeclaration
from tests.conftest import small

pytestmark = pytest.mark.deno


class Mail:
    def __init__(self) -> None:
        self.sent = 0

    def declarations(self) -> list[ToolDeclaration]:
        return [ToolDeclaration("mail.send")]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        self.sent += 1
        return self.sent


MAIN = "async function main() { return await tools.mail.send({}) }\n"
ARROW = "const main = async () => await tools.mail.send({});\n"
# Keeps its promise where the program can wait for it.
LIST = "const jobs = [];\nfunction run() { jobs.push(tools.mail.send({})); return ['ann'] }\n"
WAIT = ";\nawait Promise.all(jobs);\n"

# Programs that call the function once by themselves.
ONCE = {
    "spread in a call": LIST + "Math.max(...run())" + WAIT + "jobs.length",
    "spread in an array": LIST + "const names = [...run()]" + WAIT,
    "spread in a set": LIST + "const names = new Set([...run()])" + WAIT + "names.size",
    "spread in an object": LIST + "const o = {...run()}" + WAIT,
    "an escaped name": MAIN + "await m\\u0061in();",
    "an escaped name with braces": MAIN + "const r = await m\\u{61}in();",
    "an escaped name in another function": ARROW + "async function other() { await ma\\u0069n() }\nawait other();",
    "in a template": MAIN + "const t = `${await main()}`;",
    "a tagged template": LIST + "const t = run`x`" + WAIT,
    "new": "const jobs = [];\nfunction run() { jobs.push(tools.mail.send({})) }\nconst o = new run()" + WAIT,
    "an optional call": MAIN + "const r = await main?.();",
    "by call": MAIN + "const r = await main.call(null);",
    "by apply": MAIN + "const r = await main.apply(null, []);",
    "by bind": MAIN + "const r = await main.bind(null)();",
    "by Reflect": MAIN + "const r = await Reflect.apply(main, null, []);",
    "a shorthand property": MAIN + "const api = { main };\nconst r = await api.main();",
    "a property": MAIN + "const api = { go: main };\nconst r = await api['go']();",
    "a default export": MAIN + "await main();\nexport default main;",
    "a default export before the call": MAIN + "export default main;\nawait main();",
    "a default export of a declaration": "export default " + MAIN + "await main();",
    "an export before the call": MAIN + "export { main };\nawait main();",
    "an export under another name": MAIN + "const r = await main();\nexport { main as go };",
    "an exported declaration": "export " + MAIN + "const r = await main();",
    "direct eval": MAIN + "const r = await eval('main()');",
    "indirect through a string": MAIN + "const name = 'ma' + 'in';\nconst r = await eval(`${name}()`);",
    "in a labelled block": MAIN + "go: { await main(); break go; }",
    "a decorator": "const jobs = [];\nfunction run() { jobs.push(tools.mail.send({})) }\n@run class A {}" + WAIT,
    "a getter": MAIN + "const o = { get r() { return main() } };\nconst r = await o.r;",
    "a static block": "const jobs = [];\n" + MAIN + "class A { static { jobs.push(main()) } }" + WAIT,
    "a static field": MAIN + "class A { static r = main() }\nconst r = await A.r;",
    "a default of a parameter": MAIN + "const f = async (x = main()) => await x;\nconst r = await f();",
    "a computed key": LIST + "const o = { [run()]: 1 }" + WAIT,
    "a generic call": "async function main<T>(): Promise<T> { return await tools.mail.send({}) as T }\nconst r = await main<number>();",
    "a non-null call": MAIN + "const r = await main!();",
    "a call of a cast": MAIN + "const r = await (main as () => Promise<number>)();",
    "a callback of a timer": MAIN + "await new Promise((done) => setTimeout(() => main().then(done), 1));",
    "handed to a timer": "let done;\nconst end = new Promise((d) => { done = d });\nasync function main() { await tools.mail.send({}); done() }\nsetTimeout(main);\nawait end;",
    "handed to map": MAIN + "const r = await Promise.all([main].map((f) => f()));",
    "handed to then": MAIN + "const r = await Promise.resolve().then(main);",
    "handed to queueMicrotask": LIST + "await new Promise((d) => { queueMicrotask(run); setTimeout(d, 1) })" + WAIT,
    "put on the global object": MAIN + "globalThis['main'] = main;\nconst r = await globalThis['main']();",
    "an alias": MAIN + "const go = main;\nconst r = await go();",
    "another name by destructuring": MAIN + "const [go] = [main];\nconst r = await go();",
    "in a condition": MAIN + "if (await main()) { const a = 1; }",
    "in a loop": MAIN + "for (const x of [await main()]) { const y = x; }",
    "in a comma": MAIN + "const r = (0, main)();\nawait r;",
    "in parentheses": MAIN + "const r = await (main)();",
    "a comment between": MAIN + "const r = await main /* main */ ();",
    "a line between": MAIN + "const r = await main\n();",
    "called, then named": MAIN + "await main();\nmain",
    "called, then named in parentheses": MAIN + "await main();\n(main);",
    "called, then chosen": MAIN + "await main();\ntrue ? main : null",
    "called, then in or": MAIN + "await main();\nnull ?? main",
    "called, then in a block": MAIN + "await main();\n{ main }",
    "an arrow that is called, then named": ARROW + "await main();\nmain;",
    "a method that is called, then named": "const api = { go: async () => await tools.mail.send({}) };\nawait api.go();\napi.go",
    "an alias that is named": MAIN + "const go = main;\nawait main();\ngo",
    "a variable that is called, then named": "let go;\ngo = async () => await tools.mail.send({});\nawait go();\ngo",
    "called, then a function of the same name is kept": MAIN + "await main();\nconst api = {};\napi.main = main;",
    "a handler that is set last": "let go;\nconst end = new Promise((d) => setTimeout(() => d(go()), 5));\nconst wait = async () => await end;\nwait();\ngo = () => tools.mail.send({});\nawait end;",
    "the only function, spread": "const jobs = [];\nfunction load() { jobs.push(tools.mail.send({})); return [1, 2] }\nconst rows = [...load()], done = await Promise.all(jobs);",
    "the only function, escaped": "async function load() { return await tools.mail.send({}) }\nconst rows = await lo\\u0061d();",
    "the only function, as a default": "async function load() { return await tools.mail.send({}) }\nconst { rows = await load() } = {};",
}  # fmt: skip

# Programs whose last statement is the call, with what they answer.
ANSWERED = {
    "a call": (MAIN + "main()", 1),
    "an awaited call": (MAIN + "await main();", 1),
    "in a try": (MAIN + "try { await main(); } catch (error) { console.error(error); }", 1),
    "in a try, not awaited": (MAIN + "try { main() } catch (error) { console.error(error) } finally { 0 }", 1),
    "caught": (MAIN + "main().catch(console.error);", 1),
    "caught by a function": (MAIN + "main().catch((error) => { console.error(error); Deno.exit(1); });", 1),
    "a chain": (MAIN + "main().then((n) => ({ n })).catch(console.error).finally(() => {});", {"n": 1}),
    "void": (MAIN + "void main();", 1),
    "called at once": ("(async function main() { return await tools.mail.send({}) })();", 1),
    "an arrow, called": (ARROW + "main?.()", 1),
    "by call at the end": (MAIN + "main.call(null)", 1),
    "spread at the end": (
        "async function run() { await tools.mail.send({}); return [3, 9, 4] }\nMath.max(...await run())",
        9,
    ),
    "a named default export": ("export default " + MAIN, 1),
    "a default export of a name": (MAIN + "export default main;", 1),
    "an export of a name": (MAIN + "export { main };", 1),
    "not called at all": (MAIN, 1),
    "named in a string only": (MAIN + "const text = 'main';", 1),
    "named in a comment only": (MAIN + "// main();", 1),
    "named as a property only": (MAIN + "const o = { main: 1 };\nconst n = o.main;", 1),
    "an escape in a string": (MAIN + "const text = '\\u0061';", 1),
    "an escape in a template and a pattern": (MAIN + "const a = `\\u{61}`, b = /\\u0061/u;", 1),
    "called by itself only": ("async function main(n = 0) { return n ? n : main(await tools.mail.send({})) }", 1),
    "named last": (ARROW + "main", 1),
    "called after a default export": (MAIN + "export default main;\nawait main();", 1),
    "called before a default export": (MAIN + "await main();\nexport default main;", 1),
}


async def sent_by(runtime: DenoRuntime, code: str) -> tuple[int, Any, Any]:
    mail = Mail()
    outcome = await runtime.execute(ExecutionRequest(code=code), mail)
    return mail.sent, outcome.result, outcome.error


async def test_what_a_program_calls_once_is_called_once():
    wrong = {}
    async with DenoRuntime(small()) as runtime:
        for name, code in ONCE.items():
            sent, _, error = await sent_by(runtime, code)
            if sent != 1 or error is not None:
                wrong[name] = (sent, error)
    assert wrong == {}


async def test_a_call_that_ends_a_program_gives_its_answer_and_is_made_once():
    wrong = {}
    async with DenoRuntime(small()) as runtime:
        for name, (code, answer) in ANSWERED.items():
            sent, result, error = await sent_by(runtime, code)
            if sent != 1 or result != answer:
                wrong[name] = (sent, result, error)
    assert wrong == {}
