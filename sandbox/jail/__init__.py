"""The wall of the operating system around a Deno process, and the small program that builds it.

Everything in this folder is standard library only: the launcher runs it in a process of its own, which has to be
small, because it is what forks. Nothing here needs a privilege.
"""

from .layers import DENO, Layer, Wall

__all__ = ["DENO", "Layer", "Wall"]
