"""Does a schedule compute what the kernel does? Both run on the CPU, on random arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from allo.dialects.boundary.storage import natural_dtype
from allo.dialects.diagnostics import AlloError, BoundsError
from allo.schedule import Schedule

RUNS = 2
"""Runs that are compared."""
LEVEL = 0
"""Of optimisation of both builds: two runs take less time than optimising what they run, and no level changes
a bit."""
TOLERANCE = 1e-4
"""Of the largest element of an array: two orders of a float32 sum may differ by so much."""
SPANS = (100, 4, 1)
"""Largest integers of the arguments, in the order in which they are tried: some serve as subscripts."""


class Checker:
    """Runs a kernel once, and holds schedules of it against that.

    Args:
        schedule: the kernel, as it was given.
        inputs: makes the arguments of a run from a generator of random numbers; or None.
    """

    def __init__(
        self,
        schedule: Schedule,
        inputs: Callable[[np.random.Generator], Sequence[Any]] | None,
        options: dict[str, Any],
    ) -> None:
        self._schedule = schedule
        self._inputs = inputs
        self._options = {k: v for k, v in options.items() if k == "subnormals"}
        self._runs: list[tuple[Sequence[Any], list[np.ndarray]]] | None = None
        self.reason = ""

    def differs(self, found: Schedule, *, reassociated: bool) -> str:
        """Where results differ, or "" if they do not, or nothing can be run (then ``reason`` says why)."""
        runs = self._reference()
        if not runs:
            return ""
        built = found.build(warnings=False, opt_level=LEVEL, **self._options)
        for arguments, wanted in runs:
            got = _run(built, arguments)
            for number, (a, b) in enumerate(zip(wanted, got, strict=True)):
                if not _equal(a, b, reassociated):
                    return f"array {number} of a run on random arguments"
        return ""

    def prepare(self) -> None:
        """Run the kernel now, and not at the first comparison."""
        self._reference()

    @property
    def arguments(self) -> Sequence[Any]:
        """Those of the first run; none where nothing can be run."""
        runs = self._reference()
        return runs[0][0] if runs else ()

    def _reference(self) -> list[tuple[Sequence[Any], list[np.ndarray]]]:
        if self._runs is None:
            self._runs = []
            try:
                self._runs = self._run_kernel()
            except (AlloError, TypeError, ValueError) as error:
                self.reason = f"the kernel could not be run on random arguments: {error}"
        return self._runs

    def _run_kernel(self) -> list[tuple[Sequence[Any], list[np.ndarray]]]:
        if self._loops_on_data() and self._inputs is None:
            self.reason = "it has a while loop, which may not end on random arguments; give inputs="
            return []
        built = self._schedule.build(
            warnings=False, check_bounds=True, opt_level=LEVEL, **self._options
        )
        for span in SPANS:
            made = []
            try:
                for seed in range(RUNS):
                    rng = np.random.default_rng(seed)
                    arguments = self._inputs(rng) if self._inputs else self._random(rng, span)
                    made.append((arguments, _run(built, arguments)))
            except BoundsError:
                continue
            return made
        self.reason = "random arguments are outside the bounds of its arrays; give inputs="
        return []

    def _loops_on_data(self) -> bool:
        return "scf.while" in str(self._schedule.module)

    def _random(self, rng: np.random.Generator, span: int) -> list[Any]:
        return [
            _argument(info, rng, span)
            for info in self._schedule.func_args[self._schedule.top_func_name]
        ]


def _argument(info: Any, rng: np.random.Generator, span: int) -> Any:
    kind = natural_dtype(info.dtype)
    shape = tuple(info.shape)
    if any(extent is None for extent in shape):
        raise ValueError(f"{info.name} has no fixed extents")
    if kind.kind not in "iufb" and kind.name != "bfloat16":
        raise ValueError(f"{info.name} is of {info.dtype}")
    if kind.kind in "iub":
        bits = int(getattr(info.dtype, "bits", 8))
        most = min(span, 2 ** max(1, bits - 1) - 1)
        made = rng.integers(0, most + 1, shape)
    else:
        made = rng.standard_normal(shape)
    if not shape:
        return made.item() if hasattr(made, "item") else made
    return np.asarray(made).astype(kind)


def _run(built: Any, arguments: Sequence[Any]) -> list[np.ndarray]:
    """All arguments after a run, and the results."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = built(*copies)
    results = [] if result is None else list(result) if isinstance(result, tuple) else [result]
    return [np.asarray(value) for value in (*copies, *results)]


def _equal(a: np.ndarray, b: np.ndarray, reassociated: bool) -> bool:
    """Whether two arrays hold the same; any NaN is as good as another."""
    if a.dtype == object:
        return _same(a.tolist(), b.tolist())
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.names is not None or a.dtype.kind in "iub":
        return False
    first, second = a.astype(np.float64), b.astype(np.float64)
    if not reassociated:
        return bool(np.array_equal(first, second, equal_nan=True))
    known = np.isfinite(first)
    if not (known == np.isfinite(second)).all():
        return False
    largest = np.abs(first[known]).max(initial=0.0)
    return bool((np.abs(first - second)[known] <= TOLERANCE * largest).all())


def _same(a: Any, b: Any) -> bool:
    """Whether two values of Python hold the same: wide integers, and Structs, whose fields may be arrays."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and _equal(a, b, False)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b) or bool(a != a and b != b)
