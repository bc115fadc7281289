"""Numbers about a home for monitoring systems: what ran, what it took and how it ended. No text of an agent."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .fold import Fold
    from .home_metrics import HomeMetrics, fold_all
    from .metric_names import METRICS
    from .samples import CONTENT_TYPE, exposition, facts_of_metrics
    from .tracing import SpanTracing, tracing_of
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "fold": "Fold",
            "home_metrics": "HomeMetrics fold_all",
            "metric_names": "METRICS",
            "samples": "CONTENT_TYPE exposition facts_of_metrics",
            "tracing": "SpanTracing tracing_of",
        },
    )
