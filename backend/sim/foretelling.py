"""Cycles of a run foretold from the schedules, with the arguments of a call."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Protocol

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.regions.predict import RegionPrediction, predict
from allo.dialects.boundary.arguments import Call, Parameter, Signature
from allo.dialects.boundary.arranging import arrange

from .boundary.inputs import model_inputs


class _Module(Protocol):
    """What a module that is foretold has."""

    design: HardwareDesign
    signature: Signature

    def inputs_of(self, call: Call) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """Cells of arrays and bits of scalars, by port."""
        ...

    def words_of(self, call: Call) -> dict[str, tuple[np.ndarray, np.ndarray, Parameter]]:
        """Words of streams, by port."""
        ...


class Foretelling:
    """The part of a module that foretells its runs."""

    def predict(self: _Module, *args: Any, **named: Any) -> RegionPrediction:
        """Foretell the cycles of a run, and where its processes wait, from the schedules alone.

        Example::

            found = mod.predict()  # or mod.predict(A, B), where values decide what processes pass
            found.cycles, found.stalls
            found.retime({"pipe": 2}).cycles

        Args:
            args: what a call is given; none where no values decide what the processes pass.

        Raises:
            PredictionError: the cycles cannot be foretold; the message says why.
            DeadlockError: no process can go on.
        """
        if not args and not named:
            return predict(self.design)
        given = [deepcopy(value) for value in args]
        kept = {name: deepcopy(value) for name, value in named.items()}
        what = "A prediction of an RTLModule"
        call = self.signature.bind(arrange(self.signature, given, kept, what, ()))
        arrays, scalars = self.inputs_of(call)
        streams = {name: words for name, (words, _, _) in self.words_of(call).items()}
        return predict(self.design, model_inputs(self.design, arrays, scalars, streams))
