"""The process that renders one SVG drawing to PNG for `svg.py`: whatever the drawing does, only this process suffers.

Started as a plain file, without the package around it. Its arguments are the folder of the jail and the largest width
and height. It reads the drawing from stdin and writes "P" and the picture, or "E" and the reason, to stdout.

The renderer would read files that a drawing names. So a drawing that names anything but its own parts and pictures
inside it is refused; and where the kernel has Landlock, this process can open no file but fonts, and connect nowhere.
"""

from __future__ import annotations

import importlib
import os
import re
import resource
import signal
import sys
from contextlib import suppress
from types import ModuleType
from xml.parsers import expat

MAX_CPU_S = 3
# The host waits 5 s at most, and kills this process then; this is for a host that is gone.
MAX_LIFE_S = 10
MAX_MEMORY_BYTES = 512 * 1024 * 1024
MAX_FONTS = 60
MAX_ELEMENTS = 100_000
MAX_DEPTH = 200
# Where Linux distributions keep fonts.
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts")
# Fonts that most machines have, and that charts are written in, come first.
_USUAL = ("dejavusans", "liberationsans", "notosans-", "arial", "helvetica")
_INSIDE = re.compile(r"\s*(?:#|data:image/(?:png|jpe?g|gif)[;,])", re.IGNORECASE)
_NUMBER = r"(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,2})?"
_LENGTH = re.compile(rf"\s*\+?({_NUMBER})\s*(px|pt|pc|mm|cm|in)?\s*")
_PIXELS = {None: 1.0, "px": 1.0, "pt": 96 / 72, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
# What the renderer takes for a drawing without a size.
_USUAL_SIZE = 100.0

# The name that the package of the jail has in this process.
_JAIL = "jail_here"


class Refused(Exception):
    """The drawing is not rendered. The message is for the author of the code."""


def main(jail: str, max_side: str) -> None:
    sys.modules[_JAIL] = ModuleType(_JAIL)
    sys.modules[_JAIL].__path__ = [jail]
    _end_with_the_host()
    for limit, value in (
        (resource.RLIMIT_CPU, MAX_CPU_S),
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    drawing = sys.stdin.buffer.read().decode()
    try:
        answer = b"P" + _rendered(drawing, int(max_side))
    except Refused as error:
        answer = b"E" + str(error).encode(errors="replace")
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()


def _end_with_the_host() -> None:
    """Die when the host dies, even by force: at once where the kernel can do that, else after MAX_LIFE_S."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(MAX_LIFE_S)
    kernel = importlib.import_module(f"{_JAIL}.kernel")
    with suppress(OSError):
        kernel.prctl("parent death signal", kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _rendered(drawing: str, max_side: int) -> bytes:
    width, height = size_of(drawing)
    scale = min(1.0, max_side / max(width, height))
    from resvg_py import svg_to_bytes  # noqa: PLC0415 - loaded before this process may open nothing more

    fonts = _fonts()
    _close_in()
    try:
        picture: bytes = svg_to_bytes(
            svg_string=drawing,
            width=max(1, round(width * scale)) if scale < 1 else None,
            dpi=96.0,
            skip_system_fonts=True,
            font_files=fonts,
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            serif_family="DejaVu Serif",
            monospace_family="DejaVu Sans Mono",
        )
    except ValueError as error:
        raise Refused(f"it cannot be rendered ({str(error)[:200]})") from None
    return bytes(picture)


def size_of(drawing: str) -> tuple[float, float]:
    """Width and height in pixels as the root states them. Raises Refused for text that is no SVG, that has a document
    type, that is too deep or too long, or that refers to anything outside of itself."""
    found: list[tuple[float, float]] = []
    count = depth = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal count, depth
        count, depth = count + 1, depth + 1
        if count > MAX_ELEMENTS or depth > MAX_DEPTH:
            raise Refused(f"it has more than {MAX_ELEMENTS} elements, or is nested deeper than {MAX_DEPTH}")
        if not found:
            if name.rpartition(":")[2] != "svg":
                raise Refused("its first element is not <svg>")
            found.append(_root_size(attributes))
        for key, value in attributes.items():
            if key.rpartition(":")[2].lower() == "href" and not _INSIDE.match(value):
                raise Refused(f'it refers to "{value[:60]}"; only "#id" and pictures inside it (data:image/png) work')

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: object) -> None:
        raise Refused("it has a document type, which is not allowed")

    # The encoding is given: one that the text declares could show this parser other text than the renderer.
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(drawing.encode(), True)
    except expat.ExpatError as error:
        raise Refused(f"it is not well-formed XML: {error}") from None
    return found[0]


def _root_size(attributes: dict[str, str]) -> tuple[float, float]:
    box = [float(part) for part in re.findall(rf"[+-]?{_NUMBER}", attributes.get("viewBox", "")[:200])]
    usual = (box[2], box[3]) if len(box) == 4 and min(box[2:]) > 0 else (_USUAL_SIZE, _USUAL_SIZE)
    width, height = _pixels(attributes.get("width")), _pixels(attributes.get("height"))
    if width is None and height is None:
        return usual
    if width is None or height is None:
        known = width or height or _USUAL_SIZE
        ratio = usual[0] / usual[1] if usual[1] else 1.0
        return (known * ratio, known) if width is None else (known, known / ratio if ratio else known)
    return width, height


def _pixels(text: str | None) -> float | None:
    found = _LENGTH.fullmatch(text or "")
    if found is None:
        return None
    return max(float(found[1]) * _PIXELS[found[2]], 1.0)


def _fonts() -> list[str]:
    """At most MAX_FONTS files, those that charts are usually written in first."""
    found: list[str] = []
    for folder in FONT_FOLDERS:
        for place, _, names in os.walk(folder):
            found.extend(f"{place}/{name}" for name in names if name.lower().endswith((".ttf", ".otf", ".ttc")))
            if len(found) > 5_000:
                break
    usual = {path: path.rpartition("/")[2].lower().startswith(_USUAL) for path in found}
    return sorted(found, key=lambda path: (not usual[path], path))[:MAX_FONTS]


def _close_in() -> None:
    """Let this process open no file but fonts from here on, nor connect anywhere, where the kernel can do that."""
    kernel = importlib.import_module(f"{_JAIL}.kernel")
    landlock = importlib.import_module(f"{_JAIL}.landlock")
    try:
        kernel.prctl("no_new_privs", kernel.PR_SET_NO_NEW_PRIVS, 1)
        landlock.restrict(landlock.make_ruleset(folder for folder in FONT_FOLDERS if os.path.isdir(folder)))
    except OSError:
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
