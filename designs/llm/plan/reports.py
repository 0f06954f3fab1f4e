"""What the compiler's reports say of the wide accelerator: depths of loops, and what processes take.

``data/processes.json`` holds the estimates of small designs that ``measure.py`` made, ``data/ternary.json``
those of designs with ternary weights on the chip. What a process takes is a sum of a few terms in the
parameters it depends on, fitted to those estimates by least squares; FIFOs, whose cost has steps, are
estimated for the size asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import sumprod
from typing import Any

import numpy as np

from ..analysis.blocks import BlockDepths
from ..analysis.data import DATA, Transformer
from ..analysis.engine import Depths, Engine
from ..ternary.elements import TOTAL
from ..ternary.packing import bytes_of
from .fifos import fifo
from .fits import KINDS, least_squares

PROCESSES, TERNARY = DATA / "processes.json", DATA / "ternary.json"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Everything that what a process takes depends on: an engine's parameters and a model's widths."""

    c: int
    lanes: int
    weights: int
    v: int
    units: int
    prefetch: int
    gelu: int
    d: int
    ffn: int
    head: int
    context: int
    trits: int = 0


Term = Callable[[Sizes], float]
ONE: Term = lambda s: 1.0  # noqa: E731
LANES: Term = lambda s: s.lanes  # noqa: E731
WEIGHTS: Term = lambda s: s.weights  # noqa: E731
VECTOR: Term = lambda s: s.v  # noqa: E731
HEAD: Term = lambda s: s.head  # noqa: E731
ALL_HEADS: Term = lambda s: s.units * s.head  # noqa: E731
FFN: Term = lambda s: s.ffn  # noqa: E731
UNITS: Term = lambda s: s.units  # noqa: E731
CHANNELS: Term = lambda s: s.c  # noqa: E731

TERMS: dict[str, tuple[Term, ...]] = {
    "fetch_weights": (ONE, LANES),
    "fetch_affine": (ONE, VECTOR),
    "fetch_gain": (ONE, VECTOR),
    "embedding": (ONE, VECTOR),
    "normalise": (ONE, VECTOR, lambda s: s.v * s.d),
    "norms": (ONE, VECTOR),
    "spreading": (ONE, LANES, lambda s: s.c * s.lanes, VECTOR),
    "multiply": (ONE, LANES, FFN),
    "element": (ONE, LANES),
    "multiply_nibbles": (ONE, LANES, FFN),
    "element_nibbles": (ONE, LANES),
    "gather": (ONE, VECTOR, lambda s: max(s.c, s.v)),
    "rescale": (ONE, VECTOR),
    "rescaling": (ONE, VECTOR),
    "bend": (ONE, VECTOR, lambda s: s.v / s.gelu),
    "gelu": (ONE, VECTOR, lambda s: s.v / s.gelu),
    "pack": (ONE, VECTOR, HEAD),
    "packing": (ONE, VECTOR),
    "dealing": (ONE, HEAD, ALL_HEADS),
    "score": (ONE, HEAD),
    "scoring": (ONE, HEAD),
    "mix": (ONE, HEAD),
    "mixing": (ONE, HEAD),
    "collecting": (ONE, HEAD, ALL_HEADS),
    "divide": (ONE, VECTOR, HEAD),
    "dividing": (ONE, VECTOR),
    "saying": (ONE, VECTOR),
    "wide_step": (ONE, CHANNELS, UNITS, VECTOR, ALL_HEADS),
    "fetch_weights_trits": (ONE, LANES),
    "spreading_trits": (ONE, WEIGHTS, lambda s: s.c * s.weights, CHANNELS),
    "multiply_trits": (ONE, WEIGHTS, FFN),
    "element_trits": (ONE, WEIGHTS),
    "wide_step_trits": (ONE, CHANNELS, lambda s: s.c * s.lanes, UNITS, VECTOR),
}
"""What each process depends on; one that is not here takes the mean of the estimates."""
WHOLE = ("multiply", "element")
NIBBLES = ("multiply_nibbles", "element_nibbles")
"""Processes that only designs with weights of 8 bits, and of 4, have."""
OTHERWISE = ("fetch_weights", "loader", "spreading", "element", "wide_step")
"""Processes that designs with ternary weights have under the same names, and otherwise."""
TRITS = ("multiply_trits", *(f"{name}_trits" for name in OTHERWISE))
LOADERS = ("fetch_weights", "loader", "fetch_weights_trits", "loader_trits")
EACH_CHANNEL = (*LOADERS, *WHOLE, *NIBBLES, "multiply_trits", "element_trits")
EACH_UNIT = ("score", "scoring", "mix", "mixing")


