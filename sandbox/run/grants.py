"""Opens the network and the folder that one run was granted, and closes them when the run ends, however it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ..contracts import Changes, SandboxError, Tier
from ..network import NetworkPolicy

if TYPE_CHECKING:
    from ..network import FetchBroker
    from ..workspace import Transaction, Workspace, WorkspaceLimits


class GrantRefused(SandboxError):
    """A grant could not be opened: a secret that the policy names is missing. The message says which."""


class Grants:
    """An async context manager: `network` and `files` are open inside of it, or None where not granted."""

    def __init__(self, tier: Tier, policy: NetworkPolicy, workspace: Workspace | None, limits: WorkspaceLimits) -> None:
        _check(policy, NetworkPolicy)
        if workspace is not None:
            from ..workspace import Workspace  # noqa: PLC0415 - a run without one need not pay for it

            _check(workspace, Workspace)
        self._tier = tier
        self._policy = policy
        self._workspace = workspace
        self._limits = limits
        self.network: FetchBroker | None = None
        self.files: Transaction | None = None
        self._is_taken = False

    async def __aenter__(self) -> Self:
        """Open the network and the files that were granted. Raises GrantRefused."""
        try:
            if self._tier is Tier.NETWORK:
                from ..network import FetchBroker  # noqa: PLC0415 - likewise

                self.network = FetchBroker(self._policy)
            if self._workspace is not None:
                self.files = self._workspace.begin(self._limits)
        except SandboxError as error:
            raise GrantRefused(str(error)) from error
        return self

    def changes(self) -> Changes:
        """The changes that the run proposes. From here on they belong to the caller."""
        self._is_taken = True
        return self.files.changes() if self.files is not None else Changes()

    async def __aexit__(self, *exc: object) -> None:
        if self.files is not None and not self._is_taken:
            self.files.drop()
        if self.network is not None:
            await self.network.aclose()


def _check(given: object, wanted: type) -> None:
    if not isinstance(given, wanted):
        raise TypeError(f"{wanted.__name__} expected, not {type(given).__name__}")
