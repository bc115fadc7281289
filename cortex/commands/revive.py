"""`cortex revive`: turn the kill switch off, after recording this in the audit log."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from cortex.audit import Audit, AuditError
from cortex.home import Home
from cortex.text import visible
from neurons import KillSwitch, On, Refused, SwitchError

from .exits import REFUSED, SUCCESS, CommandError
from .kill import neuron_named
from .options import load_existing


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why it is safe again; kept in the audit")
    parser.add_argument(
        "--neuron", metavar="ID", help="only the switch of this neuron: its id, the beginning of it, or its name"
    )
    parser.add_argument("--json", action="store_true", help="print {on, was_on, home, reason, …}")


def run(options: Namespace) -> int:
    settings = load_existing(options)
    home = Home(settings.home)
    neuron, doubt = neuron_named(home.state, options.neuron) if options.neuron is not None else (None, None)
    audit = Audit(home.audit, settings.audit)
    switch = KillSwitch(home.state, record=audit.record)
    try:
        before = switch.turn_off(options.reason, "owner", neuron=neuron)
    except Refused as error:
        raise CommandError(str(error)) from error
    except SwitchError as error:
        raise CommandError(str(error), REFUSED) from error
    except AuditError as error:
        raise CommandError(f"it is still on, because that could not be recorded: {error}", REFUSED) from error
    finally:
        audit.close()
    if doubt is not None and not isinstance(before, On):
        raise CommandError(doubt)
    still = switch.state(neuron)
    if options.json:
        print(json.dumps(_as_json(before, still, str(settings.home))))
    else:
        _show(before, still, neuron)
    return SUCCESS


def _as_json(before: object, still: object, home: str) -> dict[str, Any]:
    was = before._asdict() if isinstance(before, On) else {}
    return {"on": isinstance(still, On), "was_on": isinstance(before, On), "home": home, **was}


def _show(before: object, still: object, neuron: str | None) -> None:
    what = f"The kill switch of {neuron}" if neuron else "The kill switch"
    print(f"{what} is off" if isinstance(before, On) else f"{what} was not on")
    if isinstance(still, On):
        print(visible(str(still)))
