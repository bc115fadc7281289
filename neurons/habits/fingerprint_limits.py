"""The limits of a fingerprint. The host checks them too, and then need not load the modules that read code."""

MAX_PARTS = 512
MAX_LITERALS = 64
MAX_LITERAL_CHARS = 200
MAX_NAMES = 32
MAX_NAME_CHARS = 120
MAX_TRAITS = 192
MAX_WORDS = 96
MAX_MARKS = 48
MAX_MARK_CHARS = 100
