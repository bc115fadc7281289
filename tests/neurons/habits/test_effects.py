"""What a script reaches for is read from its text however it is written, and compared as far as it is known."""

from __future__ import annotations

import pytest

from neurons.habits.effects import key_of, request, same_effects
from neurons.habits.fingerprint import fingerprint

BASE = "https://api.x.example/v1"
WRITTEN = {
    f'return fetch("{BASE}/price?id=btc")': "GET api.x.example/v1/price",
    f'const base = "{BASE}"; async function get(path) {{ return fetch(base + path) }} return get("/price")': (
        "GET api.x.example/v1/price"
    ),
    'const u = new URL("/v1/price", "https://api.x.example"); u.searchParams.set("id", "btc"); return fetch(u)': (
        "GET api.x.example/v1/price"
    ),
    f'const api = ({{ path, method }}) => fetch(`{BASE}${{path}}`, {{ method }}); return api({{ path: "/a", method: "PUT" }})': (
        "PUT api.x.example/v1/a"
    ),
    f'class A {{ constructor(b) {{ this.b = b }} get(p) {{ return fetch(this.b + p) }} }} return new A("{BASE}").get("/a")': (
        "GET api.x.example/v1/a"
    ),
    f'const r = new Request("{BASE}/a", {{ method: "DELETE" }}); return fetch(r)': "DELETE api.x.example/v1/a",
    f"return Promise.all(context.ids.map((id) => fetch(`{BASE}/users/${{id}}/notes`)))": (
        "GET api.x.example/v1/users/*/notes"
    ),
    f'return fetch("{BASE}/users/8412")': "GET api.x.example/v1/users/*",
    "return fetch(context.address)": "GET */*",
    "const { shop } = tools; return shop.orders({})": "tools.shop.orders",
    'return Deno.readTextFile("a.txt")': "read files",
}


@pytest.mark.parametrize(("code", "effect"), WRITTEN.items())
def test_an_effect_is_read_however_it_is_written(code: str, effect: str):
    found = fingerprint(code)
    assert found is not None
    assert found.sketch.effects == (effect,)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("GET a.example/p", "GET a.example/p", True),
        ("GET a.example/p", "GET a.example/q", False),
        ("GET a.example/p", "POST a.example/p", False),
        ("GET a.example/p", "GET b.example/p", False),
        ("GET a.example/users/*", "GET a.example/users/anna", True),
        ("GET a.example/users/anna/notes", "GET a.example/users/bob/notes", True),
        ("GET a.example/repos/acme/app", "GET a.example/repos/other/site", True),
        ("GET a.example/repos/acme/issues", "GET a.example/repos/acme/commits", False),
        ("GET */p", "GET a.example/p", True),
        ("GET a.example/*", "GET a.example/p/q", True),
        ("tools.a.b", "tools.a.c", False),
        ("tools.a.b", "read files", False),
    ],
)
def test_effects_are_the_same_as_far_as_they_are_known(one: str, other: str, same: bool):
    assert same_effects([one], [other]) is same
    assert same_effects([other], [one]) is same
    assert not same_effects([one], [one, "tools.z.z"])
    if same and key_of([one]) is not None and key_of([other]) is not None:
        assert key_of([one]) == key_of([other])


@pytest.mark.parametrize(
    "address", ["", "*", "//", "https://", "https://*", "https://[::1]/a", "a" * 10_000, "/" * 500]
)
def test_any_address_makes_a_short_effect(address: str):
    effect, _ = request("GET", address)
    assert effect.startswith("GET ")
    assert len(effect) <= 200
