"""Splits a text into the words by which it is searched: names split, endings removed, stop words left out. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_WORD_CHARACTERS = 40
"""A longer word is cut: it is a hash or the like, and no query asks for its end."""

# The second pattern: "HTTPResponse" is two words, and "PRs" is one.
_SMALL_AND_LARGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
# Names with a capital inside that are one word.
_ONE_NAME = re.compile(
    r"\b(?:Git(?:Hub|Lab)|HubSpot|LinkedIn|YouTube|PayPal|WhatsApp|QuickBooks|BigQuery|OneDrive|SharePoint|PagerDuty"
    r"|Circle(?=CI)|My(?=SQL)|Postgre(?=SQL)|Mongo(?=DB)|GraphQL|OpenAI|JavaScript|TypeScript|DevOps|OAuth)"
)
_WORD = re.compile(r"[^\W_]+")
_LETTERS_AND_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_ENDINGS = (
    "csv|docx?|gif|go|html?|ini|java|jpe?g|json|jsx?|log|md|pdf|png|pptx?|py|rs|sh|sql|svg|toml|tsx?|txt|xlsx?|xml"
    "|ya?ml|zip"
)
_SIGNS = (
    ("file", re.compile(rf"[\w*]\.(?:{_ENDINGS})\b", re.IGNORECASE)),
    ("directory", re.compile(r"(?<!\S)~?/\w+/[\w/]*(?!\.)")),
    ("url", re.compile(r"https?://", re.IGNORECASE)),
    ("email", re.compile(r"\w@\w+\.\w")),
    ("channel", re.compile(r"(?<!\S)#[a-z]")),
)
_VOWEL = re.compile(r"[aeiouy]")
_CLITIC = re.compile(r"(?<=\w)['’](?:s|re|ve|ll|d|m|t)\b")

_LEFT_OUT = frozenset(
    """
    a about all also am an and any are as at be been being but by can certain could did do does each eg etc every for
    from given had has have here how i ie if im in into is it its just let like may me might my need needs now of on
    onto or our out please really shall should so some specific specified than that the their them then there these they
    this those to up us using via want was we were what when where whether which who will with would you your
    """.split()  # noqa: SIM905 - as a text it can be read
)

# Common abbreviations, in full. Only those that mean one thing wherever tools are named.
_IN_FULL: dict[str, tuple[str, ...]] = {
    "pr": ("pull", "request"),
    "prs": ("pull", "request"),
    "repo": ("repository",),
    "repos": ("repository",),
    "dir": ("directory",),
    "dirs": ("directory",),
    "db": ("database",),
    "k8s": ("kubernetes",),
    "msg": ("message",),
    "msgs": ("message",),
    "org": ("organization",),
    "orgs": ("organization",),
    "env": ("environment",),
    "config": ("configuration",),
    "configs": ("configuration",),
    "docs": ("document",),
    "doc": ("document",),
    "info": ("information",),
    "mail": ("email",),
    "mails": ("email",),
    "img": ("image",),
    "pic": ("picture",),
    "temp": ("temperature",),
    "app": ("application",),
    "apps": ("application",),
    "cmd": ("command",),
    "params": ("parameter",),
    "vars": ("variable",),
    "auth": ("authentication",),
    "stats": ("statistics",),
}

_IRREGULAR = {
    "payment": "pay",
    "paid": "pay",
    "sent": "send",
    "found": "find",
    "wrote": "write",
    "written": "write",
    "ran": "run",
    "made": "make",
    "gave": "give",
    "given": "give",
    "got": "get",
    "took": "take",
    "people": "person",
    "data": "data",
    "news": "news",
    "status": "status",
    "analysis": "analys",
    "analyses": "analys",
    "analytics": "analyt",
    "removal": "remov",
    "approval": "approv",
    "renewal": "renew",
    "description": "describ",
    "subscription": "subscrib",
    "conversion": "convert",
    "response": "respons",
    "reply": "repli",
}


def words(text: str) -> list[str]:
    """The words of the text in order, each as its stem. `listPull-requests` and "the pull requests listed" give the
    same words."""
    if not text.isascii():
        text = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    found: list[str] = []
    text = _ONE_NAME.sub(lambda name: name[0].lower(), _CLITIC.sub("", text))
    for word in _WORD.findall(_SMALL_AND_LARGE.sub(" ", text).lower()):
        found.extend(_stems(word[:MAX_WORD_CHARACTERS]))
    return found


def query_words(text: str) -> list[str]:
    """The words of a query, and words that its signs stand for: `*.csv` adds "file", and `https://…` adds "url"."""
    return words(text) + [stem(word) for word, sign in _SIGNS if sign.search(text)]


@lru_cache(maxsize=8192)
def _stems(word: str) -> tuple[str, ...]:
    if word in _LEFT_OUT:
        return ()
    if word in _IN_FULL:
        return tuple(stem(one) for one in _IN_FULL[word])
    if len(word) == 1:
        return ()
    if word.isalpha() or word.isdecimal():
        return (stem(word),)
    # "s3" stays one word; "file2" also gives "file".
    return (word, *(stem(part) for part in _LETTERS_AND_DIGITS.findall(word) if len(part) > 2 and part.isalpha()))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The word without its ending: `commits`, `committed` and `committing` have one stem, as have `create` and
    `creation`.

    Removes little on purpose: to take two words for one costs more than to take two forms of a word for two words.
    """
    if len(word) < 4 or not word.isascii():
        return _IRREGULAR.get(word, word)
    if word not in _IRREGULAR:
        word = _singular(word)
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ification"):
        word = f"{word[:-9]}ify"
    elif word.endswith(("tion", "sion")) and len(word) > 7:
        word = word[:-3]
    elif word.endswith("ment") and len(word) > 8:
        word = word[:-4]
    elif word.endswith("ing") and len(word) > 5 and _VOWEL.search(word[:-3]):
        word = _undoubled(word[:-3])
    elif word.endswith("ied") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith("ed") and len(word) > 4 and _VOWEL.search(word[:-2]):
        word = _undoubled(word[:-2])
    if word.endswith("e") and len(word) > 3:
        return word[:-1]
    if word.endswith("y") and len(word) > 3 and word[-2] not in "aeiou":
        return f"{word[:-1]}i"
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _undoubled(word: str) -> str:
    """`committ` becomes `commit`; `call` and `pass` keep their double letter."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word
