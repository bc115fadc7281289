"""Energy: the budget that an agent spends to run code, how it recharges, and its ledger, which survives any crash."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .forecasts import Forecast, TierForecast, energy_note, forecast, prices
    from .gate import Affordable, Insufficient, metered_cost, recharged, weigh
    from .ledger import Entry
    from .ledger_tail import LedgerPlace, entries_after
    from .ports import EnergyBusy, EnergyError, EnergyNotOnDisk, Ledger
    from .reserve import EnergyReserve, Reservation, entries_in, is_untouched, terms_in
    from .terms import EnergyTerms, on_terms, terms_of
    from .wording import despite_the_level, drawn, explain, in_about, outlook, rounded_down
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "forecasts": "Forecast TierForecast energy_note forecast prices",
            "gate": "Affordable Insufficient metered_cost recharged weigh",
            "ledger": "Entry",
            "ledger_tail": "LedgerPlace entries_after",
            "ports": "EnergyBusy EnergyError EnergyNotOnDisk Ledger",
            "reserve": "EnergyReserve Reservation entries_in is_untouched terms_in",
            "terms": "EnergyTerms on_terms terms_of",
            "wording": "despite_the_level drawn explain in_about outlook rounded_down",
        },
    )
