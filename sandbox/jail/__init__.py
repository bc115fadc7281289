"""The operating system's wall around a Deno process, and the launcher, the small program that builds it.

This folder uses the standard library only: the launcher runs it in a process of its own, which must be small because it
forks. Nothing here needs a privilege.
"""

from .layers import DENO, Layer, Wall

__all__ = ["DENO", "Layer", "Wall"]
