"""The files as one run sees them: the folder, with the run's own writes on top, in memory. The folder is only read.

Threads only read the disk; all changes happen in the event loop. So a thread that is abandoned because the run ended
can change nothing. Calls must not overlap: the caller lets one finish before the next begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

import anyio
import anyio.to_thread

from ..contracts import ToolError
from .folder import Content, Fact, Folder, Kind, digest, has_ended, is_link, not_regular, too_large, too_many
from .paths import MAX_DEPTH, MAX_PATH_BYTES, Parts, quoted, shown
from .terms import WorkspaceLimits
from .transfers import PIECE_BYTES, Upload, Uploads, content_json, limiter_for

T = TypeVar("T")


class File:
    """A file that the run has written, or moved."""

    __slots__ = ("data", "digest", "mode")

    def __init__(self, data: bytes | bytearray, mode: int | None = None) -> None:
        self.data = data if isinstance(data, bytearray) else bytearray(data)
        self.mode = mode
        self.digest: bytes | None = None
        """Digest of the data, if a thread has computed it already."""


class Dir:
    """A folder in which the run has changed something. For a name that is not in `children`, `through` decides."""

    __slots__ = ("children", "through")

    def __init__(self, *, through: bool) -> None:
        self.through = through
        """Whether the entries on the disk at the same path show through."""
        self.children: dict[str, File | Dir | None] = {}
        """None means that the run has removed it."""


Node = File | Dir
Found = Node | Fact | None
Wanted = list[tuple[Parts, Fact, Dir]]
"""Files on the disk, each with the folder into which it must be read."""


class Overlay:
    """The files of one run: reads through to the folder, and keeps all writes in memory."""

    def __init__(self, folder: Folder, limits: WorkspaceLimits) -> None:
        self._folder = folder
        self._limits = limits
        self.root = Dir(through=True)
        self.seen: dict[Parts, Fact | None] = {}
        """What was on the disk when the run first looked there; contains at least every path that it has changed."""
        self.digests: dict[Parts, bytes | None] = {}
        """Digests of the contents that files had on the disk before the run wrote to them."""
        self.uploads = Uploads()
        self._changed: set[Parts] = set()
        self._total = 0

    async def read(self, parts: Parts) -> bytes:
        """The content of a file as JSON."""
        found = await self._find(parts)
        if found is None:
            raise _missing(parts)
        if isinstance(found, Fact):
            most = self._limits.max_file_bytes
            # Read and encode in one go, so that no call that waits for its turn holds a whole file in memory.
            return await self._hop(
                lambda: content_json(self._folder.read(parts, most).data), limiter_for(min(found.size, most))
            )
        if isinstance(found, Dir):
            raise _folder(parts)
        data = found.data
        if len(data) <= PIECE_BYTES:
            return content_json(data)
        return await self._hop(lambda: content_json(data), limiter_for(len(data)))

    async def write_piece(self, number: int, upload: Upload, piece: bytes, *, last: bool) -> None:
        """Keep a piece of a file until all have arrived, then write the file."""
        if not last and number not in self.uploads:
            # Reserve room for the whole file while it is pending, in addition to its old content, which is kept too.
            self._require_room(upload.parts, upload.size, upload.size)
        data = self.uploads.add(number, upload, piece, last=last)
        if data is not None:
            options = {"append": upload.append, "create": upload.create, "create_new": upload.create_new}
            await self.write(upload.parts, data, **options)

    async def write(
        self, parts: Parts, data: bytes | bytearray, *, append: bool, create: bool, create_new: bool
    ) -> None:
        """Write a file. A bytearray is not copied: it belongs to the overlay from then on."""
        found = await self._find(parts)
        if found is not None and create_new:
            raise _exists(parts)
        if found is None and not (create or create_new):
            raise _missing(parts)
        if found is not None:
            await self._require_writable(parts, found)
        if not isinstance(found, File):
            if append and found is not None:
                data = (await self._load(parts)).data + data
            await self._put_file(parts, File(data))
            return
        # A moved program that is overwritten is another program: it must not inherit the executable bit.
        mode = None if found.mode is None else found.mode & 0o666
        if not append:
            await self._put_file(parts, File(data, mode))
            return
        self._require_room(parts, len(found.data) + len(data), len(data))
        # Append in place: a file that is written in a thousand pieces must not be copied a thousand times.
        found.data += data
        found.digest = None
        found.mode = mode
        self._total += len(data)

    async def entries(self, parts: Parts) -> dict[str, Kind]:
        found = await self._find(parts)
        match found:
            case None:
                raise _missing(parts)
            case Dir(through=False):
                entries: dict[str, Kind] = {}
            case Dir() | Fact(kind="folder"):
                entries = await self._hop(lambda: self._folder.entries(parts, self._limits.max_entries))
            case Fact(kind="link"):
                raise is_link(parts)
            case _:
                raise ToolError(f"{quoted(shown(parts))} is not a folder", code="NotADirectory")
        if isinstance(found, Dir):
            for name, child in found.children.items():
                entries.pop(name, None)
                if child is not None:
                    entries[name] = "file" if isinstance(child, File) else "folder"
        if len(entries) > self._limits.max_entries:
            raise too_many(parts, self._limits.max_entries)
        return entries

    async def look(self, parts: Parts) -> Node | Fact:
        """What the run sees at the path; a symlink is not followed. Raises ToolError when there is nothing."""
        found = await self._find(parts)
        if found is None:
            raise _missing(parts)
        return found

    async def make_folder(self, parts: Parts, *, recursive: bool) -> None:
        if recursive:
            for depth in range(1, len(parts)):
                await self._make_one(parts[:depth], exist_ok=True)
        await self._make_one(parts, exist_ok=recursive)

    async def remove(self, parts: Parts, *, recursive: bool) -> None:
        _require_inside(parts, "removed")
        found = await self.look(parts)
        beneath: dict[Parts, Fact] = {}
        if _is_folder(found):
            if not recursive and await self.entries(parts):
                raise _not_empty(parts)
            beneath = await self._walk(parts, found)
        self._require_few([parts, *beneath])
        self._note(beneath)
        self._put(parts, None)

    async def rename(self, parts: Parts, to: Parts) -> None:
        _require_inside(parts, "renamed")
        _require_inside(to, "replaced")
        found = await self.look(parts)
        if to == parts:
            return
        if to[: len(parts)] == parts:
            message = f"{quoted(shown(parts))} cannot be moved into itself"
            raise ToolError(message, code="InvalidData")
        target = await self._find(to)
        if not _is_folder(found):
            _require_file(parts, found)
            if target is not None:
                _require_file(to, target)
            content = found if isinstance(found, File) else await self._load(parts)
            self._require_few([parts, to])
            if not isinstance(content, File):
                self._require_room(to, len(content.data), len(content.data) - _bytes(self._own(to)))
                content = File(content.data, content.fact.mode & 0o777)
            await self._digest(to)
            self._put(parts, None)
            self._put(to, content)
            return
        if target is not None:
            if not _is_folder(target):
                raise ToolError(f"{quoted(shown(to))} is not a folder", code="NotADirectory")
            # The walk also finds entries that a listing does not show.
            if await self.entries(to) or await self._walk(to, target):
                raise _not_empty(to)
        await self._move_folder(parts, to, found)

    async def copy(self, parts: Parts, to: Parts) -> None:
        found = await self.look(parts)
        _require_file(parts, found)
        if to == parts:
            return
        target = await self._find(to)
        if target is not None:
            await self._require_writable(to, target)
        if isinstance(found, File):
            copied = File(found.data[:], found.mode and found.mode & 0o666)
        else:
            content = await self._load(parts)
            # A private file stays private, and no copy becomes executable.
            copied = File(content.data, content.fact.mode & 0o666)
        await self._put_file(to, copied)

    async def _find(self, parts: Parts) -> Found:
        """What the run sees at the path; None when its parent exists and it does not."""
        found = self._shown(parts)
        return await self._look(parts) if found == "disk" else found

    def _shown(self, parts: Parts) -> Node | Literal["disk"] | None:
        """What the run has put at the path; "disk" when the disk shows through."""
        node: Node = self.root
        for depth, name in enumerate(parts):
            if isinstance(node, File):
                raise _around(parts, parts[:depth])
            child = node.children.get(name)
            if child is not None:
                node = child
                continue
            if name not in node.children and node.through:
                return "disk"
            if depth + 1 < len(parts):
                raise _missing(parts)
            return None
        return node

    async def _look(self, parts: Parts) -> Fact | None:
        fact = await self._hop(lambda: self._folder.look(parts))
        self.seen.setdefault(parts, fact)
        return fact

    async def _load(self, parts: Parts) -> Content:
        """Read a file from the disk."""
        content = await self._hop(lambda: self._folder.read(parts, self._limits.max_file_bytes))
        self.seen.setdefault(parts, content.fact)
        return content

    async def _walk(self, parts: Parts, found: Found) -> dict[Parts, Fact]:
        """Everything that the disk has beneath a folder, whether or not the run still sees it."""
        if isinstance(found, Dir) and not found.through:
            return {}
        if parts not in self.seen:
            await self._look(parts)  # the run has written into the folder, but never looked at the folder itself
        most = self._limits.max_files
        return await self._hop(lambda: self._folder.walk(parts, most))

    async def _digest(self, parts: Parts) -> None:
        """Keep the digest of a file on the disk, to know at the end whether writing it has changed anything."""
        seen = self.seen.get(parts)
        if seen is None or seen.kind != "file" or parts in self.digests:
            return
        most = self._limits.max_file_bytes
        self.digests[parts] = await self._hop(lambda: self._folder.digest(parts, most))

    async def _require_writable(self, parts: Parts, found: Found) -> None:
        """Raise ToolError unless the file may be written into. Removing or replacing a file needs no permission on the
        file, only on its folder."""
        _require_file(parts, found)
        # A file without any write bit is protected from root too, for whom the file system makes no difference.
        protected = isinstance(found, File | Fact) and found.mode is not None and not found.mode & 0o222
        if protected or (isinstance(found, Fact) and not await self._hop(lambda: self._folder.may_write(parts))):
            raise ToolError(f"{quoted(shown(parts))} is read-only", code="PermissionDenied")

    async def _hop(self, work: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
        done = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
        if self._folder.closed:
            raise has_ended()
        return done

    async def _make_one(self, parts: Parts, *, exist_ok: bool) -> None:
        found = await self._find(parts)
        if found is None:
            self._require_few([parts])
            self._put(parts, Dir(through=False))
        elif isinstance(found, Fact) and found.kind == "link" and exist_ok:
            raise is_link(parts)
        elif not (exist_ok and _is_folder(found)):
            raise _exists(parts)

    async def _put_file(self, parts: Parts, file: File) -> None:
        self._require_few([parts])
        old = self._own(parts)
        self._require_room(parts, len(file.data), len(file.data) - _bytes(old))
        await self._digest(parts)
        seen = self.seen.get(parts)
        if seen is not None and seen.kind == "file" and seen.size == len(file.data) > PIECE_BYTES:
            # Hash it now, on a thread: at the end of the run, hashing all such files would block the event loop.
            file.digest = await self._hop(lambda: digest(file.data))
        self._put(parts, file)

    async def _move_folder(self, parts: Parts, to: Parts, found: Found) -> None:
        """Move a folder by reading everything in it, so that the commit need not know where it was before."""
        beneath = await self._walk(parts, found)
        self._require_few([parts, *beneath, to])
        top = found if isinstance(found, Dir) else Dir(through=True)
        whole, wanted = _merged(parts, top, _by_folder(beneath))
        arriving = [(*to, *rest) for rest in _paths(whole)]
        arriving += [(*to, *path[len(parts) :]) for path, _, _ in wanted]
        self._require_few([parts, *beneath, to, *arriving])
        _require_reachable(arriving)
        await self._fill(parts, wanted)
        for path in arriving:
            await self._digest(path)
        self._note(beneath)
        self._put(parts, None)
        self._put(to, whole)
        self._note(dict.fromkeys(arriving))

    async def _fill(self, parts: Parts, wanted: Wanted) -> None:
        """Read files from the disk into the folders that need them."""
        for path, fact, _ in wanted:
            _require_file(path, fact)
        self._require_room(parts, 0, sum(fact.size for _, fact, _ in wanted))
        loaded = 0
        for path, _, into in wanted:
            content = await self._load(path)
            loaded += len(content.data)
            self._require_room(path, len(content.data), loaded)
            into.children[path[-1]] = File(content.data, content.fact.mode & 0o777)

    def _own(self, parts: Parts) -> Node | None:
        node: Node | None = self.root
        for name in parts:
            node = node.children.get(name) if isinstance(node, Dir) else None
        return node

    def _put(self, parts: Parts, node: Node | None) -> None:
        """Set what is at the path now. The caller has looked before, so all its parents are folders."""
        above = self.root
        for name in parts[:-1]:
            child = above.children.get(name)
            if not isinstance(child, Dir):
                child = above.children[name] = Dir(through=True)
            above = child
        self._total += _bytes(node) - _bytes(above.children.get(parts[-1]))
        above.children[parts[-1]] = node
        self._note({parts: None})

    def _note(self, paths: dict[Parts, Fact] | dict[Parts, None]) -> None:
        """Count paths as changed. A fact that was seen at a path earlier is kept."""
        for path, fact in paths.items():
            self.seen.setdefault(path, fact)
            self._changed.add(path)

    def _require_few(self, paths: list[Parts]) -> None:
        if len(self._changed.union(paths)) > self._limits.max_files:
            message = f"More than {self._limits.max_files} files and folders would be changed"
            raise ToolError(message, code="LimitError")

    def _require_room(self, parts: Parts, size: int, more: int) -> None:
        if size > self._limits.max_file_bytes:
            raise too_large(parts, size, self._limits.max_file_bytes)
        if self._total + self.uploads.size + more > self._limits.max_total_bytes:
            message = f"More than {self._limits.max_total_bytes} bytes would be written in all"
            raise ToolError(message, code="LimitError")


def same_content(file: File, fact: Fact, old: bytes | None) -> bool:
    """Whether a file that the run wrote has its old content. The sizes decide most cases; hashing takes time."""
    return len(file.data) == fact.size and old is not None and (file.digest or digest(file.data)) == old


def _is_folder(found: Found) -> bool:
    return isinstance(found, Dir) or (isinstance(found, Fact) and found.kind == "folder")


def _bytes(node: Node | None) -> int:
    match node:
        case File():
            return len(node.data)
        case Dir():
            return sum(_bytes(child) for child in node.children.values())
        case _:
            return 0


def _paths(node: Dir) -> Iterator[Parts]:
    """The paths of everything in a folder that the run has made."""
    for name, child in node.children.items():
        yield (name,)
        if isinstance(child, Dir):
            yield from ((name, *rest) for rest in _paths(child))


def _merged(parts: Parts, node: Dir, beneath: dict[Parts, list[tuple[Parts, Fact]]]) -> tuple[Dir, Wanted]:
    """A copy of a folder as the run sees it, independent of the disk; and the files on the disk that it still lacks."""
    whole = Dir(through=False)
    wanted: Wanted = []
    for name, child in node.children.items():
        if isinstance(child, File):
            whole.children[name] = child
        elif child is not None:
            whole.children[name], more = _merged((*parts, name), child, beneath)
            wanted += more
    for path, fact in beneath.get(parts, ()) if node.through else ():
        if path[-1] in node.children:
            continue
        if fact.kind == "folder":
            whole.children[path[-1]], more = _merged(path, Dir(through=True), beneath)
            wanted += more
        else:
            wanted.append((path, fact, whole))
    return whole, wanted


def _by_folder(facts: dict[Parts, Fact]) -> dict[Parts, list[tuple[Parts, Fact]]]:
    folders: dict[Parts, list[tuple[Parts, Fact]]] = {}
    for path, fact in facts.items():
        folders.setdefault(path[:-1], []).append((path, fact))
    return folders


def _require_reachable(paths: list[Parts]) -> None:
    # Otherwise, folders moved into folders could grow deeper than any path, and deeper than the host can walk.
    for path in paths:
        if len(path) > MAX_DEPTH or len("/".join(path).encode()) > MAX_PATH_BYTES:
            raise ToolError(f"{quoted(shown(path))} is too deep or too long", code="InvalidData")


def _require_file(parts: Parts, found: Found) -> None:
    match found:
        case File() | Fact(kind="file"):
            return
        case Fact(kind="link"):
            raise is_link(parts)
        case Fact(kind="other"):
            raise not_regular(parts)
        case _:
            raise _folder(parts)


def _require_inside(parts: Parts, verb: str) -> None:
    if not parts:
        raise ToolError(f"The workspace itself cannot be {verb}", code="PermissionDenied")


def _missing(parts: Parts) -> ToolError:
    return ToolError(f"{quoted(shown(parts))} does not exist", code="NotFound")


def _exists(parts: Parts) -> ToolError:
    return ToolError(f"{quoted(shown(parts))} already exists", code="AlreadyExists")


def _around(parts: Parts, file: Parts) -> ToolError:
    return ToolError(f"{quoted(shown(parts))}: {quoted(shown(file))} is not a folder", code="NotADirectory")


def _folder(parts: Parts) -> ToolError:
    return ToolError(f"{quoted(shown(parts))} is a folder", code="IsADirectory")


def _not_empty(parts: Parts) -> ToolError:
    return ToolError(f"{quoted(shown(parts))}: Directory not empty", code="NotEmpty")
