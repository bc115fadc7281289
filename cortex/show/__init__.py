"""What happens in a turn, for people who look on and, as JSON, for programs."""

from .as_json import as_json
from .gauge import gauge
from .marks import marks_for
from .show import Show

__all__ = ["Show", "as_json", "gauge", "marks_for"]
