"""What a module tells of its last run."""

from __future__ import annotations

from allo.backend.rtl.design import HardwareDesign
from allo.dialects.boundary.arguments import Signature
from allo.dialects.reports.roofline import Roofline

from .boundary.foretold import Foretold, foretell
from .boundary.roofs import roofline_of
from .boundary.traffic import Outside, Traffic
from .boundary.transfers import Transfers, transfers_of
from .engines.interface import SimResult


class Measured:
    """The words, the traffic and the transfers of the last run of a design."""

    design: HardwareDesign
    signature: Signature
    result: SimResult | None
    _outside: Outside

    @property
    def words(self) -> dict[str, int]:
        """How many words each stream argument passed in the last run."""
        streams = self.result.traffic.streams if self.result else {}
        return {name: found.words for name, found in streams.items()}

    @property
    def traffic(self) -> Traffic | None:
        """Bytes, stalls and words of the last run; None before one."""
        return self.result.traffic if self.result else None

    @property
    def transfers(self) -> Transfers | None:
        """Bytes that the last run moved, and what bounds it; None without channels or a run."""
        if self.result is None:
            return None
        return transfers_of(self.design, self._outside, self.result.traffic, self.result.cycles)

    @property
    def foretold(self) -> Foretold:
        """Cycles and bytes of a run behind AXI4 masters, before one.

        Raises:
            PredictionError: it has no masters, or data decide how long it takes.
        """
        return foretell(self.design, self._outside, self.signature.place)

    @property
    def roofline(self) -> Roofline:
        """Operations of each loop beside the bytes that pass there, foretold as :attr:`foretold` is.

        Raises:
            PredictionError: as :attr:`foretold`.
        """
        return roofline_of(self.design, self._outside, self.signature.place)
