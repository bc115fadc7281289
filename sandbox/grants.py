"""What one run is given beyond its code: the network, files. Opened before it, and closed after it whatever happens."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from .changes import Changes
from .contracts import Tier
from .errors import SandboxError
from .network import FetchBroker, NetworkPolicy
from .workspace import Transaction, Workspace, WorkspaceLimits


class GrantRefused(SandboxError):
    """A grant could not be opened: a secret that the policy names is missing. The message says which."""


class Grants:
    def __init__(self, tier: Tier, policy: NetworkPolicy, workspace: Workspace | None, limits: WorkspaceLimits) -> None:
        for given, wanted in ((policy, NetworkPolicy), (workspace, Workspace)):
            if given is not None and not isinstance(given, wanted):
                raise TypeError(f"{wanted.__name__} expected, not {type(given).__name__}")
        self._tier = tier
        self._policy = policy
        self._workspace = workspace
        self._limits = limits
        self.network: FetchBroker | None = None
        self.files: Transaction | None = None
        self._is_taken = False

    async def __aenter__(self) -> Self:
        """Raises GrantRefused."""
        try:
            if self._tier is Tier.NETWORK:
                self.network = FetchBroker(self._policy)
            if self._workspace is not None:
                self.files = self._workspace.begin(self._limits)
        except SandboxError as error:
            raise GrantRefused(str(error)) from error
        return self

    def changes(self) -> Changes:
        """What the run would change. From here on they belong to the caller."""
        self._is_taken = True
        return self.files.changes() if self.files is not None else Changes()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.files is not None and not self._is_taken:
            self.files.drop()
        if self.network is not None:
            await self.network.aclose()
