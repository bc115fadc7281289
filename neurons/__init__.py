"""Habits and neurons: what an agent does often becomes something that it can do by itself. Nothing is here yet."""

__all__: list[str] = []
