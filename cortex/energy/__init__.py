"""Energy: what an agent may spend on acting, how it comes back, and an account of it that survives any crash."""

from .errors import EnergyBusy, EnergyError, EnergyNotOnDisk
from .forecast import Forecast, TierForecast, forecast
from .gate import Affordable, Insufficient, recharged, weigh
from .ledger import Entry
from .metering import metered_cost
from .notes import energy_note, prices
from .reserve import EnergyReserve, Reservation, is_untouched
from .wording import drawn, explain, in_about, outlook, rounded_down

__all__ = [
    "Affordable",
    "EnergyBusy",
    "EnergyError",
    "EnergyNotOnDisk",
    "EnergyReserve",
    "Entry",
    "Forecast",
    "Insufficient",
    "Reservation",
    "TierForecast",
    "drawn",
    "energy_note",
    "explain",
    "forecast",
    "in_about",
    "is_untouched",
    "metered_cost",
    "outlook",
    "prices",
    "recharged",
    "rounded_down",
    "weigh",
]
