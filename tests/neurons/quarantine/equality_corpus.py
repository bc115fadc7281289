"""Recorded scripts of twelve habits, with functions that do the same and functions that do not. Data only.

The last four were written with the others, and not looked at while the comparison was being made: `is_held_out`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neurons.contracts.ports import Recording, ToolExchange
from tests.neurons.candidates import AT, exchange

NUMBER, TEXT, LIST = {"type": "number"}, {"type": "string"}, {"type": "array"}


@dataclass(frozen=True)
class Habitual:
    name: str
    runs: tuple[Recording, ...]
    parameters: dict[str, Any]
    right: dict[str, str]
    wrong: dict[str, str]
    hosts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    is_held_out: bool = False


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def run(code: str, context: Any = None, *, at: float = AT, exchanges: Any = (), calls: Any = ()) -> Recording:
    return Recording("f" * 64, at, {} if context is None else context, tuple(exchanges), tuple(calls), code)


def interest(p: float, r: float, n: int) -> str:
    return f"""const principal = {p}; const rate = {r}; const years = {n};
let total = principal;
for (let i = 0; i < years; i++) total = total * (1 + rate);
return Math.round(total * 100) / 100;"""


INTEREST = Habitual(
    "compound interest, from literals",
    tuple(run(interest(*each)) for each in ((1000, 0.05, 10), (2500, 0.031, 7), (400, 0.1, 3))),
    schema(principal=NUMBER, rate=NUMBER, years={"type": "integer"}),
    {
        "power": "const { principal, rate, years } = args;\nreturn Math.round(principal * Math.max(0, 1) * (years > 0 ? "
        "(1 + rate) ** years : 1) * 100) / 100;",
        "reduce": "const grown = Array.from({ length: Math.max(0, args.years) }).reduce((sum) => sum * (1 + args.rate), "
        "args.principal);\nreturn Math.round(grown * 100) / 100;",
        "helper": "const cents = (x) => Math.round(x * 100) / 100;\nlet left = args.years, sum = args.principal;\n"
        "while (left-- > 0) sum += sum * args.rate;\nreturn cents(sum);",
    },
    {
        "off by one": "let total = args.principal;\nfor (let i = 0; i <= args.years; i++) total *= 1 + args.rate;\n"
        "return Math.round(total * 100) / 100;",
        "simple interest": "return Math.round((args.principal + args.principal * args.rate * args.years) * 100) / 100;",
        "rounding": "let total = args.principal;\nfor (let i = 0; i < args.years; i++) total *= 1 + args.rate;\n"
        "return Math.floor(total * 100) / 100;",
    },
)

ORDERS = [
    {"id": "a1", "qty": 3, "price": 12.5, "status": "open", "day": "2026-03-02"},
    {"id": "b2", "qty": 1, "price": 80, "status": "closed", "day": "2026-03-05"},
    {"id": "c3", "qty": 7, "price": 4.2, "status": "open", "day": "2026-02-11"},
    {"id": "d4", "qty": 2, "price": 19.99, "status": "open", "day": "2026-03-09"},
]
OPEN_TOTAL = """const open = context.orders.filter((o) => o.status === "open" && o.qty > context.atLeast);
const sum = open.reduce((total, o) => total + o.qty * o.price, 0);
return { count: open.length, total: Math.round(sum * 100) / 100 };"""
TOTALS = Habitual(
    "open orders, from the context",
    (
        run(OPEN_TOTAL, {"orders": ORDERS, "atLeast": 1}),
        run(OPEN_TOTAL, {"orders": ORDERS[:2], "atLeast": 0}),
        run(OPEN_TOTAL, {"orders": ORDERS[1:], "atLeast": 2}),
    ),
    schema(orders=LIST, atLeast=NUMBER),
    {
        "loop": "let count = 0, sum = 0;\nfor (const o of args.orders) {\n  if (o.status !== 'open') continue;\n"
        "  if (!(o.qty > args.atLeast)) continue;\n  count += 1;\n  sum += o.price * o.qty;\n}\n"
        "return { total: Math.round(sum * 100) / 100, count };",
        "steps": "const wanted = args.orders.filter((o) => o.status === 'open').filter(({ qty }) => qty > args.atLeast);\n"
        "const total = wanted.map(({ qty, price }) => qty * price).reduce((a, b) => a + b, 0);\n"
        "return { count: wanted.length, total: Math.round(total * 100) / 100 };",
        "helper": "const isWanted = (o) => o.status === 'open' && args.atLeast < o.qty;\nlet sum = 0, n = 0;\n"
        "args.orders.forEach((o) => { if (isWanted(o)) { n++; sum += o.qty * o.price; } });\n"
        "return { count: n, total: Math.round(100 * sum) / 100 };",
    },
    {
        "dropped filter": "const open = args.orders.filter((o) => o.qty > args.atLeast);\n"
        "const sum = open.reduce((t, o) => t + o.qty * o.price, 0);\n"
        "return { count: open.length, total: Math.round(sum * 100) / 100 };",
        "boundary": "const open = args.orders.filter((o) => o.status === 'open' && o.qty >= args.atLeast);\n"
        "const sum = open.reduce((t, o) => t + o.qty * o.price, 0);\n"
        "return { count: open.length, total: Math.round(sum * 100) / 100 };",
        "swapped fields": "const open = args.orders.filter((o) => o.status === 'open' && o.qty > args.atLeast);\n"
        "const sum = open.reduce((t, o) => t + o.qty * o.price, 0);\n"
        "return { total: open.length, count: Math.round(sum * 100) / 100 };",
    },
)

NEWEST = """const rows = await tools.shop.orders({ customer: context.customer });
const sorted = rows.slice().sort((a, b) => b.day < a.day ? -1 : b.day > a.day ? 1 : 0);
return sorted.slice(0, 2).map((row) => row.id);"""


def shop(customer: str, rows: Any) -> tuple[ToolExchange, ...]:
    return (ToolExchange("shop.orders", {"customer": customer}, rows),)


LATEST = Habitual(
    "the newest two, from a tool",
    (
        run(NEWEST, {"customer": "acme"}, calls=shop("acme", ORDERS)),
        run(NEWEST, {"customer": "globex"}, calls=shop("globex", ORDERS[1:])),
        run(NEWEST, {"customer": "umbrella"}, calls=shop("umbrella", ORDERS[:3])),
    ),
    schema(customer=TEXT),
    {
        "to sorted": "const all = await tools.shop.orders({ customer: args.customer });\n"
        "return all.toSorted((a, b) => a.day === b.day ? 0 : a.day > b.day ? -1 : 1).slice(0, 2).map(({ id }) => id);",
        "then": "return tools.shop.orders({ customer: args.customer }).then((rows) => {\n  const copy = [...rows];\n"
        "  copy.sort((x, y) => x.day < y.day ? 1 : x.day > y.day ? -1 : 0);\n  const ids = [];\n"
        "  for (const row of copy) { if (ids.length === 2) break; ids.push(row.id); }\n  return ids;\n});",
        "selection": "const rows = await tools.shop.orders({ customer: args.customer });\nconst left = [...rows], ids = [];\n"
        "while (left.length && ids.length < 2) {\n  let best = 0;\n  for (let i = 1; i < left.length; i++) "
        "if (left[i].day > left[best].day) best = i;\n  ids.push(left.splice(best, 1)[0].id);\n}\nreturn ids;",
    },
    {
        "sort direction": "const rows = await tools.shop.orders({ customer: args.customer });\n"
        "return rows.slice().sort((a, b) => a.day < b.day ? -1 : a.day > b.day ? 1 : 0).slice(0, 2).map((r) => r.id);",
        "one more": "const rows = await tools.shop.orders({ customer: args.customer });\n"
        "return rows.slice().sort((a, b) => b.day < a.day ? -1 : b.day > a.day ? 1 : 0).slice(0, 3).map((r) => r.id);",
        "not sorted": "const rows = await tools.shop.orders({ customer: args.customer });\n"
        "return rows.slice(-2).reverse().map((r) => r.id);",
    },
    tools=("shop.orders",),
)


def price_of(coin: str) -> str:
    return f"""const res = await fetch("https://api.prices.example/v1/simple?coin={coin}&vs=eur");
