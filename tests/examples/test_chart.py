"""The chart of the example: its pixels are those of the bars."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.pixels import Pixels

CHART = Path(__file__).parents[2] / "examples" / "chart.py"
BLUE, WHITE = (0x33, 0x66, 0xCC, 255), (255, 255, 255, 255)


@pytest.mark.deno
def test_the_bars_of_the_chart_are_as_high_as_the_data(capsys):
    chart = Pixels(runpy.run_path(str(CHART))["picture"])
    assert '{"best":"Apr"}' in capsys.readouterr().out
    assert (chart.width, chart.height) == (320, 200)
    heights = [sum(chart.at(20 + 75 * at + 27, y) == BLUE for y in range(171)) for at in range(4)]
    assert all(abs(height - 1.5 * sold) <= 1 for height, sold in zip(heights, (30, 80, 55, 100), strict=True))
    # Between two bars, and above the lowest.
    assert chart.at(85, 160) == WHITE
    assert chart.at(47, 100) == WHITE
