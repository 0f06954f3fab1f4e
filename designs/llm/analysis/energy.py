"""Energy of a token from published figures: what bytes and products take, and the card as an upper limit.

A bit from HBM2 takes 3.92 pJ; a product of 8 bits takes 0.2 pJ and its sum in 32 bits 0.03 pJ, as an ASIC of
45 nm, and an FPGA 14 times as much: :mod:`allo.models.energy.published` names the sources.

No figure of ours is measured on a board. Clocks, control, memories on the chip and leakage are in none of
the first two terms, so the truth lies between their sum and the rated power of the card.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.models.energy.published import (
    FPGA_FACTOR,
    HBM2_PJ_PER_BIT,
    PRODUCT_8_PJ,
    SUM_OF_MAC_PJ,
)

MAC_PJ = PRODUCT_8_PJ + SUM_OF_MAC_PJ


@dataclass(frozen=True, slots=True)
class TokenEnergy:
    """Joules of a token: of its bytes, of its products, and of a card at its rated power."""

    memory: float
    products: float
    card: float

    @property
    def least(self) -> float:
        """Bytes and products alone."""
        return self.memory + self.products


def token_energy(moved: float, macs: float, seconds: float, power_w: float) -> TokenEnergy:
    """Energy of a token that moves so many bytes and does so many products in so many seconds."""
    return TokenEnergy(
        moved * 8 * HBM2_PJ_PER_BIT * 1e-12,
        macs * MAC_PJ * FPGA_FACTOR * 1e-12,
        seconds * power_w,
    )
