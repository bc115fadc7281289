"""Signs and verifies approvals with the key of the home: a person who edits a document cannot forge an approval.

Two things are signed. An approval is the owner's consent to one code with one policy. The seal says that the cortex
itself set the document's status: for a disabled neuron the approval is still valid, so the status needs its own
signature.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sandbox import FileLock, LockBusy, move_aside, private_folder, read_private, replace_file

from ..contracts import Approval, FileGrant, Neuron, Status, StorageError
from .hashes import about_hash, canonical, code_hash, policy_hash
from .trial import is_uncounted

log = logging.getLogger("motor_cortex")

KEY_FILE = "approval.key"
KEY_BYTES = 32
EDITED_COUNTS = "what its trial has counted was changed by hand, or by another program"
CHANGED_BY_HAND = "its document was changed by hand, or by another program"


class PurposeKey:
    """A secret made from that of the home, for signatures of one kind only."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "PurposeKey(…)"

    def signature(self, *facts: Any) -> str:
        return hmac.new(self._secret, canonical(facts), hashlib.sha256).hexdigest()

    def has_signed(self, signature: str, *facts: Any) -> bool:
        return _same(self.signature(*facts), signature)


class ApprovalKey:
    """The secret of a home. Any holder of it can approve: it never leaves its file and this object."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret

    def __repr__(self) -> str:
        return "ApprovalKey(…)"

    @classmethod
    def load_or_make(cls, folder: Path) -> ApprovalKey:
        """The key of the folder, the same for all processes. Raises StorageError.

        A damaged key file is set aside, and what it signed has to be approved again.
        """
        path = private_folder(folder) / KEY_FILE
        lock = FileLock(folder / f"{KEY_FILE}.lock")
        try:
            with lock.held():
                return cls(_read(path) or _make(path))
        except (OSError, LockBusy) as error:
            why = getattr(error, "strerror", None) or error
            raise StorageError(f'Cannot read or make "{path}": {why}') from error
        finally:
            lock.close()

    @classmethod
    def load(cls, folder: Path) -> ApprovalKey | None:
        """The key, for read-only callers: nothing is created or set aside. None when no key can be read."""
        try:
            return cls(read_private(folder / KEY_FILE, KEY_BYTES + 1) or b"")
        except (OSError, ValueError):
            return None

    def for_purpose(self, purpose: str) -> PurposeKey:
        """The key for signatures of another kind. What is signed with it is no approval, and the reverse."""
        return PurposeKey(hmac.new(self._secret, canonical(["motor-cortex key", purpose]), hashlib.sha256).digest())

    def sign(
        self,
        neuron_id: str,
        nonce: str,
        code_hash: str,
        policy_hash: str,
        *,
        by: str,
        at: float,
        files: FileGrant | None = None,
    ) -> Approval:
        return Approval(
            nonce=nonce,
            code_hash=code_hash,
            policy_hash=policy_hash,
            by=by,
            at=at,
            files=files,
            signature=self._mac("approval", [neuron_id, nonce, code_hash, policy_hash, by, at, *_with(files)]),
        )

    def verify(self, neuron_id: str, approval: Approval) -> bool:
        facts = [neuron_id, approval.nonce, approval.code_hash, approval.policy_hash, approval.by, approval.at]
        facts += _with(approval.files)
        return _same(self._mac("approval", facts), approval.signature)

    def sealed(self, neuron: Neuron) -> Neuron:
        return neuron.model_copy(update={"seal": self._seal(neuron)})

    def is_sealed(self, neuron: Neuron) -> bool:
        return _same(self._seal(neuron), neuron.seal)

    def counted(self, neuron: Neuron) -> Neuron:
        """The neuron with the cortex's seal on what its trial has counted."""
        if neuron.trial is None:
            return neuron
        return neuron.model_copy(update={"trial": neuron.trial.model_copy(update={"seal": self._of_counts(neuron)})})

    def is_counted(self, neuron: Neuron) -> bool:
        """Whether the cortex itself has counted what its trial says; true when nothing is counted."""
        trial = neuron.trial
        if trial is None or neuron.status is not Status.TRIAL:
            return True
        return is_uncounted(trial) if not trial.seal else _same(self._of_counts(neuron), trial.seal)

    def _of_counts(self, neuron: Neuron) -> str:
        trial = neuron.trial
        assert trial is not None
        counted = [trial.started_at, trial.awake_s, list(trial.hours), trial.counters.model_dump(mode="json")]
        return self._mac("counts", [neuron.id, neuron.version, *counted])

    def _seal(self, neuron: Neuron) -> str:
        trial, request = neuron.trial, neuron.request
        facts = [
            neuron.id,
            neuron.status.value,
            code_hash(neuron.code),
            policy_hash(neuron.policy),
            about_hash(neuron),
            None if trial is None else [trial.started_at, trial.ends_at, trial.min_signals],
            None if request is None else request.model_dump(mode="json"),
            # What the owner grants now, and not what an approval of earlier would grant: else deleting the newer
            # approval would bring the older grant back.
            *_with(granted_files(neuron)),
        ]
        return self._mac("seal", facts)

    def _mac(self, purpose: str, facts: Sequence[Any]) -> str:
        # A signature for one purpose must not be valid for another.
        return hmac.new(self._secret, canonical([f"motor-cortex {purpose} 1", *facts]), hashlib.sha256).hexdigest()


