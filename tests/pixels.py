"""Reads the pixels of a PNG picture of eight bits and four channels, as the renderer writes it, for tests."""

from __future__ import annotations

import zlib

Pixel = tuple[int, int, int, int]


class Pixels:
    def __init__(self, png: bytes) -> None:
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        self.width, self.height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
        assert png[24:29] == b"\x08\x06\0\0\0", "eight bits, RGBA, not interlaced"
        packed, at = b"", 8
        while at < len(png):
            length = int.from_bytes(png[at : at + 4], "big")
            if png[at + 4 : at + 8] == b"IDAT":
                packed += png[at + 8 : at + 8 + length]
            at += 12 + length
        self._rows = self._unfiltered(zlib.decompress(packed))

    def at(self, x: int, y: int) -> Pixel:
        red, green, blue, alpha = self._rows[y][4 * x : 4 * x + 4]
        return red, green, blue, alpha

    def all(self) -> list[Pixel]:
        return [self.at(x, y) for y in range(self.height) for x in range(self.width)]

    def _unfiltered(self, data: bytes) -> list[bytes]:
        wide = 4 * self.width
        rows: list[bytes] = []
        above = bytes(wide)
        for number in range(self.height):
            line = data[number * (wide + 1) : (number + 1) * (wide + 1)]
            row = bytearray(line[1:])
            for at in range(wide):
                left, up = row[at - 4] if at >= 4 else 0, above[at]
                corner = above[at - 4] if at >= 4 else 0
                row[at] = (row[at] + _predicted(line[0], left, up, corner)) % 256
            rows.append(bytes(row))
            above = rows[-1]
        return rows


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    nearest = min((left, up, corner), key=lambda value: abs(guess - value))
    return (0, left, up, (left + up) // 2, nearest)[kind]
