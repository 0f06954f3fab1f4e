"""What designs with one reader a channel take (``Wide(cache="channels")``), and how long a token takes.

``data/merged.json`` holds the estimates of small designs that ``measure.py`` made, ``TERMS`` what a process
depends on, and :func:`fifos_of` the FIFOs of a design, which are estimated for their sizes. A token is
foretold by :func:`..wide.cycles.foretell`, line by line, with the delays of stages that are fitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..analysis.data import DATA
from ..config import Architecture, GPTConfig
from ..wide.cycles import Channel, StepPrediction, foretell
from ..wide.external.channels import written_ahead
from ..wide.external.lines import lines_waiting, per_line
from ..wide.external.stages import new_ahead
from ..wide.external.tables import said_ahead, table_lines_ahead
from ..wide.parameters import Wide
from ..wide.stages.sizes import sizes_of
from .fifos import fifo_near
from .fits import Fits, least_squares, total

MERGED = DATA / "merged.json"
MOST_LINED = 8
"""Channels whose lines of tables one process puts in order."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A model and a design for it: everything that what a process takes depends on."""

    model: Architecture
    wide: Wide

    @property
    def groups(self) -> int:
        """Processes that put lines of tables in order."""
        return max(1, self.wide.channels // MOST_LINED)

    @property
    def lined(self) -> int:
        """Channels of each of them."""
        return min(self.wide.channels, MOST_LINED)


Term = Callable[[Merged], float]
VECTOR: Term = lambda s: s.wide.vector  # noqa: E731
LANES: Term = lambda s: s.wide.lanes  # noqa: E731
UNITS: Term = lambda s: s.wide.heads  # noqa: E731
KEYS: Term = lambda s: s.wide.keys  # noqa: E731
LANES_KEYS: Term = lambda s: s.wide.lanes * s.wide.keys  # noqa: E731
LANES_ACROSS: Term = lambda s: s.wide.lanes * s.wide.across  # noqa: E731
IN_TURNS: Term = lambda s: float(s.model.kv_heads > s.wide.heads)  # noqa: E731
FFN: Term = lambda s: s.model.ffn  # noqa: E731
SEVERAL: Term = lambda s: float(s.wide.keys > 1)  # noqa: E731
PAIRS: Term = lambda s: s.wide.lanes * -(-s.wide.keys // 2)  # noqa: E731
ROWS: Term = lambda s: per_line(s.wide)  # noqa: E731
SPREAD: Term = lambda s: s.wide.channels * s.wide.lanes  # noqa: E731


def every(interval: int) -> Term:
    """The elements whose activation function starts once in so many cycles."""
    return lambda s: s.wide.vector * (s.wide.gelu_interval == interval)


def above(units: int) -> Term:
    """The width of a head, where there are more units than so many: what chooses among them has steps."""
    return lambda s: s.wide.lanes * (s.wide.heads > units)


TERMS: dict[str, tuple[Term, ...]] = {
    **dict.fromkeys(("serve", "sort", "handing_said"), (LANES,)),
    "lining": (LANES, lambda s: s.lined * s.wide.lanes),
    "ordering": (
        LANES,
        lambda s: s.groups * s.wide.lanes,
        lambda s: s.wide.lanes * (s.groups > 1),
    ),
    "deal_rows": (LANES, VECTOR, ROWS, lambda s: np.log2(per_line(s.wide))),
    "embed": (LANES, VECTOR, lambda s: s.wide.vector * s.model.d),
    **dict.fromkeys(("embedding", "norms", "rescaling", "packing", "dividing"), (VECTOR,)),
    "factoring": (UNITS,),
    "normalise": (VECTOR, lambda s: s.wide.vector * s.model.d),
    "spreading": (LANES, SPREAD, VECTOR),
    **dict.fromkeys(("multiply", "multiply_nibbles"), (LANES, FFN)),
    **dict.fromkeys(("element", "element_nibbles"), (LANES,)),
    "gather": (
        VECTOR,
        lambda s: max(s.wide.channels, s.wide.vector),
        lambda s: s.wide.vector * (s.wide.channels < s.wide.vector),
    ),
    "rescale": (VECTOR,),
    **dict.fromkeys(("bend", "bending"), (VECTOR, every(1), every(2), every(8))),
    **dict.fromkeys(("pack", "divide"), (VECTOR, LANES)),
    "dealing": (LANES, UNITS),
    "joining": (LANES, KEYS, LANES_KEYS, LANES_ACROSS),
    "returning": (LANES, lambda s: s.wide.across),
    "score_ahead": (LANES, KEYS, LANES_KEYS, SEVERAL, IN_TURNS),
    **dict.fromkeys(("scoring", "mixing"), (LANES, PAIRS)),
    **dict.fromkeys(("handing", "weigh_ahead", "weighing"), (KEYS,)),
    "mix_ahead": (
        LANES,
        KEYS,
        LANES_KEYS,
        SEVERAL,
        IN_TURNS,
        VECTOR,
        lambda s: np.log2(s.model.context),
    ),
    "collecting": (LANES, VECTOR, above(1), above(2), above(4), above(8)),
    "saying": (VECTOR, UNITS),
}
"""What each process depends on; one that is not here takes the mean of the estimates."""
EACH_CHANNEL = {"serve", "serving", "plan", "planning", "sort", "sorting"} | {
    each + of for each in ("multiply", "element") for of in ("", "_nibbles")
}
EACH_UNIT = {
    "handing_said", "returning", "score_ahead", "scoring", "handing", "weigh_ahead", "weighing", "mix_ahead",
    "mixing",
}  # fmt: skip
OF_BITS = {8: ("multiply", "element"), 4: ("multiply_nibbles", "element_nibbles")}
"""Processes that only designs with weights of so many bits have."""


def count_of(process: str, sizes: Merged) -> int:
    """Instances of a process."""
    if process in EACH_CHANNEL:
        return sizes.wide.channels
    if process in EACH_UNIT:
        return sizes.wide.heads
    return {"joining": 2 * sizes.wide.heads, "lining": sizes.groups}.get(process, 1)


def fifos_of(sizes: Merged) -> list[tuple[str, int, int, int]]:
    """Every FIFO of a design: its name, bits, depth, and how many there are."""
    m, w = sizes.model, sizes.wide
    z = sizes_of(m, w)
    c, u, k, v, line, word = w.channels, w.heads, w.keys, w.vector, 8 * w.lanes, 32 * w.vector
    scores = 16 + (m.head_dim - 1).bit_length()
    kept, turns, said = lines_waiting(w), -(-m.context // k), said_ahead(z)
    return [
        ("back_lines", line, written_ahead(z), c), ("lines", line, 2, c), ("runs", 28, 4, c),
        ("table_lines", line, table_lines_ahead(z), c), ("words", line, w.prefetch, c),
        ("key_lines", line, kept, c), ("value_lines", line, kept, c), ("groups", line, 2, sizes.groups),
        ("lined", line, 4, 1), ("angles", word, 4, 1), ("rows", word, 4, 1), ("factors", 32, 4, 1),
        ("gains", 2 * word, 64, 1), ("affines", 2 * word, 64, 1), ("embedded", word, 4, 1),
        ("exponents", 32, 2, u), ("attends", 32, 2, 1), ("gelus", 32, 2, 1), ("deltas", word, 4, 1),
        ("normed", 8 * v, 4, 1), ("attended", 8 * v, 4, 1), ("bent", 8 * v, 4, 1),
        ("inputs", line, max(m.d, m.ffn) // w.lanes, c), ("sums", 32, 4, c), ("gathered", word, 4, 1),
        ("projected", word, 4, 1), ("hidden", word, 4 if w.gelu_interval == 1 else 1, 1),
        ("said", word, 4, 1), ("packed", line, 4, 1),
        ("given", line, 4, u), ("asked", line, 4, u), ("old_keys", line * k, 2, u),
        ("old_values", line * k, 2, u), ("said_lines", line, said, u), ("handed_lines", line, 2, u),
        ("new_keys", line, new_ahead(z), u), ("new_values", line, new_ahead(z), u),
        ("scores", scores * k, turns, u), ("peaks", scores, 4, u), ("handed", scores * k, 2, u),
        ("shares", 8 * k, 2, u), ("totals", 32, 2, u), ("mixed", word, m.head_dim // v, u),
        ("collected", 32 * m.head_dim, 2, 1), ("counted", 32, 2, 1),
    ]  # fmt: skip


DELAYS: tuple[Term, ...] = (
    lambda s: 1.0,
    lambda s: s.model.d / s.wide.vector,
    lambda s: s.model.head_dim / s.wide.vector,
    lambda s: float(s.wide.bits == 4),
    lambda s: np.log2(s.wide.channels),
    lambda s: float(s.wide.channels < s.wide.vector),
    lambda s: np.log2(s.wide.keys),
    lambda s: np.log2(s.wide.vector),
    lambda s: np.log2(s.wide.gelu_interval),
    lambda s: np.log2(s.wide.gelu_interval) ** 2,
    lambda s: float(s.wide.gelu_interval),
)
"""What the delay of a stage depends on."""


class MergedModels:
    """What designs with one reader a channel take, their clocks, and the delays of their stages."""

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self.samples = samples
        self.sizes = [sizes_of_sample(sample) for sample in samples]
        inside = [
            sample
            | {"processes": {n: p for n, p in sample["processes"].items() if n != "wide_step"}}
            for sample in samples
        ]
        self._fits = Fits(inside, self.sizes, TERMS)
        self._clocks = {path: self._fit_clock(path) for path in ("activations", "tables")}
        rows = [[term(size) for term in DELAYS] for size in self.sizes]
        self._delays = {
            stage: least_squares(rows, [float(sample["delays"][stage]) for sample in samples])
            for stage in samples[0]["delays"]
        }

    def whole(self, sizes: Merged) -> dict[str, float]:
        """What a whole design takes."""
        others = OF_BITS[12 - sizes.wide.bits]
        parts = [
            (count_of(name, sizes), self._fits.of(name, sizes))
            for name in self._fits.names
            if name not in others
        ]
        deep = [(count, fifo_near(bits, depth)) for _, bits, depth, count in fifos_of(sizes)]
        return total([*parts, *deep])

    def _fit_clock(self, path: str) -> np.ndarray:
        """Of the designs whose longest path is this one."""
        rows, values = [], []
        for size, sample in zip(self.sizes, self.samples, strict=True):
            if sample["slowest"] == path:
                rows.append(_path_terms(path, size, sample["whole"]["lut"]))
                values.append(1e3 / sample["fmax_mhz"])
        return least_squares(rows, values)

    def clock(self, sizes: Merged, lut: float) -> float:
        """The clock that a design of so many lookup tables is estimated to have, in MHz."""
        paths = [
            float(np.dot(fit, _path_terms(path, sizes, lut))) for path, fit in self._clocks.items()
        ]
        return 1e3 / max(paths)

    def delays(self, sizes: Merged) -> dict[str, float]:
        """The delays of the stages of a design."""
        terms = [term(sizes) for term in DELAYS]
        found = {name: round(float(np.dot(fit, terms))) for name, fit in self._delays.items()}
        return {"factoring": 0.0, "loading": 0.0, **found}

    def token(self, sizes: Merged, position: int, channel: Channel) -> StepPrediction:
        """What the token at a position takes, line by line."""
        at, wide = self.delays(sizes), sizes.wide
        return foretell(at, wide.gelu_interval, sizes.model, wide, position, channel)


@cache
def load_merged() -> MergedModels:
    """The models of the file in the tree."""
    return MergedModels(json.loads(MERGED.read_text()))


def sizes_of_sample(sample: dict[str, Any]) -> Merged:
    """The model and the design of an estimate."""
    return Merged(GPTConfig(**sample["shape"]), Wide(**sample["widths"]))


def _path_terms(path: str, sizes: Merged, lut: float) -> list[float]:
    """What a path takes: through the activation function by its interval, too."""
    interval = float(sizes.wide.gelu_interval)
    grows = [1.0, float(np.log2(lut))]
    return [*grows, interval] if path == "activations" else grows


def process_of(function: str) -> str:
    """The process or kernel that a function of a report is an instance of, of however many dimensions."""
    return re.sub(r"(_v\d+|_\d+)+$", "", function)


def bits_of(dtype: str) -> int:
    """Bits of a word of a FIFO."""
    found = re.fullmatch(r"(?:(\d+)x)?[a-z]+(\d+)", dtype)
    return int(found[1] or 1) * int(found[2]) if found else 0


def path_of(places: Iterable[str]) -> str:
    """What a longest path passes: the activation function, or tables."""
    files = {place.split(":")[0].rsplit("/designs/llm/")[-1] for place in places}
    return "activations" if "wide/activation.py" in files else "tables"
