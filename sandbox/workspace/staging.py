"""Holds a commit's new files in a folder until they are moved into place, and can undo each move.

Every step can be repeated and undone, and the folder itself shows which steps were taken:

- `new-N` waits here until it is moved into place: if it is gone, it is in place;
- the entry that it replaces, or that is removed, is set aside here as `old-N`;
- a file `journal` means: go on to the end. Renaming the draft to this name is atomic, and is the commit;
- a file `undo` means: go back to the beginning (roll back);
- neither means that nothing was begun, and everything here may be deleted.

`leftovers.py` tells such a folder from an imitation made by another user.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .beneath import LIST, TRAVERSE, open_beneath
from .difference import Difference
from .folder import Fact, fact_at
from .journal import MAX_BYTES, Journal, Step, decode
from .leftovers import fresh_name, is_entry, is_private, open_ours, open_staging
from .overlay import File
from .paths import Parts
from .terms import WorkspaceError, conflict

GO_ON = "journal"
GO_BACK = "undo"

Checkpoint = Callable[[str], None]
"""Called between any two operations on the disk: there a test kills the process."""

# Errors of a folder that cannot be flushed, or no longer exists.
_NOTHING_TO_FLUSH = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EINVAL)


def nowhere(where: str) -> None:
    """The default checkpoint, which does nothing."""


@dataclass(frozen=True, slots=True)
class Left:
    """An unfinished commit. `journal` is None when the journal is not about this folder."""

    journal: Journal | None
    back: bool


class Staging:
    """The staging folder of one commit, and the steps to and from it."""

    def __init__(self, root: int, name: str, here: int, checkpoint: Checkpoint) -> None:
        self._root = root
        self.name = name
        self._here = here
        self._at = checkpoint
        self._groups: dict[Parts, int | None] = {}
        """By the path of a new folder: the group that it passes on to new entries (setgid)."""
        self.touched: set[int] = set()
        """Inodes of the files that this commit has set aside: that changes their ctime."""

    @classmethod
    def make(cls, root: int, checkpoint: Checkpoint) -> Staging:
        name = fresh_name()
        os.mkdir(name, 0o700, dir_fd=root)
        try:
            checkpoint("made staging")
            return cls(root, name, _open_private(root, name), checkpoint)
        except (OSError, WorkspaceError):
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=root)
            raise

    @classmethod
    def left_by_us(cls, root: int, name: str, checkpoint: Checkpoint) -> Staging | None:
        """Open the staging folder of an unfinished commit of this user; None if it is not one."""
        here = open_ours(root, name)
        return None if here is None else cls(root, name, here, checkpoint)

    def close(self) -> None:
        os.close(self._here)

    def stage(self, step: Step, one: Difference) -> Step:
        """Create `new-N`; return the step with its inode."""
        if not step.new:
            return step
        group = self._handed_down(step.path[:-1])
        if isinstance(one.after, File):
            self._stage_file(step.new_name, one.after, one.before if step.old else None, group)
        else:
            self._stage_folder(step.new_name, group)
            self._groups[step.path] = group
        self._at("staged")
        inode = os.stat(step.new_name, dir_fd=self._here, follow_symlinks=False).st_ino
        return step.model_copy(update={"inode": inode})

    def begin(self, steps: Iterable[Step]) -> None:
        """Write the journal. When this returns, the commit has happened; the steps only carry it out."""
        journal = Journal(inode=os.fstat(self._here).st_ino, steps=tuple(steps))
        descriptor = self._create("journal-draft", 0o600)
        try:
            _write_all(descriptor, journal.encode())
            self._at("wrote draft")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        # The files named in the journal must be on the disk before the journal is, also after a power cut.
        os.fsync(self._here)
        os.fsync(self._root)
        self._at("flushed draft")
        self._rename_here("journal-draft", GO_ON)

    def forward(self, step: Step, before: Fact | None = None) -> None:
        """Take one step. Raises WorkspaceConflict when the entry found is not `before`, if that is given."""
        aside = step.old and self.fact(step.old_name) is None
        ready = step.new and self.fact(step.new_name) is not None
        if not (aside or ready):
            return  # the step was taken before, and its parent folder may be gone by now
        with contextlib.ExitStack() as stack:
            above = self._above(step, stack)
            if aside:
                self._check_untouched(step, above, before)
                self._set_aside(step, above)
                self._at("set aside")
                self._check_old(step, before)
            if ready:
                if not step.old and _fact_in(above, step.path[-1]) is not None:
                    raise conflict(step.path, "was made by another process during the commit")
                os.rename(step.new_name, step.path[-1], src_dir_fd=self._here, dst_dir_fd=above)
                self._at("put in place")

    def undo(self, step: Step) -> None:
        """Undo one step, if it was taken. Files that other processes have put there meanwhile stay."""
        kept = step.old and self.fact(step.old_name) is not None
        arrived = step.new and self.fact(step.new_name) is None
        with contextlib.ExitStack() as stack:
            try:
                if kept or arrived:
                    self._back(step, self._above(step, stack))
            except FileNotFoundError:
                # A new folder that is gone took its new entries along. But an old entry set aside must be restored.
                if kept:
                    raise
        self._at("went back")

    def turn_back(self) -> None:
        """Mark that the commit is being undone. Renaming the journal takes no space on a full disk."""
        self._rename_here(GO_ON, GO_BACK)

    def left(self) -> Left | None:
        """The unfinished commit that was left here; None where none was begun."""
        for name in (GO_BACK, GO_ON):
            try:
                descriptor = os.open(
                    name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._here
                )
            except FileNotFoundError:
                continue
            with open(descriptor, "rb") as file:
                found = decode(file.read(MAX_BYTES)) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
            return Left(found if found is not None and self._wrote(found) else None, back=name == GO_BACK)
        return None

    def _wrote(self, journal: Journal) -> bool:
        """Whether the journal is about this folder and the files in it."""
        waiting = ((step, self.fact(step.new_name)) for step in journal.steps if step.new)
        return journal.inode == os.fstat(self._here).st_ino and all(
            fact is None or fact.inode == step.inode for step, fact in waiting
        )

    def flush(self, steps: Iterable[Step]) -> None:
        """Flush the changed folders to the disk (fsync)."""
        for parts in sorted({step.path[:-1] for step in steps}):
            self._flush_folder(parts)
        os.fsync(self._here)
        self._at("flushed folders")

    def forget(self) -> None:
        """Delete the journal: from here on nothing is to be done, forward or back."""
        for name in (GO_ON, GO_BACK):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._here)
        os.fsync(self._here)
        self._at("removed journal")

    def remove(self) -> None:
        """Delete everything here, the journal first: half of a staging folder must not be taken for a whole one."""
        self.forget()
        for name in filter(is_entry, os.listdir(self._here)):
            self._delete(name)
        os.rmdir(self.name, dir_fd=self._root)
        self._at("removed staging")

    def fact(self, name: str) -> Fact | None:
        return _fact_in(self._here, name)

    def _handed_down(self, parts: Parts) -> int | None:
        """The group that a folder passes on to new entries (setgid); None when they get the creator's group."""
        if parts in self._groups:
            return self._groups[parts]
        descriptor = open_beneath(self._root, parts, TRAVERSE)
        try:
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        return status.st_gid if status.st_mode & stat.S_ISGID else None

    def _stage_folder(self, name: str, group: int | None) -> None:
        os.mkdir(name, 0o777, dir_fd=self._here)
        if group is None:
            return
        with contextlib.suppress(PermissionError):
            os.chown(name, -1, group, dir_fd=self._here, follow_symlinks=False)
            mode = os.stat(name, dir_fd=self._here, follow_symlinks=False).st_mode
            os.chmod(name, stat.S_IMODE(mode) | stat.S_ISGID, dir_fd=self._here)

    def _stage_file(self, name: str, file: File, before: Fact | None, group: int | None) -> None:
        descriptor = self._create(name, 0o666)
        try:
            self._at("created")
            with memoryview(file.data) as view:
                _write_all(descriptor, view)
            self._at("written")
            if before is not None and before.kind == "file":
                _keep_owner_and_mode(descriptor, before)
            else:
                if group is not None:
                    with contextlib.suppress(PermissionError):
                        os.fchown(descriptor, -1, group)
                if file.mode is not None:
                    os.fchmod(descriptor, file.mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _create(self, name: str, mode: int) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, mode, dir_fd=self._here)

    def _rename_here(self, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=self._here, dst_dir_fd=self._here)
        self._at(f"named {new}")
        os.fsync(self._here)
        self._at(f"flushed {new}")

    def _above(self, step: Step, stack: contextlib.ExitStack) -> int:
        above = open_beneath(self._root, step.path[:-1], TRAVERSE)
        stack.callback(os.close, above)
        return above

    def _check_untouched(self, step: Step, above: int, before: Fact | None) -> None:
        """Check the entry again before setting it aside, which itself changes its ctime: afterwards less can be
        compared."""
        # With two names for one file (hard links), the first has been set aside already.
        if before is None or before.inode in self.touched:
            return
        if not before.is_still(_fact_in(above, step.path[-1])):
            raise conflict(step.path, "was changed by another process during the commit")
        self.touched.add(before.inode)

    def _set_aside(self, step: Step, above: int) -> None:
        name = step.path[-1]
        if step.new:
            # Make a hard link, so that a reader finds the old or the new file at any moment. Not all file systems have
            # hard links.
            with contextlib.suppress(OSError):
                os.link(name, step.old_name, src_dir_fd=above, dst_dir_fd=self._here, follow_symlinks=False)
                return
        os.rename(name, step.old_name, src_dir_fd=above, dst_dir_fd=self._here)

    def _check_old(self, step: Step, before: Fact | None) -> None:
        """Check the old entry once it is set aside: a process that ignores the lock may have written after the last
        check (a race)."""
        found = self.fact(step.old_name)
        if before is not None and not before.looks_like(found):
            raise conflict(step.path, "was changed by another process during the commit")
        if found is not None and found.kind == "folder" and self._holds_something(step.old_name):
            raise conflict(step.path, "was written to by another process during the commit")

    def _holds_something(self, name: str) -> bool:
        descriptor = os.open(name, LIST | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._here)
        try:
            return bool(os.listdir(descriptor))
        finally:
            os.close(descriptor)

    def _back(self, step: Step, above: int) -> None:
        name = step.path[-1]
        there = _fact_in(above, name)
        arrived = step.new and self.fact(step.new_name) is None and there is not None and there.inode == step.inode
        if step.old and self.fact(step.old_name) is not None:
            if there is None or arrived:
                os.rename(step.old_name, name, src_dir_fd=self._here, dst_dir_fd=above)
        elif arrived and there is not None and there.kind == "folder":
            # Remove the folder only if it is empty: other processes may have put files into it.
            try:
                os.rmdir(name, dir_fd=above)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
        elif arrived:
            os.rename(name, step.new_name, src_dir_fd=above, dst_dir_fd=self._here)

    def _flush_folder(self, parts: Parts) -> None:
        try:
            descriptor = open_beneath(self._root, parts, LIST)
        except OSError as error:
            if error.errno in _NOTHING_TO_FLUSH:
                return
            raise
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _delete(self, name: str) -> None:
        fact = self.fact(name)
        if fact is None or fact.kind != "folder":
            os.unlink(name, dir_fd=self._here)
        else:
            try:
                os.rmdir(name, dir_fd=self._here)
            except OSError:
                # A process that still had the removed folder open has written into it.
                shutil.rmtree(name, dir_fd=self._here)
        self._at("deleted")


