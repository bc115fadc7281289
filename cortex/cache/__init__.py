"""Cache the results of deterministic code for a while, so that it need not run again."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .cached_runtime import CachedRuntime, RepeatableRuntime, cache_key, with_cache
    from .result_cache import ResultCache, open_cache
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "cached_runtime": "CachedRuntime RepeatableRuntime cache_key with_cache",
            "result_cache": "ResultCache open_cache",
        },
    )
