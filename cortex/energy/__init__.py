"""Energy: what an agent may spend on acting, how it recharges, and a ledger of it that survives any crash."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .errors import EnergyBusy as EnergyBusy, EnergyError as EnergyError, EnergyNotOnDisk as EnergyNotOnDisk
    from .forecasts import Forecast as Forecast, TierForecast as TierForecast, forecast as forecast
    from .gate import Affordable as Affordable, Insufficient as Insufficient, recharged as recharged, weigh as weigh
    from .ledger import Entry as Entry
    from .metering import metered_cost as metered_cost
    from .notes import energy_note as energy_note, prices as prices
    from .ports import Ledger as Ledger
    from .reserve import EnergyReserve as EnergyReserve, Reservation as Reservation, is_untouched as is_untouched
    from .wording import (
        drawn as drawn,
        explain as explain,
        in_about as in_about,
        outlook as outlook,
        rounded_down as rounded_down,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "errors": ["EnergyBusy", "EnergyError", "EnergyNotOnDisk"],
            "forecasts": ["Forecast", "TierForecast", "forecast"],
            "gate": ["Affordable", "Insufficient", "recharged", "weigh"],
            "ledger": ["Entry"],
            "metering": ["metered_cost"],
            "notes": ["energy_note", "prices"],
            "ports": ["Ledger"],
            "reserve": ["EnergyReserve", "Reservation", "is_untouched"],
            "wording": ["drawn", "explain", "in_about", "outlook", "rounded_down"],
        },
    )
