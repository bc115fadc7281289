"""What the words of JavaScript stand for as traits: words that do the same, in other styles, are the same trait."""

from __future__ import annotations

# What nearly every script has says little. Everything else weighs DEFAULT_WEIGHT.
DEFAULT_WEIGHT = 5
WEIGHTS = {
    trait: weight
    for weight, traits in (
        # Another style of the same thing has others of these.
        (0, "length copy wait glue type_test fold count entries trim compare equal number_of text slice"),
        (1, "loop if collect + has join set"),
        (2, "- * / json_text round split regex replace match"),
        (3, "sort dict date floor extreme case"),
        (4, "take reverse date_Date"),
    )
    for trait in (word.replace("_", " ") for word in traits.split())
}
# What a script needs to reach for something at all.
GLUE = frozenset({"query", "json text", "glue", "type test"})

_LOOPS = {
    "map": "loop collect",
    "flatMap": "loop collect",
    "forEach": "loop",
    "filter": "loop if",
    "reduce": "loop fold",
    "reduceRight": "loop fold",
    "some": "loop if",
    "every": "loop if",
    "find": "loop if",
    "findLast": "loop if",
    "findIndex": "loop if",
    "findLastIndex": "loop if",
}
_COLLECTIONS = {
    "push": "collect",
    "unshift": "collect",
    "concat": "collect",
    "flat": "collect",
    "append": "query",
    "get": "dict",
    "set": "dict",
    "delete": "dict",
    "has": "has",
    "includes": "has",
    "indexOf": "has",
    "lastIndexOf": "has",
    "add": "set",
    "union": "set",
    "intersection": "set has",
    "difference": "set has",
    "keys": "entries",
    "values": "entries",
    "entries": "entries",
    "sort": "sort",
    "toSorted": "sort",
    "reverse": "reverse",
    "toReversed": "reverse",
    "slice": "slice",
    "splice": "slice",
    "toSpliced": "slice",
    "substring": "slice",
    "substr": "slice",
    "at": "",
    "length": "length",
    "size": "length",
    "pop": "take",
    "shift": "take",
    "fill": "collect",
    "charAt": "",
    "next": "",
}
_TEXTS = {
    "charCodeAt": "char code",
    "codePointAt": "char code",
    "split": "split",
    "join": "join",
    "padStart": "pad",
    "padEnd": "pad",
    "repeat": "repeat",
    "replace": "replace",
    "replaceAll": "replace",
    "match": "match",
    "matchAll": "match",
    "exec": "match",
    "test": "match",
    "search": "match",
    "index": "",
    "lastIndex": "",
    "groups": "",
    "startsWith": "starts",
    "endsWith": "starts",
    "toLowerCase": "case",
    "toLocaleLowerCase": "case",
    "toUpperCase": "case",
    "toLocaleUpperCase": "case",
    "trim": "trim",
    "trimEnd": "trim",
    "trimStart": "trim",
    "normalize": "normalize",
    "localeCompare": "compare texts",
    "compare": "compare texts",
    "toString": "",
    "valueOf": "",
    "toFixed": "round",
    "toPrecision": "round",
    "toLocaleString": "local text",
    "format": "local text",
    "formatToParts": "local text",
}
_DATE_NAMES = """
    getTime toISOString toJSON getTimezoneOffset toDateString toLocaleDateString toLocaleTimeString
"""
_DATES = dict.fromkeys(_DATE_NAMES.split(), "date") | {
    f"{verb}{utc}{part}": f"date {part}"
    for verb in ("get", "set")
    for utc in ("", "UTC")
    for part in ("Date", "Day", "FullYear", "Hours", "Minutes", "Month", "Seconds", "Milliseconds")
}
_WEB_NAMES = """
    json ok status statusText then catch finally headers body message stack searchParams href origin signal hostname
    pathname text
"""
_BYTES = "arrayBuffer blob encode decode"
_WEB = dict.fromkeys(_WEB_NAMES.split(), "glue") | dict.fromkeys(_BYTES.split(), "bytes") | {"digest": "digest"}

