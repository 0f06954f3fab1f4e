"""What designs with one reader a channel take (``Wide(cache="channels")``), and how long a token takes.

``data/merged.json`` holds the estimates of small designs that ``measure.py`` made, ``TERMS`` what a process
depends on, and :func:`fifos_of` the FIFOs of a design, which are estimated for their sizes. A token is
foretold by :func:`..wide.cycles.foretell`, line by line, with the delays of stages that are fitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..analysis.data import DATA
from ..config import Architecture, GPTConfig
from ..constants import EPS
from ..wide.cycles import Channel, StepPrediction, foretell
from ..wide.external.channels import written_ahead
from ..wide.external.lines import lines_waiting, per_line
from ..wide.external.stages import new_ahead
from ..wide.external.tables import said_ahead, table_lines_ahead
from ..wide.parameters import Wide
from ..wide.stages.sizes import sizes_of
from .fifos import fifo_near
from .fits import KINDS, Fits, least_squares, one, total

MERGED, KERNELS = DATA / "merged.json", DATA / "kernels.json"
MOST_LINED = 8
"""Channels whose lines of tables one process puts in order."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A model and a design for it: everything that what a process takes depends on.

    Attributes:
        alone: whether a kernel of it is estimated alone, without the process that calls it.
    """

    model: Architecture
    wide: Wide
    alone: bool = False

    @property
    def groups(self) -> int:
        """Processes that put lines of tables in order."""
        return max(1, self.wide.channels // MOST_LINED)

    @property
    def group(self) -> int:
        """Queries that share a head of keys and values."""
        return self.model.heads // self.model.kv_heads

    @property
    def inputs(self) -> int:
        """Words of activations that an element keeps, in rows of lookup tables or in blocks of RAM."""
        return self.model.ffn // self.wide.lanes

    @property
    def kept_bits(self) -> int:
        """Bits of a key, or a value."""
        return sizes_of(self.model, self.wide).kept_bits

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
SCORES: Term = lambda s: s.wide.keys * s.group  # noqa: E731
LANES_SCORES: Term = lambda s: s.wide.lanes * s.wide.keys * s.group  # noqa: E731
QUERIES: Term = lambda s: s.group  # noqa: E731
LANES_QUERIES: Term = lambda s: s.wide.lanes * s.group  # noqa: E731
ONE: Term = one
KEPT: Term = lambda s: s.kept_bits  # noqa: E731
KEPT_KEYS: Term = lambda s: s.kept_bits * s.wide.keys  # noqa: E731
KEPT_ACROSS: Term = lambda s: s.kept_bits * s.wide.across  # noqa: E731
IN_TURNS: Term = lambda s: float(s.model.kv_heads > s.wide.heads)  # noqa: E731
SHALLOW: Term = lambda s: s.model.ffn * (s.inputs <= 64)  # noqa: E731
IN_ROWS: Term = lambda s: s.wide.lanes * (64 < s.inputs <= 96)  # noqa: E731
IN_BLOCKS: Term = lambda s: s.wide.lanes * (s.inputs > 96)  # noqa: E731
ACROSS: Term = lambda s: s.wide.across  # noqa: E731
LANES_SEVERAL: Term = lambda s: s.wide.lanes * (s.wide.keys * s.group > 1)  # noqa: E731
PAIRS: Term = lambda s: s.wide.lanes * -(-s.wide.keys * s.group // 2)  # noqa: E731
ROWS: Term = lambda s: per_line(s.wide)  # noqa: E731
SPREAD: Term = lambda s: s.wide.channels * s.wide.lanes  # noqa: E731


def gated(*terms: Term) -> tuple[Term, ...]:
    """What more or less a process takes where there are gates."""
    return tuple((lambda s, term=term: term(s) * s.model.gated) for term in terms)


def halved(*terms: Term) -> tuple[Term, ...]:
    """What more or less a process takes where keys and values have four bits."""
    return tuple((lambda s, term=term: term(s) * (s.wide.cache_bits == 4)) for term in terms)


def apart(*terms: Term) -> tuple[Term, ...]:
    """What more or less a kernel takes alone: registers at its streams."""
    return tuple((lambda s, term=term: term(s) * s.alone) for term in terms)


def nothing(sizes: Merged) -> float:
    """No dependence at all."""
    return 0.0


def every(interval: int) -> Term:
    """The elements whose activation function starts once in so many cycles."""
    return lambda s: s.wide.vector * (s.wide.gelu_interval == interval)


def above(units: int) -> Term:
    """The width of a head, where there are more units than so many: what chooses among them has steps."""
    return lambda s: s.wide.lanes * (s.wide.heads > units)


TERMS: dict[str, tuple[Term, ...]] = {
    **dict.fromkeys(("serve", "sort"), (LANES, *halved(ONE, LANES))),
    **dict.fromkeys(("serving", "sorting", "plan", "planning"), halved(ONE)),
    "handing_said": (LANES,),
    "lining": (LANES, lambda s: s.lined * s.wide.lanes),
    "ordering": (
        LANES,
        lambda s: s.groups * s.wide.lanes,
        lambda s: s.wide.lanes * (s.groups > 1),
    ),
    "deal_rows": (LANES, VECTOR, ROWS, lambda s: np.log2(per_line(s.wide)), *gated(ONE, VECTOR)),
    "embed": (LANES, VECTOR, lambda s: s.wide.vector * s.model.d),
    **dict.fromkeys(
        ("embedding", "packing", "dividing", "pass_row", "part"), (VECTOR,)
    ),
    "turning": (VECTOR, *apart(VECTOR)),
    "rescaling": (VECTOR, *gated(ONE, VECTOR), *apart(VECTOR)),
    "factoring": (UNITS,),
    "norms": (VECTOR, lambda s: s.wide.vector * s.model.d, *gated(ONE, VECTOR), *apart(VECTOR)),
    "spreading": (LANES, SPREAD, VECTOR),
    **dict.fromkeys(
        ("element", "element_nibbles"), (LANES, SHALLOW, IN_ROWS, IN_BLOCKS, *apart(ONE, LANES))
    ),
    "gather": (
        VECTOR,
        lambda s: max(s.wide.channels, s.wide.vector),
        lambda s: s.wide.vector * (s.wide.channels < s.wide.vector),
    ),
    **dict.fromkeys(("bend", "bending"), (VECTOR, every(1), every(2), every(8))),
    "swiglu": (VECTOR, every(1), every(2), every(8), *apart(VECTOR)),
    **dict.fromkeys(("pack", "divide"), (VECTOR, LANES)),
    "halving": (LANES, *apart(LANES)),
    "dealing": (LANES, UNITS, lambda s: float(s.group > 1)),
    "joining": (KEPT, KEYS, KEPT_KEYS, KEPT_ACROSS, *halved(ONE, LANES, ACROSS)),
    "returning": (LANES, ACROSS, *halved(ONE, LANES)),
    "scoring": (
        LANES, KEYS, LANES_KEYS, LANES_SEVERAL, IN_TURNS, PAIRS, LANES_QUERIES, LANES_SCORES,
        *halved(ONE, LANES, LANES_KEYS, PAIRS, LANES_SCORES), *apart(LANES, LANES_SCORES),
    ),
    "mixing": (
        LANES, KEYS, LANES_KEYS, LANES_SEVERAL, IN_TURNS, PAIRS, LANES_QUERIES, LANES_SCORES, VECTOR,
        lambda s: np.log2(s.model.context), *halved(ONE, LANES, LANES_KEYS, PAIRS, LANES_SCORES),
        *apart(LANES, LANES_SCORES),
    ),
    **dict.fromkeys(("handing", "weigh_ahead", "weighing"), (SCORES, QUERIES)),
    "collecting": (LANES, VECTOR, above(1), above(2), above(4), above(8), QUERIES),
    "saying": (VECTOR, UNITS),
}  # fmt: skip
"""What each process depends on; one that is not here takes the mean of the estimates."""
EACH_CHANNEL = {
    "serve", "serving", "plan", "planning", "sort", "sorting", "element", "element_nibbles",
}  # fmt: skip
EACH_UNIT = {
    "handing_said", "returning", "scoring", "handing", "weigh_ahead", "weighing", "mixing",
}  # fmt: skip
FOLDED = {
    "multiply": "element", "multiply_nibbles": "element_nibbles", "score_ahead": "scoring",
    "mix_ahead": "mixing", "halve": "halving", "rotate": "turning", "gate": "swiglu",
    "normalise": "norms", "rescale": "rescaling",
}  # fmt: skip
"""Kernels that are estimated alone, too, and the processes that they are counted with."""
OF_BITS = {8: ("element",), 4: ("element_nibbles",)}
"""Processes that only designs with weights of so many bits have."""
OF_GATES = {
    False: ("embed", "embedding", "bend", "bending"),
    True: ("pass_row", "passing", "part", "parting", "swiglu", "turning"),
}
"""Those that only designs without gates have, and only those with them."""


def is_there(process: str, sizes: Merged) -> bool:
    """Whether a design has a process."""
    if process == "halving":
        return sizes.wide.cache_bits == 4
    others = OF_BITS[12 - sizes.wide.bits], OF_GATES[not sizes.model.gated]
    return not any(process in names for names in others)


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
    c, u, k, v, g = w.channels, w.heads, w.keys, w.vector, z.group
    line, word, held, new, ahead = 8 * w.lanes, 32 * v, z.kept_bits, new_ahead(z), z.bending
    per_sum, per_element = z.terms
    scores = 16 + (m.head_dim - 1).bit_length()
    kept, turns, said = lines_waiting(w), -(-m.context // k), said_ahead(z)
    gated = [("gates", word, ahead, 1), ("others", word, ahead, 1), ("turned", word, 4, 1)]
    halved = [("halved", line, 4, 1), ("befores", 4 * w.lanes, new, 2 * u)]
    return [
        ("back_lines", line, written_ahead(z), c), ("lines", line, 2, c), ("runs", 28, 4, c),
        ("table_lines", line, table_lines_ahead(z), c), ("words", line, w.prefetch, c),
        ("key_lines", held, kept, c), ("value_lines", held, kept, c), ("groups", line, 2, sizes.groups),
        ("lined", line, 4, 1), ("angles", word, 4, 1), ("rows", word, 4, 1), ("factors", 32, 4, 1),
        ("gains", per_element * word, 64, 1), ("affines", per_sum * word, 64, 1), ("embedded", word, 4, 1),
        ("exponents", 32, 2, u), ("attends", 32, 2, 1), ("gelus", 32, 2, 1), ("deltas", word, 4, 1),
        ("normed", 8 * v, 4, 1), ("attended", 8 * v, 4, 1), ("bent", 8 * v, 4, 1),
        ("inputs", line, max(m.d, m.ffn) // w.lanes, c), ("sums", 32, 4, c), ("gathered", word, 4, 1),
        ("projected", word, 4, 1), ("hidden", word, ahead, 1), ("said", word, 4, 1), ("packed", line, 4, 1),
        ("given", line, 4, u), ("asked", line, 4, u), ("old_keys", held * k, 2, u),
        ("old_values", held * k, 2, u), ("said_lines", line, said, u), ("handed_lines", line, 2, u),
        ("new_keys", held, new, u), ("new_values", held, new, u),
        ("scores", scores * k * g, turns, u), ("peaks", scores * g, 4, u), ("handed", scores * k * g, 2, u),
        ("shares", 8 * k * g, 2, u), ("totals", 32 * g, 2, u), ("mixed", word, g * m.head_dim // v, u),
        ("collected", 32 * m.head_dim, 2, 1), ("counted", 32, 2, 1),
        *(gated if m.gated else []), *(halved if w.cache_bits == 4 else []),
    ]  # fmt: skip


DELAYS: tuple[Term, ...] = (
    ONE,
    lambda s: s.model.d / s.wide.vector,
    lambda s: s.model.head_dim / s.wide.vector,
    lambda s: float(s.wide.bits == 4),
    lambda s: np.log2(s.wide.channels),
    lambda s: float(s.wide.channels < s.wide.vector),
    lambda s: np.log2(s.wide.keys),
    lambda s: np.log2(s.wide.vector),
    lambda s: np.log2(s.wide.gelu_interval),
    lambda s: np.log2(s.wide.gelu_interval) ** 2 * (not s.model.gated),
    lambda s: float(s.wide.gelu_interval) * (not s.model.gated),
    lambda s: np.log2(s.group),
    *gated(
        ONE,
        lambda s: s.model.d / s.wide.vector,
        lambda s: np.log2(s.wide.vector),
        lambda s: np.log2(s.wide.gelu_interval),
    ),
    *halved(ONE),
)
"""What the delay of a stage depends on."""


class MergedModels:
    """What designs with one reader a channel take, their clocks, and the delays of their stages.

    Args:
        samples: estimates of designs.
        kernels: estimates of kernels alone, with the designs that they are of.
    """

    def __init__(self, samples: list[dict[str, Any]], kernels: list[dict[str, Any]]) -> None:
        self.samples = samples
        self.sizes = [sizes_of_sample(sample) for sample in samples]
        inside = [{"processes": folded(sample["processes"])} for sample in samples] + kernels
        alone = [replace(sizes_of_sample(sample), alone=True) for sample in kernels]
        self._fits = Fits(inside, [*self.sizes, *alone], TERMS)
        self._clocks = {path: self._fit_clock(path) for path in ("activations", "tables")}
        self._delays = {
            stage: self._fit_delay(stage)
            for stage in {stage for sample in samples for stage in sample["delays"]}
        }

    def whole(self, sizes: Merged) -> dict[str, float]:
        """What a whole design takes."""
        parts = [
            (count_of(name, sizes), self._fits.of(name, sizes))
            for name in self._fits.names
            if is_there(name, sizes)
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

    def _fit_delay(self, stage: str) -> np.ndarray:
        """Of the designs that have the stage; of one that not all have, the mean."""
        there = [
            (size, float(sample["delays"][stage]))
            for size, sample in zip(self.sizes, self.samples, strict=True)
            if stage in sample["delays"]
        ]
        terms = (
            DELAYS if len(there) == len(self.samples) else (ONE, *(len(DELAYS) - 1) * (nothing,))
        )
        rows = [[term(size) for term in terms] for size, _ in there]
        return least_squares(rows, [delay for _, delay in there])

    def clock(self, sizes: Merged, lut: float) -> float:
        """The clock that a design of so many lookup tables is estimated to have, in MHz."""
        paths = [
            float(np.dot(fit, _path_terms(path, sizes, lut)))
            for path, fit in self._clocks.items()
            if path == "tables" or not sizes.model.gated
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


def folded(processes: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Processes with the kernels that are counted with them; all but the region, whose FIFOs are counted."""
    found: dict[str, dict[str, float]] = {}
    for name, taken in processes.items():
        into = found.setdefault(FOLDED.get(name, name), {})
        for kind in KINDS:
            into[kind] = into.get(kind, 0.0) + taken.get(kind, 0.0)
    found.pop("wide_step", None)
    return found


@cache
def load_merged() -> MergedModels:
    """The models of the files in the tree."""
    return MergedModels(json.loads(MERGED.read_text()), json.loads(KERNELS.read_text()))


def sizes_of_sample(sample: dict[str, Any]) -> Merged:
    """The model and the design of an estimate."""
    return Merged(shape_of(sample["shape"]), Wide(**sample["widths"]))


def shape_of(shape: dict[str, Any]) -> Architecture:
    """A GPT-2, or a LLaMA where the family says so."""
    if "family" not in shape:
        return GPTConfig(**shape)
    width = shape["d"] // shape["heads"]
    return Architecture(
        **({"kv_heads": shape["heads"]} | shape),
        head_dim=width,
        activation="silu",
        eps=EPS,
        rms=True,
        gated=True,
        rotary=(1.0,) * (width // 2),
        biases=(),
    )


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