def process_name(function: str) -> str:
    """The process or kernel that a function of a report is an instance of."""
    return re.sub(r"(_v\d+|_\d+)$", "", function)


def sizes_of(model: Transformer, engine: Engine, context: int) -> Sizes:
    """What the processes of an engine for a model depend on."""
    return Sizes(
        engine.channels,
        bytes_of(engine.trits) if engine.trits else engine.lanes,
        engine.weights,
        engine.vector,
        engine.heads,
        engine.prefetch,
        engine.gelu_interval,
        model.hidden,
        model.ffn,
        model.head_width,
        context,
        engine.trits,
    )


def depths_of(report: Any, rows: int) -> Depths:
    """The depths of the loops of a whole design, of any family of models.

    What stands in front of a kernel in one family alone, as the turning of rotary positions, counts
    to this kernel.

    Args:
        report: its ``DesignReport``.
        rows: words of V elements of the hidden width.

    Raises:
        KeyError: when a loop is not in the report.
    """
    found = loops_of(report)

    def depth(name: str, *processes: str) -> float:
        """Of the loop of a name, in the first of the processes that the design has."""
        there = next((one for one in processes if (one, name) in found), processes[0])
        return float(found[there, name].depth)

    def before(process: str, name: str) -> float:
        return depth(name, process) if (process, name) in found else 0.0

    return Depths(
        multiply=depth("mac", "multiply", "multiply_nibbles", "multiply_trits"),
        gather=depth("word", "gather"),
        rescale=depth("out", "rescale"),
        spread=depth("word", "spreading"),
        normalise=depth("n", "normalise") - 2 * rows,
        bend=before("part", "word") + depth("out", "bend", "gate", "cut"),
        pack=before("rotate", "out") + depth("out", "pack"),
        deal=depth("head", "dealing"),
        score=depth("key", "score"),
        mix=depth("key", "mix"),
        turn=depth("turn", "collecting"),
        divide=depth("out", "divide"),
        embed=depth("row", "embedding", "embed"),
        say=depth("out", "saying", "say"),
    )


def block_depths_of(report: Any) -> BlockDepths:
    """The depths of the loops of the small accelerator, which takes blocks of tokens.

    Raises:
        KeyError: when a loop is not in the report.
    """
    found = loops_of(report)
    norm = next(function for function in report.functions if function.name == "norm")
    fixed = [found[name, name].depth for name in ("score", "mix")]
    return BlockDepths(
        multiply=found["linear", "mac"].depth,
        rescale=found["rescale", "lane"].depth,
        embed=found["embedding", "embed"].depth,
        norm=norm.loops[0].depth,
        attend=sum(fixed) + found["divide", "c"].cycles,
        qkv=found["split", "qkv"].depth,
        gelu=found["bend", "gelu"].depth,
        take=found["take", "lane"].depth,
    )


def loops_of(report: Any) -> dict[tuple[str, str], Any]:
    """The first loop of each name of each process, by both names; devices have processes that are alike."""
    found: dict[tuple[str, str], Any] = {}

    def note(process: str, loops: list[Any]) -> None:
        for loop in loops:
            found.setdefault((process, loop.name.split(".")[-1].split("*")[-1]), loop)
            note(process, loop.children)

    for function in report.functions:
        note(re.sub(r"(_v\d+|_\d+|_end|_stage)+$", "", function.name), function.loops)
    return found