if (!res.ok) throw new Error("no price");
const body = await res.json();
return {{ eur: body.price, up: body.price > body.open }};"""


def price(coin: str, now: float, before: float) -> Recording:
    url = f"https://api.prices.example/v1/simple?coin={coin}&vs=eur"
    return run(price_of(coin), exchanges=[exchange(url, b'{"price": %a, "open": %a}' % (now, before))])


PRICES = Habitual(
    "a price, from an address with a literal in it",
    (price("btc", 91000, 90000), price("eth", 3100.5, 3200), price("sol", 140, 140)),
    schema(coin=TEXT),
    {
        "template": "const answer = await fetch(`https://api.prices.example/v1/simple?coin=${args.coin}&vs=eur`);\n"
        "if (answer.status < 200 || answer.status > 299) throw new Error('no price for ' + args.coin);\n"
        "const { price, open } = await answer.json();\nreturn { up: open < price, eur: price };",
        "parameters": "const query = new URLSearchParams({ vs: 'eur', coin: args.coin });\n"
        "const r = await fetch('https://api.prices.example/v1/simple?' + query);\nif (r.ok) {\n"
        "  const b = await r.json();\n  return { eur: b.price, up: b.price > b.open };\n}\nthrow new Error('failed');",
        "then": "return fetch('https://api.prices.example/v1/simple?coin=' + encodeURIComponent(args.coin) + '&vs=eur')\n"
        "  .then((r) => { if (!r.ok) throw new Error('status ' + r.status); return r.json(); })\n"
        "  .then((b) => ({ eur: b.price, up: b.price > b.open }));",
    },
    {
        "missing error case": "const r = await fetch(`https://api.prices.example/v1/simple?coin=${args.coin}&vs=eur`);\n"
        "const b = await r.json();\nreturn { eur: b.price, up: b.price > b.open };",
        "other currency": "const r = await fetch(`https://api.prices.example/v1/simple?coin=${args.coin}&vs=usd`);\n"
        "if (!r.ok) throw new Error('no price');\nconst b = await r.json();\n"
        "return { eur: b.price, up: b.price > b.open };",
        "boundary": "const r = await fetch(`https://api.prices.example/v1/simple?coin=${args.coin}&vs=eur`);\n"
        "if (!r.ok) throw new Error('no price');\nconst b = await r.json();\n"
        "return { eur: b.price, up: b.price >= b.open };",
    },
    hosts=("api.prices.example",),
)

STOCK = """const items = await tools.shop.stock({});
const low = items.filter((item) => item.left < 5).map((item) => item.name);
if (low.length > 0) await tools.mail.send({ to: "buyer@shop.example", text: `Low: ${low.join(", ")}` });
return low.length;"""
ITEMS = [{"name": "nuts", "left": 3}, {"name": "bolts", "left": 40}, {"name": "washers", "left": 4}]


def stock(items: Any) -> Recording:
    names = ", ".join(item["name"] for item in items if item["left"] < 5)
    calls = [ToolExchange("shop.stock", {}, items)]
    if names:
        calls.append(ToolExchange("mail.send", {"to": "buyer@shop.example", "text": f"Low: {names}"}, {"sent": True}))
    return run(STOCK, calls=calls)


LOW = Habitual(
    "a mail about low stock: the calls count",
    (stock(ITEMS), stock(ITEMS[:2]), stock([{"name": "pins", "left": 9}])),
    {"type": "object", "properties": {}, "additionalProperties": False},
    {
        "loop": "const names = [];\nfor (const { name, left } of await tools.shop.stock({})) if (left < 5) names.push(name);\n"
        "if (names.length) await tools.mail.send({ text: 'Low: ' + names.join(', '), to: 'buyer@shop.example' });\n"
        "return names.length;",
        "early": "const low = (await tools.shop.stock({})).filter((i) => i.left < 5);\nif (low.length === 0) return 0;\n"
        "await tools.mail.send({ to: 'buyer@shop.example', text: `Low: ${low.map((i) => i.name).join(', ')}` });\n"
        "return low.length;",
        "reduce": "const items = await tools.shop.stock({});\n"
        "const low = items.reduce((all, { left, name }) => left < 5 ? [...all, name] : all, []);\n"
        "const text = `Low: ${low.join(', ')}`;\nif (low.length >= 1) await tools.mail.send({ to: 'buyer@shop.example', text });\n"
        "return low.length;",
    },
    {
        "other recipient": "const low = (await tools.shop.stock({})).filter((i) => i.left < 5).map((i) => i.name);\n"
        "if (low.length) await tools.mail.send({ to: 'seller@shop.example', text: `Low: ${low.join(', ')}` });\n"
        "return low.length;",
        "sends nothing": "return (await tools.shop.stock({})).filter((i) => i.left < 5).length;",
        "boundary": "const low = (await tools.shop.stock({})).filter((i) => i.left <= 5).map((i) => i.name);\n"
        "if (low.length) await tools.mail.send({ to: 'buyer@shop.example', text: `Low: ${low.join(', ')}` });\n"
        "return low.length;",
    },
    tools=("shop.stock", "mail.send"),
)

MEAN = """const xs = context.readings.map((r) => r.celsius);
if (xs.length === 0) return { mean: null, spread: 0 };
const mean = xs.reduce((a, b) => a + b, 0) / xs.length;
return { mean: Number(mean.toFixed(1)), spread: Math.max(...xs) - Math.min(...xs) };"""
READINGS = [{"celsius": 21.4, "at": "08:00"}, {"celsius": 23.9, "at": "12:00"}, {"celsius": 19.25, "at": "18:00"}]
CLIMATE = Habitual(
    "a mean, from the context",
    (run(MEAN, {"readings": READINGS}), run(MEAN, {"readings": READINGS[:2]}), run(MEAN, {"readings": READINGS[1:]})),
    schema(readings=LIST),
    {
        "loop": "if (!args.readings.length) return { mean: null, spread: 0 };\nlet sum = 0, low = Infinity, high = -Infinity;\n"
        "for (const { celsius } of args.readings) {\n  sum += celsius;\n  if (celsius < low) low = celsius;\n"
        "  if (celsius > high) high = celsius;\n}\n"
        "return { mean: Number((sum / args.readings.length).toFixed(1)), spread: high - low };",
        "sorted": "const xs = args.readings.map(({ celsius }) => celsius).sort((a, b) => a - b);\n"
        "if (xs.length === 0) return { spread: 0, mean: null };\nlet sum = 0;\nfor (const x of xs) sum += x;\n"
        "return { spread: xs[xs.length - 1] - xs[0], mean: +(sum / xs.length).toFixed(1) };",
        "helper": "const meanOf = (xs) => xs.reduce((a, b) => a + b, 0) / xs.length;\n"
        "const xs = args.readings.map((r) => r.celsius);\n"
        "return xs.length ? { mean: parseFloat(meanOf(xs).toFixed(1)), spread: Math.max(...xs) - Math.min(...xs) }\n"
        "  : { mean: null, spread: 0 };",
    },
    {
        "wrong unit": "const xs = args.readings.map((r) => r.celsius * 9 / 5 + 32);\n"
        "if (xs.length === 0) return { mean: null, spread: 0 };\nconst mean = xs.reduce((a, b) => a + b, 0) / xs.length;\n"
        "return { mean: Number(mean.toFixed(1)), spread: Math.max(...xs) - Math.min(...xs) };",
        "missing case": "const xs = args.readings.map((r) => r.celsius);\n"
        "const mean = xs.reduce((a, b) => a + b, 0) / Math.max(1, xs.length);\n"
        "return { mean: Number(mean.toFixed(1)), spread: Math.max(...xs) - Math.min(...xs) };",
        "median": "const xs = args.readings.map((r) => r.celsius).sort((a, b) => a - b);\n"
        "if (xs.length === 0) return { mean: null, spread: 0 };\nconst mean = xs[xs.length >> 1];\n"
        "return { mean: Number(mean.toFixed(1)), spread: xs.at(-1) - xs[0] };",
    },
)

GROUPED = """const by = {};
for (const order of context.orders) {
  const month = order.day.slice(0, 7);
  by[month] = (by[month] ?? 0) + order.qty;
}
return Object.entries(by).map(([month, qty]) => ({ month, qty })).sort((a, b) => a.month < b.month ? -1 : 1);"""
MONTHS = Habitual(
    "sums by month, from the context",
    (run(GROUPED, {"orders": ORDERS}), run(GROUPED, {"orders": ORDERS[1:]}), run(GROUPED, {"orders": ORDERS[:3]})),
    schema(orders=LIST),
    {
        "map": "const by = new Map();\nargs.orders.forEach(({ day, qty }) => {\n  const m = day.slice(0, 7);\n"
        "  by.set(m, (by.get(m) ?? 0) + qty);\n});\n"
        "return [...by.keys()].sort().map((month) => ({ month, qty: by.get(month) }));",
        "group by": "const groups = Object.groupBy(args.orders, (o) => o.day.substring(0, 7));\n"
        "return Object.keys(groups).sort().map((month) => ({ qty: groups[month].reduce((s, o) => s + o.qty, 0), month }));",
        "filter": "const months = [...new Set(args.orders.map((o) => o.day.slice(0, 7)))].sort();\n"
        "return months.map((month) => ({ month, qty: args.orders.filter((o) => o.day.slice(0, 7) === month)\n"
        "  .reduce((sum, o) => sum + o.qty, 0) }));",
    },
    {
        "counts": "const by = {};\nfor (const o of args.orders) by[o.day.slice(0, 7)] = (by[o.day.slice(0, 7)] ?? 0) + 1;\n"
        "return Object.entries(by).map(([month, qty]) => ({ month, qty })).sort((a, b) => a.month < b.month ? -1 : 1);",
        "last wins": "const by = {};\nfor (const o of args.orders) by[o.day.slice(0, 7)] = o.qty;\n"
        "return Object.entries(by).map(([month, qty]) => ({ month, qty })).sort((a, b) => a.month < b.month ? -1 : 1);",
        "by year": "const by = {};\nfor (const o of args.orders) by[o.day.slice(0, 4)] = (by[o.day.slice(0, 4)] ?? 0) + o.qty;\n"
        "return Object.entries(by).map(([month, qty]) => ({ month, qty })).sort((a, b) => a.month < b.month ? -1 : 1);",
    },
)

# Held out from here.

OVERDUE = """const now = Date.now();
const late = context.tasks.filter((t) => !t.done && Date.parse(t.due) < now);
return late.map((t) => ({ title: t.title, days: Math.floor((now - Date.parse(t.due)) / 86400000) }));"""
TASKS = [
    {"title": "taxes", "due": "2027-01-02", "done": False},
    {"title": "dentist", "due": "2027-01-20", "done": False},
    {"title": "roof", "due": "2026-12-24", "done": True},
    {"title": "bike", "due": "2026-11-30", "done": False},
]
LATE = Habitual(
    "overdue tasks, by the clock",
    (run(OVERDUE, {"tasks": TASKS}), run(OVERDUE, {"tasks": TASKS[1:]}), run(OVERDUE, {"tasks": TASKS[:3]})),
    schema(tasks=LIST),
    {
        "loop": "const out = [];\nfor (const { title, due, done } of args.tasks) {\n  if (done) continue;\n"
        "  const age = Date.now() - new Date(due).getTime();\n"
        "  if (age > 0) out.push({ title, days: Math.floor(age / 1000 / 60 / 60 / 24) });\n}\nreturn out;",
        "constants": "const DAY = 24 * 60 * 60 * 1000, today = new Date().getTime();\n"
        "return args.tasks.filter((t) => t.done === false || !t.done).filter((t) => Date.parse(t.due) < today)\n"
        "  .map(({ title, due }) => ({ title, days: Math.floor((today - Date.parse(due)) / DAY) }));",
        "flat map": "const now = Date.now();\nreturn args.tasks.flatMap((t) => !t.done && Date.parse(t.due) < now\n"
        "  ? [{ days: Math.floor((now - Date.parse(t.due)) / 86_400_000), title: t.title }] : []);",
    },
    {
        "rounds up": "const now = Date.now();\nreturn args.tasks.filter((t) => !t.done && Date.parse(t.due) < now)\n"
        "  .map((t) => ({ title: t.title, days: Math.ceil((now - Date.parse(t.due)) / 86400000) }));",
        "done too": "const now = Date.now();\nreturn args.tasks.filter((t) => Date.parse(t.due) < now)\n"
        "  .map((t) => ({ title: t.title, days: Math.floor((now - Date.parse(t.due)) / 86400000) }));",
        "hours": "const now = Date.now();\nreturn args.tasks.filter((t) => !t.done && Date.parse(t.due) < now)\n"
        "  .map((t) => ({ title: t.title, days: Math.floor((now - Date.parse(t.due)) / 3600000) }));",
    },
    is_held_out=True,
)

PARSED = """const lines = context.text.split("\\n").filter((l) => l.trim() !== "");
const [head, ...rows] = lines.map((l) => l.split(",").map((c) => c.trim()));
const at = head.indexOf(context.column);
if (at < 0) throw new Error("no such column");
return [...new Set(rows.map((r) => r[at]).filter(Boolean))];"""
TABLE = "name, city, age\nAda, London, 36\n\nGrace, New York, 85\nLinus, Helsinki, 54\nAlan, London, 41\n"
COLUMN = Habitual(
    "a column of a table in text",
    (
        run(PARSED, {"text": TABLE, "column": "city"}),
        run(PARSED, {"text": TABLE, "column": "name"}),
        run(PARSED, {"text": "a,b\n1,2\n1,3", "column": "a"}),
    ),
    schema(text=TEXT, column=TEXT),
    {
        "loop": "const rows = [];\nfor (const line of args.text.split('\\n')) if (line.trim()) rows.push(line.split(',').map((s) => s.trim()));\n"
        "const place = rows[0].findIndex((name) => name === args.column);\n"
        "if (place === -1) throw new Error('unknown column ' + args.column);\nconst seen = [];\n"
        "for (const row of rows.slice(1)) if (row[place] && !seen.includes(row[place])) seen.push(row[place]);\nreturn seen;",
        "objects": "const [first, ...rest] = args.text.split('\\n').filter((l) => l.trim().length);\n"
        "const names = first.split(',').map((n) => n.trim());\nif (!names.includes(args.column)) throw new Error('missing');\n"
        "const at = names.indexOf(args.column);\nconst found = rest.map((l) => l.split(',')[at]?.trim());\n"
        "return Array.from(new Set(found.filter((v) => v)));",
        "shift": "const lines = args.text.split('\\n').filter((l) => l.trim() !== '');\n"
        "const cells = (line) => line.split(',').map((c) => c.trim());\nconst at = cells(lines.shift()).indexOf(args.column);\n"
        "if (at < 0) throw new Error('no such column');\nconst set = new Set();\n"
        "lines.forEach((line) => { const v = cells(line)[at]; if (v) set.add(v); });\nreturn [...set];",
    },
    {
        "not unique": "const lines = args.text.split('\\n').filter((l) => l.trim() !== '');\n"
        "const [head, ...rows] = lines.map((l) => l.split(',').map((c) => c.trim()));\n"
        "const at = head.indexOf(args.column);\nif (at < 0) throw new Error('no such column');\n"
        "return rows.map((r) => r[at]).filter(Boolean);",
        "no error": "const lines = args.text.split('\\n').filter((l) => l.trim() !== '');\n"
        "const [head, ...rows] = lines.map((l) => l.split(',').map((c) => c.trim()));\n"
        "const at = Math.max(0, head.indexOf(args.column));\nreturn [...new Set(rows.map((r) => r[at]).filter(Boolean))];",
        "head too": "const lines = args.text.split('\\n').filter((l) => l.trim() !== '');\n"
        "const rows = lines.map((l) => l.split(',').map((c) => c.trim()));\n"
        "const at = rows[0].indexOf(args.column);\nif (at < 0) throw new Error('no such column');\n"
        "return [...new Set(rows.map((r) => r[at]).filter(Boolean))];",
    },
    is_held_out=True,
)


def issues_of(repo: str) -> str:
    return f"""const issues = await tools.github.list({{ owner: "acme", repo: "{repo}" }});
