"""The wall: what the operating system forbids a Deno process. The launcher, a small program, puts it up.

This folder uses the standard library only: the launcher runs it in a process of its own, which must be small because it
forks. Nothing here needs a privilege.
"""

from .layers import DENO, Layer, Wall

__all__ = ["DENO", "Layer", "Wall"]
