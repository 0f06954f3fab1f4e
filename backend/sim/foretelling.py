"""Cycles of a run foretold from the schedules, with the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Protocol

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.regions.follow.instances import Inputs
from allo.backend.rtl.regions.predict import RegionPrediction, model_of, predict
from allo.backend.rtl.regions.sizing import size
from allo.dialects.boundary.arguments import Call, Parameter, Signature
from allo.dialects.boundary.arranging import arrange
from allo.dialects.diagnostics import PredictionError
from allo.dialects.reports.sizing import Sizing

from .boundary.inputs import model_inputs


class _Module(Protocol):
    """What a module that is foretold has."""

    design: HardwareDesign
    signature: Signature
    options: Any

    @property
    def has_run(self) -> bool:
        """Whether it has run since it was built or reset."""
        ...

    def inputs_of(self, call: Call) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """Cells of arrays and bits of scalars, by port."""
        ...

    def words_of(self, call: Call) -> dict[str, tuple[np.ndarray, np.ndarray, Parameter]]:
        """Words of streams, by port."""
        ...


class Foretelling:
    """The part of a module that foretells its runs."""

    def predict(self: _Module, *args: Any, **named: Any) -> RegionPrediction:
        """Foretell the cycles of the next run, and where its processes wait, from the schedules alone.

        The first one, and the first behind ``reset``, may have initial values of variables to copy.

        Example::

            found = mod.predict()  # or mod.predict(A, B), where values decide what processes pass
            found.cycles, found.stalls
            found.retime({"pipe": 2}).cycles

        Args:
            args: what a call is given; none where no values decide what the processes pass.

        Raises:
            PredictionError: the cycles cannot be foretold; the message says why. Behind AXI4 masters,
                :attr:`foretold` tells them.
            DeadlockError: no process can go on.
        """
        if self.design.board is not None and self.design.board.masters:
            raise PredictionError(
                f"{self.signature.top} is behind AXI4 masters, and predict follows its processes alone.",
                self.signature.place,
                help="mod.foretold tells the cycles of a run from start to interrupt, with its channels.",
            )
        if self.options.memory:
            raise PredictionError(
                f"{self.signature.top} waits for memories outside, and predict follows its processes alone.",
                self.signature.place,
                help="build it without memory=, or take a variant without it.",
            )
        again = self.has_run and not self.design.endless  # a run without an end leaves nothing
        return predict(self.design, _inputs(self, args, named), again=again)

    def size_fifos(
        self: _Module, inputs: Sequence[Any], loss: float, same: Callable[[str, str], object]
    ) -> Sizing:
        """What :meth:`allo.schedule.Schedule.size_fifos` asks of the design."""
        given = _inputs(self, inputs, {})
        model = model_of(self.design, given, asked="size_fifos")
        return size(model, loss, same)


def _inputs(module: _Module, args: Sequence[Any], named: Mapping[str, Any]) -> Inputs | None:
    """What a call is given, as the model takes it."""
    if not args and not named:
        return None
    given = [deepcopy(value) for value in args]
    kept = {name: deepcopy(value) for name, value in named.items()}
    what = "A prediction of an RTLModule"
    call = module.signature.bind(arrange(module.signature, given, kept, what, ()))
    arrays, scalars = module.inputs_of(call)
    streams = {name: words for name, (words, _, _) in module.words_of(call).items()}
    return model_inputs(module.design, arrays, scalars, streams)