def why_not_approved(neuron: Neuron, key: ApprovalKey) -> str | None:
    """Why there is no valid approval of exactly this code with exactly this policy; None when there is one."""
    code, policy = code_hash(neuron.code), policy_hash(neuron.policy)
    if neuron.metadata.code_hash != code:
        return "its code does not match its hash"
    fitting = [one for one in neuron.approvals if one.code_hash == code and one.policy_hash == policy]
    if not fitting:
        return "its code with its policy was never approved"
    if not any(key.verify(neuron.id, one) for one in fitting):
        return "its approval was not signed by this home"
    if fitting[-1].files is not None and not key.verify(neuron.id, fitting[-1]):
        return "its permission for files was not signed by this home"
    return None


def granted_files(neuron: Neuron) -> FileGrant | None:
    """The folder that came with the newest approval of exactly this code with exactly this policy, while it is awake.
    The seal covers it: of a document whose seal was verified, this is what the owner decided."""
    if not neuron.is_awake:
        return None
    code, policy = code_hash(neuron.code), policy_hash(neuron.policy)
    fitting = [one for one in neuron.approvals if one.code_hash == code and one.policy_hash == policy]
    return fitting[-1].files if fitting else None


def why_not_awake(neuron: Neuron, key: ApprovalKey) -> str | None:
    """Why this neuron must not run; None when it may. A document that was edited by hand must not."""
    if not neuron.is_awake:
        return f"it is {neuron.status.value}"
    reason = why_not_approved(neuron, key)
    if reason is None and not key.is_sealed(neuron):
        reason = CHANGED_BY_HAND
    # Counts without a seal are of an earlier version, and do not count; a wrong one is no accident.
    is_edited = neuron.trial is not None and bool(neuron.trial.seal) and not key.is_counted(neuron)
    return EDITED_COUNTS if reason is None and is_edited else reason


def _with(files: FileGrant | None) -> list[Any]:
    """Facts to sign. None without a grant: what was signed before there were any stays valid."""
    return [] if files is None else [["files", files.folder, files.write]]


def _same(expected: str, given: str) -> bool:
    # As bytes: `compare_digest` raises for texts that are not ASCII, and a document may hold any.
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogatepass"))


def _read(path: Path) -> bytes | None:
    secret = read_private(path, KEY_BYTES + 1, close=True)
    if secret is None or len(secret) == KEY_BYTES:
        return secret
    aside = move_aside(path)
    log.warning('"%s" was damaged and is now "%s": all neurons have to be approved again', path, aside)
    return None


def _make(path: Path) -> bytes:
    secret = secrets.token_bytes(KEY_BYTES)
    replace_file(path, secret, durable=True)
    return secret
