"""Starts the sandbox's processes, records which ones run, and stops and kills them."""

from ..contracts.lazy_doors import lazy_door

# Not imported from `typing`, which takes 15 ms: `cortex kill` imports this package and must be fast.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from .children import CLOSING_TIMEOUT_S, kill_piped, pipes_of, reap, start_piped_python
    from .command import PERMISSIONS, Command, deno_command, find_deno
    from .early_start import HeadStart, can_fork_serve
    from .fork_server import ForkServer
    from .killing import KillReport, kill_recorded, stop_hosts
    from .priority import go_first, go_like_others
    from .process import PlainSpawner, Spawner, WorkerProcess
    from .process_notes import NOT_NOTED, Running
    from .readiness import readable_before, write_all
    from .svg import NotRendered, render_svg
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "children": "CLOSING_TIMEOUT_S kill_piped pipes_of reap start_piped_python",
            "command": "Command PERMISSIONS deno_command find_deno",
            "early_start": "HeadStart can_fork_serve",
            "fork_server": "ForkServer",
            "killing": "KillReport kill_recorded stop_hosts",
            "priority": "go_first go_like_others",
            "process": "PlainSpawner Spawner WorkerProcess",
            "process_notes": "NOT_NOTED Running",
            "readiness": "readable_before write_all",
            "svg": "NotRendered render_svg",
        },
    )
