"""A design compared with the model that it was made of, on the example inputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from allo.dialects.diagnostics import DTypeWarning, ModelError, StepError
from allo.schedule.schedule import Schedule

from ..origin import Origin
from ..places import place_of_caller

TOLERANCE = 1e-4


class Verification:
    """What the model computes, kept to compare designs with it.

    Args:
        origin: the model and its example inputs.
        weights: the arrays that a call takes behind the inputs.
        tolerance: how far a float may be from the model's, relative or absolute.
    """

    def __init__(self, origin: Origin, weights: list[Any], tolerance: float) -> None:
        self.tolerance = tolerance
        self._given = [*origin.inputs(), *weights]
        self._expected = origin.expected()
        self._judge = origin.judge

    def check_start(self, s: Schedule) -> None:
        """Compare a design before any step.

        Raises:
            ModelError: it differs from the model.
        """
        wrong = self._difference(s)
        if wrong:
            raise ModelError(
                f"The design differs from {self._judge} before any step: {wrong}.",
                place_of_caller(),
                help="element types of op_dtypes round; give the tolerance that they need, "
                "such as verify=0.01.",
            )

    def check_step(self, s: Schedule, number: int, step: str) -> None:
        """Compare a design after a step.

        Raises:
            StepError: it differs from the model.
        """
        wrong = self._difference(s)
        if wrong:
            raise StepError(
                f"Step {number}, {step}, changed the result: {wrong}.",
                place_of_caller(),
                help="the schedule is as it was before this step.",
            )

    def _difference(self, s: Schedule) -> str:
        """Where the design differs first; ``""`` where it agrees."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DTypeWarning)
            got = s.build()(*self._given)
        results = list(got) if isinstance(got, (list, tuple)) else [got]
        for number, (mine, theirs) in enumerate(zip(results, self._expected, strict=True)):
            wrong = self._compared(np.asarray(mine), theirs)
            if wrong:
                return f"of result {number}, {wrong}" if len(results) > 1 else wrong
        return ""

    def _compared(self, mine: Any, theirs: Any) -> str:
        theirs = theirs.reshape(mine.shape)
        if theirs.dtype.kind in "biu":
            same = mine == theirs
        else:
            mine = np.asarray(mine, np.float64)
            same = np.isclose(mine, theirs, self.tolerance, self.tolerance, equal_nan=True)
        if same.all():
            return ""
        at = tuple(int(k) for k in np.argwhere(~same)[0])
        return (
            f"element {list(at)} is {mine[at]:.6g}, and {self._judge}'s is {theirs[at]:.6g} "
            f"({int((~same).sum())} of {same.size} elements differ by more than {self.tolerance:g})"
        )