const stale = issues.filter((i) => i.labels.includes("bug") && i.comments < 2);
return {{ repo: "{repo}", stale: stale.length, oldest: stale.length ? stale[0].number : null }};"""


ISSUES = [
    {"number": 7, "labels": ["bug"], "comments": 1},
    {"number": 9, "labels": ["docs"], "comments": 0},
    {"number": 12, "labels": ["bug", "ui"], "comments": 5},
    {"number": 15, "labels": ["ui", "bug"], "comments": 0},
]


def listed(repo: str, issues: Any) -> Recording:
    return run(issues_of(repo), calls=[ToolExchange("github.list", {"owner": "acme", "repo": repo}, issues)])


STALE = Habitual(
    "stale issues, from a tool with a literal",
    (listed("web", ISSUES), listed("api", ISSUES[1:]), listed("docs", ISSUES[:2])),
    schema(repo=TEXT),
    {
        "some": "const { repo } = args;\nconst all = await tools.github.list({ repo, owner: 'acme' });\n"
        "const found = all.filter(({ labels, comments }) => comments < 2 && labels.some((l) => l === 'bug'));\n"
        "return { oldest: found[0]?.number ?? null, stale: found.length, repo };",
        "loop": "let stale = 0, oldest = null;\nfor (const issue of await tools.github.list({ owner: 'acme', repo: args.repo })) {\n"
        "  if (!issue.labels.includes('bug') || issue.comments >= 2) continue;\n  if (stale === 0) oldest = issue.number;\n"
        "  stale++;\n}\nreturn { repo: args.repo, stale, oldest };",
        "index": "const issues = await tools.github.list({ owner: 'acme', repo: args.repo });\n"
        "const isStale = (i) => i.labels.indexOf('bug') >= 0 && i.comments < 2;\nconst first = issues.find(isStale);\n"
        "return { repo: args.repo, stale: issues.filter(isStale).length, oldest: first ? first.number : null };",
    },
    {
        "last and not first": "const issues = await tools.github.list({ owner: 'acme', repo: args.repo });\n"
        "const stale = issues.filter((i) => i.labels.includes('bug') && i.comments < 2);\n"
        "return { repo: args.repo, stale: stale.length, oldest: stale.length ? stale.at(-1).number : null };",
        "boundary": "const issues = await tools.github.list({ owner: 'acme', repo: args.repo });\n"
        "const stale = issues.filter((i) => i.labels.includes('bug') && i.comments <= 2);\n"
        "return { repo: args.repo, stale: stale.length, oldest: stale.length ? stale[0].number : null };",
        "constant": "await tools.github.list({ owner: 'acme', repo: args.repo });\n"
        "return { repo: args.repo, stale: 2, oldest: 7 };",
    },
    tools=("github.list",),
    is_held_out=True,
)

ALL = (INTEREST, TOTALS, LATEST, PRICES, LOW, CLIMATE, MONTHS, LATE, COLUMN, STALE)
