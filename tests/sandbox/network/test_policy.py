"""Allow and deny decisions of the network policy, and what the owner can write in it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from sandbox.contracts.errors import ToolError
from sandbox.network import DenyRule, HostRule, NetworkPolicy, Recorder, Replay
from sandbox.network.urls import BadUrl, parse


def allows(policy: NetworkPolicy, url: str, method: str = "GET") -> bool:
    try:
        policy.rule_for(method, parse(url))
    except ToolError as error:
        return (error.code, error.retryable) != ("denied", False)
    return True


def policy(*allow: object, deny: object = ()) -> NetworkPolicy:
    return NetworkPolicy.model_validate({"allow": allow, "deny": deny})


def test_an_empty_allowlist_means_nothing():
    assert not allows(NetworkPolicy(), "https://example.com/")
    with pytest.raises(ToolError, match="No host is allowed"):
        NetworkPolicy().rule_for("GET", parse("https://example.com/"))


def test_an_exact_host_is_that_host_only():
    one = policy("example.com")
    assert allows(one, "https://example.com/")
    assert allows(one, "https://EXAMPLE.com./")
    assert not allows(one, "https://www.example.com/")
    assert not allows(one, "https://example.com.evil.com/")
    assert not allows(one, "https://evilexample.com/")


def test_a_star_is_every_name_below_and_not_the_name_itself():
    below = policy("*.example.com")
    assert allows(below, "https://a.example.com/")
    assert allows(below, "https://a.b.example.com/")
    assert not allows(below, "https://example.com/")
    assert not allows(below, "https://evilexample.com/")


def test_names_of_other_alphabets_are_compared_as_dns_does():
    assert allows(policy("bücher.example"), "https://xn--bcher-kva.example/")
    assert allows(policy("xn--bcher-kva.example"), "https://BÜCHER.example/")


def test_only_https_unless_the_entry_says_otherwise():
    assert not allows(policy("example.com"), "http://example.com/")
    assert allows(policy({"host": "example.com", "http": True}), "http://example.com/")
    assert allows(policy({"host": "example.com", "http": True}), "https://example.com/")


def test_ports_are_those_of_the_scheme_unless_the_entry_names_others():
    assert not allows(policy("example.com"), "https://example.com:8443/")
    assert not allows(policy({"host": "example.com", "http": True}), "http://example.com:443/")
    other = policy({"host": "example.com", "ports": [8443]})
    assert allows(other, "https://example.com:8443/")
    assert not allows(other, "https://example.com/")


def test_methods_can_be_named():
    reading = policy({"host": "example.com", "methods": ["get", "HEAD"]})
    assert allows(reading, "https://example.com/", "HEAD")
    assert not allows(reading, "https://example.com/", "POST")
    assert not allows(policy("example.com"), "https://example.com/", "PROPFIND")


def test_path_prefixes_hold_for_whole_segments():
    api = policy({"host": "example.com", "paths": ["/api", "/v1/a b/"]})
    assert allows(api, "https://example.com/api")
    assert allows(api, "https://example.com/api/x?y")
    assert allows(api, "https://example.com/v1/a%20b/c")
    assert allows(api, "https://example.com/api/group%2Fproject")
    assert not allows(api, "https://example.com/apix")
    assert not allows(api, "https://example.com/")
    assert not allows(api, "https://example.com/API")
    assert allows(policy({"host": "example.com", "paths": ["/"]}), "https://example.com/x")


TRAVERSALS = [
    "/api/../admin",
    "/api/%2e%2e/admin",
    "/api/.%2E/admin",
    "/api/..%2fadmin",
    "/api/..%5cadmin",
    "/api/%252e%252e/admin",
    "/api/%252e%252e%252fadmin",
    "/api/%25252e%25252e/admin",
    "/api/..;/admin",
    "/api/..;x=1/admin",
    "/api%2f../admin",
    "/api//..%2f..%2fadmin",
    "/api%00/../admin",
    "/x%2f..%2fapi/..%2fadmin",
    "//api/x",
    "/./api%2f..%2f..%2fadmin",
    "/%61pi%2f..%2fadmin",
    "/api%2fx",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_spelling_of_a_path_escapes_its_prefix(path):
    assert not allows(policy({"host": "example.com", "paths": ["/api"]}), f"https://example.com{path}")


@pytest.mark.parametrize(
    "path",
    [
        "/admin",
        "/admin/x",
        "/ADMIN",
        "/%61dmin",
        "/x/..%2fadmin",
        "/x%5c..%5cadmin",
        "//admin",
        "/a;b/../admin",
        "/%2561dmin",
        "/%252525252561",
    ],
)
def test_no_spelling_of_a_path_escapes_a_denial(path):
    assert not allows(
        policy("example.com", deny=[{"host": "example.com", "paths": ["/admin"]}]), f"https://example.com{path}"
    )


def test_deny_beats_allow():
    both = policy(
        "*.example.com", "example.com", deny=["secret.example.com", {"host": "*.example.com", "methods": ["DELETE"]}]
    )
    assert allows(both, "https://a.example.com/")
    assert not allows(both, "https://secret.example.com/")
    assert not allows(both, "https://a.example.com/", "DELETE")
    assert allows(both, "https://example.com/", "DELETE")
    assert not allows(policy("example.com", deny=["http://example.com/x"]), "https://example.com/x")
    ports = policy({"host": "example.com", "ports": [443, 8443]}, deny=["example.com:8443"])
    assert allows(ports, "https://example.com/")
    assert not allows(ports, "https://example.com:8443/")


def test_the_first_entry_that_fits_is_the_one_that_counts():
    two = policy({"host": "example.com", "paths": ["/a"], "headers": {"x": "1"}}, "example.com")
    assert two.rule_for("GET", parse("https://example.com/a")).headers == {"x": "1"}
    assert two.rule_for("GET", parse("https://example.com/b")).headers == {}


def test_a_denial_says_why_and_names_the_allowed_hosts():
    some = policy("example.com", {"host": "api.example.com", "methods": ["GET"], "paths": ["/v1"]})

    def why(url: str, method: str = "GET") -> str:
        with pytest.raises(ToolError) as caught:
            some.rule_for(method, parse(url))
        return str(caught.value)

    assert why("https://evil.com/x?secret") == (
        "Fetching GET https://evil.com is denied: the host is not in the allowlist of this run. "
        "Allowed hosts: example.com, api.example.com"
    )
    assert "only https is allowed there" in why("http://example.com/")
    assert "port 444 is not allowed there (allowed: 443)" in why("https://example.com:444/")
    assert "the method POST is not allowed there (allowed: GET)" in why("https://api.example.com/v1", "POST")
    assert "its path is not allowed there (allowed: /v1)" in why("https://api.example.com/v2")


def test_a_denial_names_some_of_many_hosts():
    many = policy(*(f"h{number}.example.com" for number in range(500)))
    with pytest.raises(ToolError, match=r"h11\.example\.com and 488 more") as caught:
        many.rule_for("GET", parse("https://evil.com/"))
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("api.example.com", {"host": "api.example.com"}),
        ("api.example.com:8443", {"host": "api.example.com", "ports": (8443,)}),
        ("*.example.com", {"host": "*.example.com"}),
        ("https://example.com/api", {"host": "example.com", "paths": ("/api",)}),
        ("http://example.com", {"host": "example.com", "http": True}),
        ("http://127.0.0.1:8000", {"host": "127.0.0.1", "ports": (8000,), "http": True, "private": True}),
        ("localhost:3000", {"host": "localhost", "ports": (3000,), "private": True}),
        ("[::1]:3000", {"host": "::1", "ports": (3000,), "private": True}),
        ("::1", {"host": "::1", "private": True}),
        ("8.8.8.8", {"host": "8.8.8.8"}),
    ],
)
def test_an_entry_can_be_a_plain_text(text, entry):
    assert HostRule.model_validate(text) == HostRule.model_validate(entry)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.",
        "*.*.example.com",
        "a.*.example.com",
        "ex ample.com",
        "ftp://example.com",
        "user@example.com",
        "example.com?x=1",
        "example.com:0",
        "*.127.0.0.1",
        "127.1",
        7,
        {},
        {"host": "*.1.2.3.4"},
        {"host": "exa mple.com"},
        {"host": "example.com", "unknown": 1},
        {"host": "example.com", "ports": []},
        {"host": "example.com", "ports": [0]},
        {"host": "example.com", "methods": []},
        {"host": "example.com", "methods": ["CONNECT"]},
        {"host": "example.com", "paths": []},
        {"host": "example.com", "paths": ["api"]},
        {"host": "example.com", "paths": ["/api?x"]},
        {"host": "example.com", "headers": {"host": "x"}},
        {"host": "example.com", "headers": {"Transfer-Encoding": "x"}},
        {"host": "example.com", "headers": {"a b": "x"}},
        {"host": "example.com", "headers": {"a": "x\r\ny: z"}},
        {"host": "example.com", "headers": {"a": "${env:}"}},
        {"host": "example.com", "headers": {"a": "${file:/etc/passwd}"}},
        {"host": "example.com", "query": {"a": "${secret:X"}},
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(entry):
    with pytest.raises(ValidationError):
        policy(entry)


def test_an_empty_list_never_means_everything():
    for field in ("ports", "methods", "paths"):
        for model in (HostRule, DenyRule):
            with pytest.raises(ValidationError):
                model.model_validate({"host": "example.com", field: []})


def test_recorder_and_replay_are_not_settings():
    given_both = NetworkPolicy(recorder=Recorder(), replay=Replay([]))
    assert not {"recorder", "replay"} & given_both.model_dump().keys()
    with pytest.raises(ValidationError):
        NetworkPolicy.model_validate({"replay": "file.json"})
    with pytest.raises(ValidationError):
        NetworkPolicy.model_validate({"unknown": 1})


labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True).filter(
    lambda label: not label.startswith("xn--") and not label.isdigit()
)


@given(st.lists(labels, min_size=1, max_size=4), st.lists(labels, min_size=2, max_size=3))
def test_a_star_matches_exactly_the_names_that_end_in_it(front, back):
    name = ".".join(back) + ".example"
    below = policy(f"*.{name}")
    assert allows(below, f"https://{'.'.join(front)}.{name}/")
    assert not allows(below, f"https://{''.join(front)}{name}/")
    assert not allows(below, f"https://{name}/")
    assert not allows(below, f"https://{name}.{'.'.join(front)}/") or name in ".".join(front)


noise = st.sampled_from(
    ["..", ".", "%2e", "%2E%2e", "%2f", "/", "\\", "%5c", ";", "%00", "x", "api", "admin", "%25", "2e", "2f", "//"]
)


@given(st.lists(noise, max_size=12).map("".join))
def test_whatever_the_path_a_prefix_holds_for_what_any_server_makes_of_it(tail):
    try:
        target = parse(f"https://example.com/{tail}")
    except BadUrl:
        return
    if not allows(policy({"host": "example.com", "paths": ["/api"]}), str(target)):
        return
    from urllib.parse import unquote

    path = target.path
    for _ in range(4):
        for reading in (path, path.replace("\\", "/"), path.split("\0")[0]):
            kept: list[str] = []
            for part in reading.split("/"):
                if part == "..":
                    kept = kept[:-1]
                elif part not in ("", "."):
                    kept.append(part)
            assert kept[:1] == ["api"]
        path = unquote(path)


def test_no_header_says_another_method_or_path_where_they_are_restricted():
    tricks = ("x-http-method", "x_http_method_override", "x-method-override", "x-original-url", "x_rewrite_url")
    headers = (*((name, "DELETE") for name in tricks), ("x-a", "1"))
    target = parse("https://example.com/")

    def passing(entry: object, deny: object = ()) -> list[str]:
        one = policy(entry, deny=deny)
        return [name for name, _ in one.passing(headers, one.allow[0], target)]

    assert passing({"host": "example.com", "methods": ["GET", "POST"]}) == ["x-a"]
    assert passing({"host": "example.com", "paths": ["/"]}) == ["x-a"]
    assert passing("example.com", deny=[{"host": "example.com", "methods": ["DELETE"]}]) == ["x-a"]
    assert passing("example.com", deny=[{"host": "example.com", "paths": ["/admin"]}]) == ["x-a"]
    assert passing("example.com", deny=[{"host": "other.com", "paths": ["/admin"]}, "else.com"]) == [*tricks, "x-a"]
