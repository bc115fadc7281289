"""Energy: what an agent may spend on acting, how it recharges, and a ledger of it that survives any crash."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .forecasts import (
        Forecast as Forecast,
        TierForecast as TierForecast,
        energy_note as energy_note,
        forecast as forecast,
        prices as prices,
    )
    from .gate import (
        Affordable as Affordable,
        Insufficient as Insufficient,
        metered_cost as metered_cost,
        recharged as recharged,
        weigh as weigh,
    )
    from .ledger import Entry as Entry
    from .ports import (
        EnergyBusy as EnergyBusy,
        EnergyError as EnergyError,
        EnergyNotOnDisk as EnergyNotOnDisk,
        Ledger as Ledger,
    )
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
            "forecasts": ["Forecast", "TierForecast", "energy_note", "forecast", "prices"],
            "gate": ["Affordable", "Insufficient", "metered_cost", "recharged", "weigh"],
            "ledger": ["Entry"],
            "ports": ["EnergyBusy", "EnergyError", "EnergyNotOnDisk", "Ledger"],
            "reserve": ["EnergyReserve", "Reservation", "is_untouched"],
            "wording": ["drawn", "explain", "in_about", "outlook", "rounded_down"],
        },
    )