def _open_private(root: int, name: str) -> int:
    """Open the folder that was just made. Raises WorkspaceError when it is another one: other processes may rename what
    is around it."""
    here = open_staging(root, name)
    try:
        if not is_private(os.fstat(here)) or os.listdir(here):
            message = "Cannot commit to the workspace: its file system keeps no owners or permissions"
            raise WorkspaceError(f"{message}, or another process is in the way; nothing has changed")
        # Clear the setgid bit that the parent may pass on: files staged here may go to other folders.
        os.fchmod(here, 0o700)
    except BaseException:
        os.close(here)
        raise
    return here


def _keep_owner_and_mode(descriptor: int, before: Fact) -> None:
    """Give a new file the owner and mode of the file that it replaces."""
    status = os.fstat(descriptor)
    if (before.uid, before.gid) != (status.st_uid, status.st_gid):
        # Only root may give files away. For other users the file becomes theirs, as with any editor; its group is kept
        # if the user is in it.
        try:
            os.fchown(descriptor, before.uid, before.gid)
        except PermissionError:
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, -1, before.gid)
    mode = before.mode & 0o777
    if os.fstat(descriptor).st_gid != before.gid:
        # The permissions of the old group are not for another group: the new group gets only those of "other".
        mode = mode & ~0o070 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def _fact_in(above: int, name: str) -> Fact | None:
    return fact_at(above, (name,))


def _write_all(descriptor: int, data: bytes | memoryview) -> None:
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])
