from __future__ import annotations

import json

import pytest

from cortex.discovery import EmbeddingFailed, discovery_of
from cortex.discovery.endpoint_embedder import EndpointEmbedder
from cortex.settings.sections import ModelSettings
from cortex.settings.settings import load_settings
from sandbox import ToolDeclaration
from tests.sandbox.network.servers import Server, Talk


class EmbeddingServer(Server):
    """Vectors are the lengths of the texts; the first replies may be others."""

    def __init__(self, *first) -> None:
        self.first = list(first)
        super().__init__(routes={"/v1/embeddings": self._reply})

    def _reply(self, talk: Talk) -> None:
        if self.first:
            self.first.pop(0)(talk)
            return
        texts = json.loads(talk.request.body)["input"]
        rows = [{"index": number, "embedding": [float(len(text)), 1.0]} for number, text in enumerate(texts)]
        talk.reply(json.dumps({"data": rows[::-1], "model": "m"}).encode(), "200 OK")

    @property
    def asked(self) -> list[dict]:
        return [json.loads(request.body) for request in self.heard]

    def settings(self, **changes) -> ModelSettings:
        values = {"base_url": f"{self.url}/v1", "api_key": "sk-secret-key", "max_wait_s": 0.01, **changes}
        return ModelSettings.model_validate(values)


def says(data: bytes, status: str = "200 OK", **headers: str):
    return lambda talk: talk.reply(data, status, headers)


async def embed(server: EmbeddingServer, texts: list[str], **changes) -> list[list[float]]:
    embedder = EndpointEmbedder("embed-small", server.settings(**changes))
    try:
        return await embedder.embed(texts)
    finally:
        await embedder.aclose()


async def test_texts_become_vectors_in_their_order_whatever_that_of_the_reply():
    with EmbeddingServer() as server:
        assert await embed(server, ["a", "bbb"]) == [[1.0, 1.0], [3.0, 1.0]]
        [request] = server.heard
        assert request.method == "POST"
        assert dict(request.headers)["Authorization"] == "Bearer sk-secret-key"
        assert server.asked == [{"model": "embed-small", "input": ["a", "bbb"], "encoding_format": "float"}]


async def test_many_texts_go_in_batches_over_one_connection():
    with EmbeddingServer() as server:
        assert len(await embed(server, ["x" * n for n in range(1, 81)])) == 80
        assert [len(asked["input"]) for asked in server.asked] == [32, 32, 16]
        assert server.connections == 1


@pytest.mark.parametrize("first", [says(b"", "503 Busy"), says(b"", "429 Slow down"), lambda talk: talk.reset()])
async def test_temporary_failures_of_an_endpoint_are_retried(first):
    with EmbeddingServer(first) as server:
        assert await embed(server, ["a"]) == [[1.0, 1.0]]
        assert len(server.heard) == 2


async def test_embedding_fails_after_as_many_attempts_as_the_settings_allow():
    with EmbeddingServer(*[says(b"", "500 No")] * 9) as server:
        with pytest.raises(EmbeddingFailed, match="status 500"):
            await embed(server, ["a"], max_attempts=3)
        assert len(server.heard) == 3


async def test_an_endpoint_that_asks_to_wait_too_long_is_given_up_at_once():
    with EmbeddingServer(says(b"", "429 Slow down", **{"Retry-After": "3600"})) as server:
        with pytest.raises(EmbeddingFailed, match="status 429"):
            await embed(server, ["a"])
        assert len(server.heard) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (says(b'{"error": {"message": "sk-secret-key is wrong"}}', "401 Unauthorized"), "status 401"),
        (says(b"", "302 Found", Location="http://127.0.0.1:1/elsewhere"), "status 302"),
        (says(b"<html>"), "not a list of embeddings"),
        (says(b"[" * 100_000), "not a list of embeddings"),
        (says(b'{"data": []}'), "not a list of embeddings"),
        (says(b'{"data": [{"index": 0, "embedding": "AAAA"}]}'), "not a list of embeddings"),
        (says(b'{"data": [{"index": 1, "embedding": [1]}]}'), "not a list of embeddings"),
        (says(b'{"data": [{"index": 0, "embedding": [1%s]}]}' % (b"0" * 5000)), "not a list of embeddings"),
        (says(b"x", **{"Content-Encoding": "gzip"}), "compressed"),
    ],
)
async def test_a_reply_that_cannot_be_used_is_a_failure_that_says_where_and_never_shows_the_key(reply, said):
    with EmbeddingServer(reply) as server:
        with pytest.raises(EmbeddingFailed, match=said) as caught:
            await embed(server, ["a"])
        assert f"127.0.0.1:{server.port}" in str(caught.value)
        assert "sk-secret" not in str(caught.value)
        assert len(server.heard) == 1


async def test_a_reply_without_end_is_left(monkeypatch):
    monkeypatch.setattr("cortex.discovery.endpoint_embedder._MAX_REPLY_BYTES", 1000)
    with EmbeddingServer(says(b" " * 100_000)) as server, pytest.raises(EmbeddingFailed, match="more than 1000 bytes"):
        await embed(server, ["a"])


async def test_an_endpoint_that_says_nothing_has_a_limit():
    silent = EmbeddingServer(lambda talk: talk.wait_until_gone())
    with silent as server, pytest.raises(EmbeddingFailed, match="connection failed"):
        await embed(server, ["a"], stall_timeout_s=0.05, max_attempts=1)


async def test_tools_are_found_with_the_embeddings_of_the_endpoint_as_the_settings_say(tmp_path):
    with EmbeddingServer() as server:
        model = {"base_url": f"{server.url}/v1"}
        discovery = {"semantic": "endpoint", "model": "embed-small"}
        settings = load_settings(environment={}, home=tmp_path, discovery=discovery, model=model)
        found = discovery_of(settings)
        tools = [ToolDeclaration("a.b", "y"), ToolDeclaration("c.d", "x" * 40)]
        # Near is what has about the same length, for this endpoint.
        [nearest] = await found.rank("z" * 40, tools, 1, 1)
        await found.aclose()
        assert nearest.name == "c.d"
        assert {asked["model"] for asked in server.asked} == {"embed-small"}
        assert "Authorization" not in dict(server.heard[0].headers)