def fifos(sizes: Sizes) -> dict[str, float]:
    """What the deep FIFOs of the whole take: weights, activations, scores and tables."""
    total = dict.fromkeys(KINDS, 0.0)
    taken = sizes.trits or sizes.lanes
    beside, ahead = (TOTAL, 2) if sizes.trits else (0, sizes.prefetch)
    for count, width, depth in (
        (sizes.c, 8 * sizes.lanes, ahead),
        (sizes.c, 8 * taken + beside, max(1, sizes.ffn // taken)),
        (sizes.units, 32, sizes.context),
        (2, 64 * sizes.v, 64),
    ):
        for kind, value in fifo(width, depth).items():
            total[kind] += count * value
    return total


class ProcessModels:
    """What every process takes, and how deep its loops are, as a function of the sizes."""

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self._samples = samples
        self._sizes = [_sizes_of_sample(sample) for sample in samples]
        self.processes = sorted({name for sample in samples for name in sample["processes"]})
        self._fits = {
            (name, kind): self._fit(name, kind).tolist()
            for name in self.processes
            for kind in KINDS
        }
        self._depths = {
            (field.name, ternary): self._fit_depth(field.name, ternary)
            for field in fields(Depths)
            for ternary in (False, True)
        }
        clocks = [_clock_terms(s["wide"]["gelu_interval"], s["whole"]["lut"]) for s in samples]
        self._clock = least_squares(clocks, [1e3 / sample["fmax_mhz"] for sample in samples])

    @property
    def fmax_mhz(self) -> tuple[float, float]:
        """The lowest and the highest clock that the estimates name."""
        clocks = [sample["fmax_mhz"] for sample in self._samples]
        return min(clocks), max(clocks)

    def clock(self, sizes: Sizes, lut: float) -> float:
        """The clock that a design of these sizes and so many lookup tables is estimated to have, in MHz."""
        return float(1e3 / np.dot(self._clock, _clock_terms(sizes.gelu, lut)))

    def of_process(self, name: str, sizes: Sizes) -> dict[str, float]:
        """What all instances of a process take together."""
        count = sizes.c if name in EACH_CHANNEL else sizes.units if name in EACH_UNIT else 1
        terms = [term(sizes) for term in TERMS.get(name, (ONE,))]
        total = {kind: count * max(0.0, sumprod(self._fits[name, kind], terms)) for kind in KINDS}
        if name.startswith("wide_step"):
            deep = fifos(sizes)
            total = {kind: value + deep[kind] for kind, value in total.items()}
        return total

    def whole(self, sizes: Sizes) -> dict[str, float]:
        """What a whole design takes."""
        others: tuple[str, ...]
        if sizes.trits:
            others = (*WHOLE, *NIBBLES, *OTHERWISE)
        else:
            others = (*(WHOLE if sizes.weights > sizes.lanes else NIBBLES), *TRITS)
        parts = [self.of_process(name, sizes) for name in self.processes if name not in others]
        return {kind: sum(part[kind] for part in parts) for kind in KINDS}

    def depths(self, sizes: Sizes) -> Depths:
        """The depths of the loops of a design of these sizes."""
        terms, ternary = _depth_terms(sizes), sizes.trits > 0
        values = {
            field.name: float(round(float(np.dot(self._depths[field.name, ternary], terms))))
            for field in fields(Depths)
        }
        return Depths(**values)

    def _fit(self, name: str, kind: str) -> np.ndarray:
        terms = TERMS.get(name, (ONE,))
        rows, values = [], []
        for sample, sizes in zip(self._samples, self._sizes, strict=True):
            if name not in sample["processes"]:
                continue
            value = float(sample["processes"][name].get(kind, 0))
            if name.startswith("wide_step"):
                value -= fifos(sizes)[kind]
            rows.append([term(sizes) for term in terms])
            values.append(value)
        return least_squares(rows, values)

    def _fit_depth(self, name: str, ternary: bool) -> np.ndarray:
        """Of the designs with ternary weights, or the others; all heads of the former have one width."""
        found = [
            (sizes, float(sample["depths"][name]))
            for sample, sizes in zip(self._samples, self._sizes, strict=True)
            if (sizes.trits > 0) == ternary or name not in OF_ELEMENTS
        ]
        return least_squares([_depth_terms(sizes) for sizes, _ in found], [d for _, d in found])


OF_ELEMENTS = ("multiply", "spread")
"""Depths that ternary weights change."""


def load_models() -> ProcessModels:
    """The models of the files in the tree."""
    samples = [json.loads(file.read_text()) for file in (PROCESSES, TERNARY)]
    return ProcessModels([*samples[0], *samples[1]])


def _sizes_of_sample(sample: Mapping[str, Any]) -> Sizes:
    config, wide = sample["config"], sample["wide"]
    trits = wide.get("trits", 0)
    return Sizes(
        wide["channels"],
        bytes_of(trits) if trits else wide["lanes"],
        trits or wide["lanes"] * 8 // wide.get("bits", 8),
        wide["vector"],
        wide["heads"],
        wide["prefetch"],
        wide["gelu_interval"],
        config["d"],
        config["ffn"],
        config["d"] // config["heads"],
        config["context"],
        trits,
    )


def _depth_terms(sizes: Sizes) -> list[float]:
    return [
        1.0,
        sizes.lanes.bit_length(),
        sizes.v.bit_length(),
        sizes.head.bit_length(),
        sizes.gelu,
        float(sizes.units),
        float(sizes.c > sizes.v),
        sizes.head / sizes.v,
    ]


def _clock_terms(interval: int, lut: float) -> list[float]:
    """A longest path grows with doublings of the size, and along a curve with the interval of the GELU."""
    log = float(np.log2(interval))
    return [1.0, float(np.log2(lut)), log, log**2, float(interval)]
