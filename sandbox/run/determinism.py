"""Guesses from the words of the code, before it runs, whether another run could give another result.

It errs on the side of yes. Code that it lets pass is made repeatable by the run itself: `deno/make_repeatable.ts`.

A module of its own because the cache asks it about code without loading anything that runs code.
"""

from __future__ import annotations

import re

# Words by reason. A word counts wherever it stands, in a string or a comment as well: looking closer would cost more
# than a run that is not cached.
_VARYING = {
    "tells the time": """
        Temporal performance Performance PerformanceObserver PerformanceMark PerformanceMeasure hrtime timeOrigin
        timeStamp timeEnd timeLog Intl Event CustomEvent ErrorEvent MessageEvent CloseEvent ProgressEvent
        PromiseRejectionEvent GPUUncapturedErrorEvent EventTarget File AbortController AbortSignal
        setTimeout setInterval setImmediate nextTick Atomics SharedArrayBuffer""",
    "is chance": "random crypto Crypto SubtleCrypto CryptoKey randomUUID getRandomValues WeakRef FinalizationRegistry",
    "reaches beyond the code": """
        tools store fetch display Deno process Buffer global globalThis self window frames location navigator
        Navigator localStorage sessionStorage caches alert confirm prompt Worker WebSocket EventSource BroadcastChannel
        MessageChannel MessagePort Request Response Blob FileReader FormData ReadableStream WritableStream
        TransformStream CompressionStream DecompressionStream TextDecoderStream TextEncoderStream WebAssembly GPU
        OffscreenCanvas createImageBitmap addEventListener removeEventListener dispatchEvent reportError onerror onload
        onunload onbeforeunload onunhandledrejection""",
    "can make code out of text": "eval Function constructor import require __proto__ __lookupGetter__",
    "shows how it was run": "stack captureStackTrace prepareStackTrace trace",
}
_WHY = {word: why for why, words in _VARYING.items() for word in words.split()}
_WORD = re.compile(r"[A-Za-z_$][\w$]*|\\[ux]", re.ASCII)
_ESCAPES = frozenset({"\\u", "\\x"})
# A `Date` with an argument is that date and not the current time.
_DATE_OF_NOW = re.compile(r"(?<!instanceof )\bDate\b(?!\s*\.\s*(?:parse|UTC)\b|\s*\(\s*[^)\s])", re.ASCII)


def may_vary(code: str) -> str | None:
    """Why the same code with the same context may give another result the next time; None when no word in it leads to
    a clock, to randomness or to the host. Takes linear time."""
    words = _WORD.findall(code)
    for word in words:
        if word in _WHY:
            return f'"{word}" {_WHY[word]}'
        if word in _ESCAPES:
            return f'"{word}" may hide another word'
    if "Date" in words and _DATE_OF_NOW.search(code) is not None:
        return '"Date" tells the time'
    return None
