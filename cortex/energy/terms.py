"""The rate, prices and floors of energy that a program spends by, written into the home for programs that read it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from cortex.settings import EnergySettings, Share


class EnergyTerms(BaseModel):
    """What comes back in a minute, and what each tier costs and needs."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    recharge_per_minute: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    cost_isolated: Share
    cost_network: Share
    floor_isolated: Share
    floor_network: Share


def terms_of(settings: EnergySettings) -> EnergyTerms:
    return EnergyTerms.model_validate(settings, from_attributes=True)


def on_terms(settings: EnergySettings, terms: EnergyTerms | None) -> EnergySettings:
    """The settings with these terms in place of their own."""
    return settings if terms is None else settings.model_copy(update=terms.model_dump())