MEMBERS: dict[str, tuple[str, ...]] = {
    name: tuple(traits.split()) if traits in _LOOPS.values() or traits == "set has" else (traits,) if traits else ()
    for table in (_LOOPS, _COLLECTIONS, _TEXTS, _DATES, _WEB)
    for name, traits in table.items()
}
OF_GLOBALS: dict[str, tuple[str, ...]] = {
    "Math.floor": ("floor",),
    "Math.trunc": ("floor",),
    "Math.ceil": ("ceil",),
    "Math.round": ("round",),
    "Math.max": ("extreme",),
    "Math.min": ("extreme",),
    "Math.pow": ("**",),
    "Math.sqrt": ("root",),
    "Math.hypot": ("root", "**"),
    "Math.abs": ("abs",),
    "Number": ("number of",),
    "parseInt": ("number of",),
    "parseFloat": ("number of",),
    "Number.parseInt": ("number of",),
    "Number.parseFloat": ("number of",),
    "Number.isInteger": ("type test",),
    "Number.isFinite": ("type test",),
    "Number.isNaN": ("type test",),
    "isNaN": ("type test",),
    "isFinite": ("type test",),
    "Array.isArray": ("type test",),
    "String": (),
    "Boolean": (),
    "Array": ("collect",),
    "Array.from": ("collect",),
    "Array.of": ("collect",),
    "Object.entries": ("entries",),
    "Object.keys": ("entries",),
    "Object.values": ("entries",),
    "Object.fromEntries": ("dict",),
    "Object.assign": ("copy",),
    "Object.freeze": (),
    "Object.create": (),
    "Object.hasOwn": ("has",),
    "Object.groupBy": ("dict", "loop", "collect"),
    "Map.groupBy": ("dict", "loop", "collect"),
    "structuredClone": ("copy",),
    "JSON.stringify": ("json text",),
    "JSON.parse": ("json text",),
    "Promise.all": (),
    "Promise.allSettled": (),
    "Promise.resolve": (),
    "Infinity": (),
    "Number.POSITIVE_INFINITY": (),
    "Number.NEGATIVE_INFINITY": (),
    "Number.MAX_SAFE_INTEGER": (),
    "NaN": (),
    "String.fromCharCode": ("char code",),
    "String.fromCodePoint": ("char code",),
    "fetch": (),
    "encodeURIComponent": ("query",),
    "decodeURIComponent": ("query",),
    "encodeURI": ("query",),
    "Date.now": ("date",),
    "Date.parse": ("date",),
    "Date.UTC": ("date",),
    "new Date": ("date",),
    "new Map": ("dict",),
    "new WeakMap": ("dict",),
    "new Set": ("set",),
    "new Array": ("collect",),
    "new Error": (),
    "new TypeError": (),
    "new RangeError": (),
    "new URL": ("query",),
    "new URLSearchParams": ("query",),
    "new Headers": (),
    "new Request": (),
    "new RegExp": ("regex",),
    "new Promise": ("wait",),
    "new AbortController": (),
    "AbortSignal.timeout": (),
    "new Intl.NumberFormat": ("local text",),
    "new Intl.DateTimeFormat": ("local text",),
    "new Intl.Collator": (),
    "new TextEncoder": ("bytes",),
    "new TextDecoder": ("bytes",),
    "new Uint8Array": ("bytes",),
    "TextEncoder.encode": ("bytes",),
}

OPERATORS: dict[str, tuple[str, ...]] = {
    "op:+": ("+",),
    "op:-": ("-",),
    "op:*": ("*",),
    "op:/": ("/",),
    "op:%": ("%",),
    "op:**": ("**",),
    "op:|": ("bits",),
    "op:&": ("bits",),
    "op:^": ("bits",),
    "op:<<": ("bits",),
    "op:>>": ("floor",),
    "op:>>>": ("floor",),
    "op:<": ("compare",),
    "op:>": ("compare",),
    "op:<=": ("compare",),
    "op:>=": ("compare",),
    "op:==": ("equal",),
    "op:!=": ("equal",),
    "op:??": ("if",),
    "op:&&": ("if",),
    "op:in": ("has",),
    "op:instanceof": ("type test",),
    "unary op:+": ("number of",),
    "unary op:~": ("floor",),
    "unary op:typeof": ("type test",),
}

# Words that authors use for anything.
_STOP_WORDS = """
    acc add all answer arr array back base body call callback cmp code const context copy cur curr current data each
    element else end entry err error fetch first fn for found from function get handle helper idx index input item
    iter json key last left len length let lines list load logic main make map max min name new next not now null
    num number obj object option out output param part parse pos prev process push rec res response result ret
    return row run second set size some start state step str string sum temp text that the then this tmp tool total
    type undefined use val value var via with without work await async count counter compute calculate
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
