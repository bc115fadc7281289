"""What happened, in a log that shows when somebody changed it."""

from __future__ import annotations

from .code_folder import code_hash
from .errors import AuditError, FactRefused
from .lines import Record
from .trail import Audit
from .verdict import Damage, Verdict

__all__ = ["Audit", "AuditError", "Damage", "FactRefused", "Record", "Verdict", "code_hash"]
