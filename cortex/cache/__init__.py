"""Results of code that always gives the same: kept for a while, so that it need not run again."""

from .cached_runtime import CachedRuntime, RepeatableRuntime, with_cache
from .key import cache_key
from .result_cache import ResultCache, open_cache

__all__ = ["CachedRuntime", "RepeatableRuntime", "ResultCache", "cache_key", "open_cache", "with_cache"]
