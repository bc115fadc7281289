"""What the tools and servers answer that the scripts of the corpus ask: enough that each script runs as it was meant to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from neurons import Recording, schema_of_value
from neurons.contracts.ports import ToolExchange
from neurons.quarantine.worlds import policy_for
from sandbox import (
    DenoRuntime,
    Exchange,
    ExecutionRequest,
    NetworkPolicy,
    Replay,
    ReplayedRun,
    Tier,
    ToolDeclaration,
)

DAY_S = 86_400
TODAY = datetime(2027, 1, 15, 8, tzinfo=UTC).timestamp()

RESULTS: dict[str, Any] = {
    "planner.create_event": {"id": "ev-1", "ok": True},
    "accounts.get_customer": {"id": "C-1", "name": "Ann", "email": "ann@example.com", "balance": 120.5},
    "mailer.send": {"id": "m-1", "ok": True},
    "shop.stock": [{"sku": "A1", "count": 2}, {"sku": "B2", "count": 40}, {"sku": "C3", "count": 0}],
    "vault.list_backups": {
        "backups": [
            {"id": "b1", "created": "2026-05-01T00:00:00Z"},
            {"id": "b2", "created": "2025-04-01T00:00:00Z"},
            {"id": "b3", "created": "2026-01-01T00:00:00Z"},
        ]
    },
    "vault.delete_backup": {"ok": True},
    "github.list_issues": [
        {"title": "It crashes", "labels": ["bug"], "number": 1},
        {"title": "Add a button", "labels": ["feature"], "number": 2},
        {"title": "It hangs", "labels": ["bug", "urgent"], "number": 3},
    ],
    "analytics.daily": [{"day": f"2026-01-0{n}", "visits": 10 * n} for n in range(1, 8)],
    "mail.search": [{"subject": "Hello", "id": 1}, {"subject": "Again", "id": 2}],
    "crm.find_contacts": [{"name": "Olga", "phone": "+43 1"}, {"name": "Olga P.", "phone": "+43 2"}],
    "jira.search": [{"key": "INFRA-1", "summary": "Disk full"}, {"key": "INFRA-2", "summary": "No light"}],
    "orders.get": {"number": "B-1", "status": "shipped", "eta": "2026-03-01"},
    "reminders.create": {"id": "r-1"},
}


PAGES: dict[str, tuple[int, Any]] = {
    "books.example.com": (200, {"docs": [{"title": "Ficciones"}, {"title": "El Aleph"}]}),
    "desk.acme.com": (201, {"id": 77}),
    "news.example.net": (201, {"ok": True}),
    "forge.example.dev": (200, {"license": {"spdx_id": "MIT", "key": "mit"}}),
    "translate.acme.com": (200, {"translatedText": "Do jutra"}),
    "shop.example.com": (200, {"orders": [{"id": 5}, {"id": 9}]}),
    "api.open-meteo.com": (200, {"current_weather": {"temperature": 7.5, "windspeed": 3}}),
    "ipapi.co": (200, {"country_name": "Austria", "ip": "192.0.2.44"}),
    "registry.npmjs.org": (200, {"name": "x", "version": "3.1.4"}),
    "parcel.example.com": (200, {"status": "on its way"}),
    "en.wikipedia.org": (200, {"extract": "A person.", "title": "x"}),
}


def page(url: str) -> tuple[int, Any]:
    """Status and body."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    match parts.hostname:
        case "billing.example.org":
            number = int(query.get("page", "1"))
            return 200, {"items": [{"id": number}, {"id": number + 10}], "has_more": number < 3}
        case "api.frankfurter.app":
            return 200, {"rates": {query.get("to", "USD"): 4.25}}
        case "api.coingecko.com":
            return 200, {query["ids"]: {query["vs_currencies"]: 161.5}}
        case host:
            return PAGES.get(host or "", (200, {"ok": True}))


class Tools:
    """Lends every tool of the corpus, and keeps what was asked."""

    def __init__(self) -> None:
        self.calls: list[ToolExchange] = []

    def declarations(self) -> Sequence[ToolDeclaration]:
        return [ToolDeclaration(name) for name in RESULTS]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append(ToolExchange(name, arguments, RESULTS[name]))
        return RESULTS[name]


class Servers(Replay):
    """Answers for every server of the corpus, and keeps what was asked."""

    def __init__(self) -> None:
        super().__init__(())
        self.exchanges: list[Exchange] = []

    def begin(self) -> ReplayedRun:
        return _Answers(self)


class _Answers(ReplayedRun):
    def __init__(self, servers: Servers) -> None:
        super().__init__(())
        self._servers = servers

    def answer(self, method: str, url: str, body_digest: str | None) -> Exchange:
        status, body = page(url)
        made = Exchange(
            method=method,
            url=url,
            request_body_sha256=body_digest,
            status=status,
            reason="OK",
            headers=(("content-type", "application/json"),),
            body=json.dumps(body).encode(),
        )
        self._servers.exchanges.append(made)
        return made


def policy_of(hosts: Sequence[str]) -> NetworkPolicy | None:
    return policy_for([f"https://{host}/" for host in hosts]) if hosts else None


async def recorded(runtime: DenoRuntime, code: str, hosts: Sequence[str], days_ago: int = 0) -> Recording | None:
    """A run of the script as the cortex would keep it; None when it failed."""
    tools, servers = Tools(), Servers()
    network = policy_of(hosts)
    network = network and network.model_copy(update={"replay": servers})
    request = ExecutionRequest(code=code, tier=Tier.NETWORK if hosts else Tier.ISOLATED)
    outcome = await runtime.execute(request, tools=tools, network=network)
    if not outcome.ok:
        return None
    return Recording(
        "a" * 64,
        TODAY - days_ago * DAY_S,
        None,
        exchanges=servers.exchanges,
        tool_calls=tools.calls,
        code=code,
        returns=schema_of_value(outcome.result),
    )
