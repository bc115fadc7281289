"""The audit: a log of what happened that shows when it was tampered with."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .code_folder import code_hash as code_hash
    from .journal import Journal as Journal
    from .lines import Record as Record
    from .ports import AuditError as AuditError, FactRefused as FactRefused, Trail as Trail
    from .spine import Spine as Spine
    from .trail import Audit as Audit
    from .verdict import Damage as Damage, Verdict as Verdict
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "code_folder": ["code_hash"],
            "journal": ["Journal"],
            "lines": ["Record"],
            "ports": ["AuditError", "FactRefused", "Trail"],
            "spine": ["Spine"],
            "trail": ["Audit"],
            "verdict": ["Damage", "Verdict"],
        },
    )
