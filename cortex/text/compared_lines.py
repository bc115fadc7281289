"""The difference between two texts, line by line, in a time that their author cannot choose. Pure.

Not `difflib`: for texts made to annoy it, it takes minutes. Here the common beginning and end are put aside, and what
lies between is compared in full when it is short, and otherwise shown as removed and added as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MAX_CELLS = 40_000
"""Lines of the one text times lines of the other that are compared with each other, at most."""
AROUND = 2
"""Lines that are the same, shown before and after each change."""


def line_diff(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The changed lines, with "-" and "+" before them and a few lines around; "@@ N" says at which line of the new text
    they begin."""
    rows = _rows(before, after)
    changed = [at for at, (sign, _) in enumerate(rows) if sign != " "]
    shown_to = 0
    number = 1
    for at in changed:
        if at < shown_to:
            continue
        end = at + 1
        while any(sign != " " for sign, _ in rows[end : end + 2 * AROUND + 1]):
            end += 1
        begin = max(shown_to, at - AROUND)
        number += sum(sign != "-" for sign, _ in rows[shown_to:begin])
        stop = min(len(rows), end + AROUND)
        yield f"@@ {number}"
        for sign, line in rows[begin:stop]:
            number += sign != "-"
            yield f"{sign} {line}"
        shown_to = stop


def _rows(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] != after[at]), most)
    tail = next((at for at in range(most - head) if before[-1 - at] != after[-1 - at]), most - head)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    same = [(" ", line) for line in before[:head]], [(" ", line) for line in after[len(after) - tail :]]
    return [*same[0], *_between(old, new), *same[1]]


def _between(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    if len(old) * len(new) > MAX_CELLS:
        return [*(("-", line) for line in old), *(("+", line) for line in new)]
    # longest[i][j]: how many lines old[i:] and new[j:] have in common, in their order.
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            is_same = old[i] == new[j]
            longest[i][j] = 1 + longest[i + 1][j + 1] if is_same else max(longest[i + 1][j], longest[i][j + 1])
    rows = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            rows.append((" ", old[i]))
            i, j = i + 1, j + 1
        elif j == len(new) or (i < len(old) and longest[i + 1][j] >= longest[i][j + 1]):
            rows.append(("-", old[i]))
            i += 1
        else:
            rows.append(("+", new[j]))
            j += 1
    return rows
