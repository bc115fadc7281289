"""An index of the audit for searching in texts. It lies in `cache/`, can be deleted at any time, and is never truth:
what is found is read from the audit itself, and looked at again.

Parts of words are found by their three-letter pieces (SQLite's FTS5), so that a search does not read the whole audit.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import FILE_MODE, private_folder

if TYPE_CHECKING:
    import sqlite3  # imported when an index is opened: nothing else needs it

    from cortex.audit import Audit, Record

FILE = "audit-search.sqlite"
VERSION = 1
MAX_TEXT = 4_000
"""Characters of a record that are searched."""
_BATCH = 500
_MOST_PIECES = 24
_HASH = re.compile(r"[0-9a-f]{17,64}")
_HASH_KEPT = 16
_SCHEMA = """
create table read (version integer not null, seq integer not null, hash text not null);
create virtual table texts using fts5(text, tokenize = 'trigram', content = '', detail = none, columnsize = 0);
"""


def searched_text(record: Record) -> str:
    """What a search looks into: the kind, the values of all facts, and the hash of the record."""
    values = (value if isinstance(value, str) else json.dumps(value) for value in record.facts.values())
    return f"{record.kind} {' '.join(values)[:MAX_TEXT]} {record.hash}".casefold()


def pieces_of(text: str) -> list[str]:
    """The pieces of three characters that a record with this text has; few of them, the longest words first."""
    words = sorted(_short(text.casefold()).split(), key=len, reverse=True)
    found = dict.fromkeys(word[at : at + 3] for word in words for at in range(len(word) - 2))
    return [piece for piece in found if "\0" not in piece][:_MOST_PIECES]


def _short(text: str) -> str:
    """Of each hash only the beginning: its other pieces are in every other hash, too."""
    return _HASH.sub(lambda found: found[0][:_HASH_KEPT], text)


class AuditIndex:
    """The index of one home, for one process. Raises OSError when its file can be neither read nor made anew."""

    def __init__(self, cache: Path, audit: Callable[[], Audit], now: Callable[[], float] = time.monotonic) -> None:
        self._path = cache / FILE
        self._audit = audit
        self._now = now
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._is_closed = False
        self._db: sqlite3.Connection | None = None

    def catch_up(self, within_s: float | None = None) -> bool:
        """Read the records that are new; False when the time was over before the last one. Searches go on meanwhile."""
        if not self._reading.acquire(timeout=-1 if within_s is None else within_s):
            return False
        try:
            return self._caught_up(within_s)
        finally:
            self._reading.release()

    def numbers(self, wanted: str, before: int | None, most: int) -> list[int] | None:
        """The numbers of records with that text, newest first; None for a text that is too short. Some may not have it:
        look at each."""
        pieces = pieces_of(wanted)
        if not pieces:
            return None
        phrase = " AND ".join('"' + piece.replace('"', '""') + '"' for piece in pieces)
        query = "select rowid from texts where texts match ? and rowid < ? order by rowid desc limit ?"
        with self._lock, self._explained():
            rows = self._opened().execute(query, (phrase, before if before is not None else 2**62, most))
            return [int(seq) for (seq,) in rows]

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._db is not None:
                self._db.close()
                self._db = None

    def _caught_up(self, within_s: float | None) -> bool:
        until = None if within_s is None else self._now() + within_s
        with self._lock, self._explained():
            (last,) = self._opened().execute("select seq from read").fetchone()
        audit = self._audit()
        try:
            records = audit.after(last)
            while batch := list(islice(records, _BATCH)):
                with self._lock, self._explained():
                    self._keep(self._opened(), batch)
                if until is not None and self._now() > until:
                    return False
            return True
        finally:
            audit.close()

    def _keep(self, db: sqlite3.Connection, batch: list[Record]) -> None:
        with db:
            rows = ((one.seq, _short(searched_text(one))) for one in batch)
            db.executemany("insert into texts (rowid, text) values (?, ?)", rows)
            db.execute("update read set seq = ?, hash = ?", (batch[-1].seq, batch[-1].hash))

    def _opened(self) -> sqlite3.Connection:
        if self._is_closed:
            raise OSError("the index of the audit is closed")
        if self._db is None:
            self._db = self._found() or self._made()
        return self._db

    def _found(self) -> sqlite3.Connection | None:
        """The index that is there, if it is of this version and of this audit."""
        import sqlite3  # noqa: PLC0415 - see above

        if not self._path.is_file():
            return None
        with suppress(sqlite3.Error, TypeError, ValueError):
            db = self._connected()
            try:
                version, seq, hash_ = db.execute("select version, seq, hash from read").fetchone()
                if version == VERSION and (seq == 0 or self._hash_of(seq) == hash_):
                    return db
            except BaseException:
                db.close()
                raise
            db.close()
        return None

    def _hash_of(self, seq: int) -> str | None:
        audit = self._audit()
        try:
            record = audit.find(seq)
            return None if record is None else record.hash
        finally:
            audit.close()

    def _made(self) -> sqlite3.Connection:
        for path in self._files():
            with suppress(FileNotFoundError):
                path.unlink()
        private_folder(self._path.parent)
        self._path.touch(FILE_MODE)
        db = self._connected()
        db.executescript(_SCHEMA)
        db.execute("insert into read values (?, 0, '')", (VERSION,))
        db.commit()
        return db

    def _connected(self) -> sqlite3.Connection:
        import sqlite3  # noqa: PLC0415 - see above

        db = sqlite3.connect(self._path, timeout=2, check_same_thread=False)
        try:
            # What a crash destroys is made anew.
            db.execute("pragma synchronous = off")
            db.execute("pragma journal_mode = memory")
        except BaseException:
            db.close()
            raise
        return db

    def _files(self) -> Iterator[Path]:
        return (self._path.with_name(self._path.name + more) for more in ("", "-journal", "-wal", "-shm"))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """A damaged index is thrown away, and told as an OSError: the caller searches without it this once."""
        import sqlite3  # noqa: PLC0415 - see above

        try:
            yield
        except sqlite3.Error as error:
            self._forget()
            raise OSError(f"the index of the audit cannot be used, and is made anew: {error}") from error

    def _forget(self) -> None:
        """Begin anew with the next search."""
        if self._db is not None:
            self._db.close()
            self._db = None
        for path in self._files():
            with suppress(OSError):
                path.unlink()
