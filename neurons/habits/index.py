"""Finds the scripts that a sketch may be a wording of, among thousands, without comparing it with all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from .one_difference import differ_in_one
from .sketch import Sketch, differ, is_pure, likeness, resemblance

MAX_COMPARED = 96
"""Scripts that one sketch is compared with, those first that have most in common with it."""
MAX_COUNTED = 4_000
"""Entries of the lists that are counted to find them, the shortest lists first."""
_ANY = None


class Index:
    """Scripts by id. Scripts that reach for other hosts or tools lie in other buckets, and are not looked at."""

    def __init__(self) -> None:
        self._sketches: dict[str, tuple[Sketch, ...]] = {}
        self._buckets: defaultdict[str | None, dict[str, None]] = defaultdict(dict)
        self._having: defaultdict[tuple[str | None, str], dict[str, None]] = defaultdict(dict)
        """The scripts of a bucket that have a trait, or a word."""

    def put(self, script_id: str, sketches: tuple[Sketch, ...]) -> None:
        known = self._sketches.get(script_id)
        if known == sketches:
            return
        if known is not None:
            self.drop(script_id)
        self._sketches[script_id] = sketches
        for sketch in sketches:
            bucket = sketch.bucket
            self._buckets[bucket][script_id] = None
            for feature in (*sketch.traits, *sketch.words):
                self._having[bucket, feature][script_id] = None

    def drop(self, script_id: str) -> None:
        for sketch in self._sketches.pop(script_id, ()):
            bucket = sketch.bucket
            self._buckets[bucket].pop(script_id, None)
            for feature in (*sketch.traits, *sketch.words):
                self._having[bucket, feature].pop(script_id, None)

    def alike(self, sketch: Sketch, enough: Callable[[Sketch, Sketch], float]) -> dict[str, float]:
        """The scripts that have a wording like this one, with how much that is alike."""
        found: dict[str, float] = {}
        for script_id in self._candidates(sketch):
            best = 0.0
            for known in self._sketches[script_id]:
                alike = likeness(known, sketch)
                if alike > best and alike >= enough(known, sketch):
                    best = alike
            if best and not is_another(sketch, self._sketches[script_id]):
                found[script_id] = best
        return found

    def resembling(self, script_id: str, low: float) -> dict[str, float]:
        """Pure scripts that are somewhat like a wording of this one, with how much."""
        found: dict[str, float] = {}
        for sketch in filter(is_pure, self.sketches(script_id)):
            for other in self._candidates(sketch):
                known = [resemblance(sketch, one) for one in self._sketches[other] if is_pure(one)]
                if other != script_id and max(known, default=0.0) >= low:
                    found[other] = max(*known, found.get(other, 0.0))
        return found

    def may_be_one(self, one: str, other: str) -> bool:
        """Whether no wording of one script is known to be something else than the wordings of the other."""
        mine, theirs = self.sketches(one), self.sketches(other)
        return not any(differ(a, b) for a in mine for b in theirs) and not any(is_another(a, theirs) for a in mine)

    def sketches(self, script_id: str) -> tuple[Sketch, ...]:
        return self._sketches.get(script_id, ())

    def _candidates(self, sketch: Sketch) -> Iterable[str]:
        bucket = sketch.bucket
        # With an unknown host a script may be anything, and anything may be it.
        buckets = list(self._buckets) if bucket is _ANY else [bucket, _ANY]
        places = [one for one in buckets if one in self._buckets]
        if sum(len(self._buckets[one]) for one in places) <= MAX_COMPARED:
            return dict.fromkeys(script_id for one in places for script_id in self._buckets[one])
        return self._most_in_common(sketch, places)

    def _most_in_common(self, sketch: Sketch, places: list[str | None]) -> list[str]:
        weights: Mapping[str, int] = {**dict.fromkeys(sketch.words, 6), **sketch.traits}
        lists = [
            (len(having), feature, having)
            for bucket in places
            for feature in weights
            if (having := self._having.get((bucket, feature)))
        ]
        common: defaultdict[str, int] = defaultdict(int)
        counted = 0
        for size, feature, having in sorted(lists, key=lambda one: one[0]):
            counted += size
            if counted > MAX_COUNTED and common:
                break
            for script_id in having:
                common[script_id] += weights[feature]
        return sorted(common, key=lambda script_id: -common[script_id])[:MAX_COMPARED]


def enough_of(effects: float, pure: float) -> Callable[[Sketch, Sketch], float]:
    """How much two wordings must be alike to be the same script: less where both reach for the same."""
    return lambda a, b: pure if is_pure(a) or is_pure(b) else effects


def is_another(sketch: Sketch, wordings: Iterable[Sketch]) -> bool:
    """Whether it is a wording of these but for one difference that decides, and has not been seen as one of them."""
    lines = {known.line for known in wordings}
    return sketch.line not in lines and any(differ_in_one(line, sketch.line) for line in lines)
