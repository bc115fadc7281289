"""Strategies for texts and values that an attacker would choose: deep, wide, many equal ones, large integers, long
common prefixes, many escapes, lone surrogates. Each as large as an entry point accepts, or a little larger."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from sandbox import JsonLimits

DEEPEST = 180

SCALARS = st.sampled_from(
    [
        *("0", "-1", "null", "true", "1.5e-7", "5e-324", "1e308", "-0.0"),
        *(str(2**53 + 1), str(2**62 + 7), str(2**64 - 1), str(-(2**63)), str(2**61 - 1), "9" * 40, "9" * 999),
        *('""', '"a"', '"[],{}"', '"\\""', '"\\\\"', '"\\u0041"', '"\\ud83d\\ude00"', '"\\ud83d"', '"é"', '"\\u0000"'),
        *(f'"{"a" * 300}b"', '"2305843009213693951"', '"https://a.example/?token=aB3dE5fG7hI9"', '"ann@example.com"'),
    ]
)
KEYS = st.sampled_from(['"a"', '"b c"', '"aB"', '"a_b"', '"__proto__"', f'"{"k" * 200}"', '""', '"\\u0061"'])


def _objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    members = st.lists(st.tuples(KEYS, inner).map(":".join), max_size=3)
    return members.map(lambda found: "{" + ",".join(found) + "}")


def _arrays(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inner, max_size=3).map(lambda found: "[" + ",".join(found) + "]")


UNITS = st.recursive(SCALARS, lambda inner: _objects(inner) | _arrays(inner), max_leaves=5)


class Large(NamedTuple):
    """A JSON text, and how it was made: hypothesis prints the latter, and not the megabytes."""

    unit: str
    depth: int
    is_object: bool
    text: bytes

    def __repr__(self) -> str:
        kind = "object" if self.is_object else "array"
        return f"an {kind} of {len(self.text)} bytes, {self.depth} levels around each {self.unit[:60]}"


@st.composite
def json_texts(draw: Any, max_bytes: int, limits: JsonLimits | None = None) -> Large:
    """One unit repeated, some levels deep, until a limit is reached: of bytes, of containers, or of values."""
    unit = draw(UNITS)
    depth = draw(st.sampled_from([0, 0, 0, 1, 20, DEEPEST]))
    is_object = draw(st.booleans())
    beyond = draw(st.sampled_from([1.0, 1.0, 1.0, 1.2]))
    part = "[" * depth + unit + "]" * depth
    most = int(beyond * max_bytes) // (len(part.encode()) + (9 if is_object else 1))
    if limits is not None:
        # Not exact: brackets and commas inside strings count too, which makes a few texts smaller than they could be.
        containers, commas = part.count("[") + part.count("{"), part.count(",") + 1
        most = min(most, int(beyond * limits.containers) // max(1, containers), int(beyond * limits.values) // commas)
    count = max(1, most - 1)
    if is_object:
        text = "{" + ",".join(f'"k{n:05}":{part}' for n in range(count)) + "}"
    else:
        text = "[" + ",".join([part] * count) + "]"
    return Large(unit, depth, is_object, text.encode())


TEXT_UNITS = [
    *(
        "a",
        "é",
        "😀",
        "\ud83d",
        "\u0301",
        " ",
        "\n",
        "\t",
        "\x00",
        "\x1b[2J",
        "\\",
        '"',
        "\\u0041",
        "[",
        "{",
        ",",
        "(",
        "…",
    ),
    *(
        "1",
        "1.",
        "1.2.3.4 ",
        "4111111111111112 ",
        "2001:db8:: ",
        "+1 ",
        "DE89 3704 ",
        "AA11",
        "a@b.co ",
        "a@",
        "x@y.zz,",
    ),
    *(
        "password=",
        "token: ",
        "api_key=aB3",
        "secret is ",
        "--token ",
        "sk-",
        "xoxb-",
        "ghp_",
        "eyJ",
        "eyJa.eyJb.",
        "://a:b",
    ),
    *("-----BEGIN PRIVATE KEY-----", "bearer ", "ssn: ", "phone: ", "[EMAIL_1]", "\x1e", "tools.", "tools[", "import("),
    *("${", "//", "/*", "data: ", "<", "&amp;", "a" * 300, "aB3" * 20, "x-" * 30),
]


class LongText(NamedTuple):
    unit: str
    text: str

    def __repr__(self) -> str:
        return f"{len(self.text)} characters of {self.unit[:40]!r}"


@st.composite
def texts(draw: Any, max_characters: int) -> LongText:
    unit = "".join(draw(st.lists(st.sampled_from(TEXT_UNITS), min_size=1, max_size=3)))
    return LongText(unit, unit * (max_characters // len(unit)))


# Parts of untrusted schemas. "@" is replaced by another part.
_KEYWORDS = [
    *(
        '{"type":"string"}',
        '{"type":"integer","minimum":0.5}',
        '{"enum":["a","b",1,1.5,null,{"a":[1]}]}',
        '{"const":2.5}',
    ),
    *('{"type":"array","items":@}', '{"type":"array","uniqueItems":true,"items":@}', '{"contains":@}', '{"not":@}'),
    *('{"anyOf":[@,@]}', '{"oneOf":[@,@]}', '{"allOf":[@,@]}', '{"if":@,"then":@,"else":@}', '{"multipleOf":0.1}'),
    *(
        '{"type":"object","properties":{"a":@,"b c":@}}',
        '{"additionalProperties":@}',
        '{"propertyNames":@}',
        "{}",
        "true",
    ),
    *(
        '{"patternProperties":{"^a":@}}',
        '{"pattern":"(a|b)*c"}',
        '{"required":["a","b"]}',
        '{"minLength":1}',
        '{"$ref":"#"}',
    ),
    *(
        '{"type":"object","unevaluatedProperties":false,"allOf":[@]}',
        '{"dependentSchemas":{"a":@}}',
        '{"description":"é"}',
    ),
]


@st.composite
def schema_parts(draw: Any) -> str:
    text = draw(st.sampled_from(_KEYWORDS))
    for _ in range(draw(st.integers(0, 3))):
        text = text.replace("@", draw(st.sampled_from(_KEYWORDS)))
    return text.replace("@", "{}")


@st.composite
def schemas(draw: Any, max_bytes: int, max_containers: int) -> Large:
    """One part repeated: side by side, nested, or by reference."""
    part = draw(schema_parts())
    count = max(1, min(max_bytes // (len(part) + 12), max_containers // (part.count("{") + part.count("[") + 1)) - 4)
    match draw(st.sampled_from(["properties", "anyOf", "allOf", "items", "$defs", "prefixItems"])):
        case "properties":
            text = '{"type":"object","properties":{' + ",".join(f'"k{n:05}":{part}' for n in range(count)) + "}}"
        case "items":
            depth = min(count, 80)
            text = '{"items":' * depth + part + "}" * depth
        case "$defs":
            named = ",".join(f'"d{n}":{{"allOf":[{part},{{"$ref":"#/$defs/d{n + 1}"}}]}}' for n in range(count // 3))
            text = f'{{"$defs":{{{named}{"," if named else ""}"d{count // 3}":{part}}},"$ref":"#/$defs/d0"}}'
        case keyword:
            text = f'{{"{keyword}":[' + ",".join([part] * count) + "]}"
    return Large(part, 0, True, text.encode())
