"""The audit log: records what the agent did, in a hash chain that reveals any later change."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .chain_check import ChainCheck, ChainState
    from .code_folder import code_hash
    from .journal import AuditJournal, digest
    from .lines import Record
    from .metrics import CortexMetrics
    from .ports import AuditError, FactRefused, Trail
    from .spine import Spine
    from .trail import Audit
    from .verdict import Damage, Verdict
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "chain_check": "ChainCheck ChainState",
            "code_folder": "code_hash",
            "journal": "AuditJournal digest",
            "lines": "Record",
            "metrics": "CortexMetrics",
            "ports": "AuditError FactRefused Trail",
            "spine": "Spine",
            "trail": "Audit",
            "verdict": "Damage Verdict",
        },
    )
