"""A language model whose requests are spans: from the request to the last piece of the reply, retries inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry.trace import SpanKind

from cortex.loop import ModelReply, ignore

from . import span_names as names
from .open_spans import OpenSpan

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from cortex.loop import LanguageModel, Message
    from cortex.settings import ModelSettings

_OPENAI_ADDRESS = "api.openai.com"
_HTTPS_PORT, _HTTP_PORT = 443, 80


class TracedModel:
    """A `cortex.loop.LanguageModel` around another one. Neither messages nor replies are in its spans."""

    def __init__(self, model: LanguageModel, tracer: Tracer, settings: ModelSettings) -> None:
        self._model = model
        self._tracer = tracer
        self._name = (settings.name or type(model).__name__)[:200]
        place = urlsplit(settings.base_url or f"https://{_OPENAI_ADDRESS}")
        self._attributes: dict[str, Any] = {
            names.OPERATION: names.CHAT,
            # The kind of endpoint; who answers there is said by the address.
            names.PROVIDER: names.OPENAI,
            names.REQUEST_MODEL: self._name,
            names.REQUEST_STREAM: settings.stream,
            names.SERVER_ADDRESS: (place.hostname or "")[:253],
            names.SERVER_PORT: place.port or (_HTTP_PORT if place.scheme == "http" else _HTTPS_PORT),
        }

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], None] = ignore,
    ) -> ModelReply:
        """As the model does. Raises what it raises."""
        span = self._tracer.start_span(f"{names.CHAT} {self._name}", kind=SpanKind.CLIENT, attributes=self._attributes)
        with OpenSpan(span):
            found = await self._model.reply(messages, tools, on_text=on_text)
            if not found.usage.estimated:
                span.set_attribute(names.INPUT_TOKENS, found.usage.input_tokens)
                span.set_attribute(names.OUTPUT_TOKENS, found.usage.output_tokens)
            span.set_attribute(names.FINISH_REASONS, [_FINISHED[found.finish]])
        return found


_FINISHED = {"stop": "stop", "tools": "tool_calls", "length": "length", "filter": "content_filter"}
