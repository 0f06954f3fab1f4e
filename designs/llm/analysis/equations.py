"""The equations of spatial LLM acceleration (TRETS 2024, arXiv 2312.15159), one function each.

A device holds C layers of a transformer at once, each operator of a layer with multipliers of its
own: operator i does M_i multiply-accumulates (MAC) a cycle. Operators: q, k, v (projections),
a1 = Q K^T, a2 = softmax V, p (output projection), f1, f2 (feed-forward).

Symbols and units: l prompt length and l_max longest sequence in tokens; d hidden and d_F
feed-forward width; N layers; b_W, b_A bits of a weight and an activation; f clock in Hz; memory in
bits; bandwidth in bits a second; time in cycles, or in seconds where the name says so. Our source
prints no (10); the decode counterpart of (9), :func:`balanced_decode_cycles`, stands in its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from .data import Format, Fpga, ModelInputError, Transformer, require_positive

OPERATORS = ("q", "k", "v", "a1", "a2", "p", "f1", "f2")
WEIGHTED = ("q", "k", "v", "p", "f1", "f2")

BRAM18_WIDTHS = (1, 2, 4, 9, 18, 36, 72)
BRAM18_BITS = 18 * 1024
URAM_BITS = 288 * 1024


@dataclass(frozen=True, slots=True)
class Parallelism:
    """M_i of every operator, in MAC a cycle, and C, the layers a device holds.

    ``reuse`` is r: how many MAC units of a weighted operator share one loaded weight.
    """

    q: float
    k: float
    v: float
    a1: float
    a2: float
    p: float
    f1: float
    f2: float
    layers: int = 1
    reuse: float = 1.0

    def __post_init__(self) -> None:
        for item in fields(self):
            require_positive(f"The parallelism {item.name}", getattr(self, item.name))

    @classmethod
    def uniform(cls, macs: float, layers: int = 1, reuse: float = 1.0) -> Parallelism:
        """The same M for every operator."""
        return cls(macs, macs, macs, macs, macs, macs, macs, macs, layers=layers, reuse=reuse)

    def of(self, operator: str) -> float:
        """M_i of one operator."""
        return float(getattr(self, operator))

    @property
    def total(self) -> float:
        """The sum of M_i over the operators of one layer."""
        return sum(self.of(i) for i in OPERATORS)

    @property
    def banks(self) -> dict[str, float]:
        """M_i / r_i of the weighted operators: weights loaded a cycle."""
        return {i: self.of(i) / self.reuse for i in WEIGHTED}


# --- work ----------------------------------------------------------------------------------------


def prefill_work(model: Transformer, length: int) -> dict[str, int]:
    """MAC of one layer for a prompt of ``length`` tokens, by operator."""
    check_length(model, length)
    square, ffn = length * model.hidden**2, length * model.hidden * model.ffn
    attention = length**2 * model.hidden
    return _by_operator(square, attention, ffn)


def decode_work(model: Transformer, length: int) -> dict[str, int]:
    """MAC of one layer for the token after ``length`` others: l becomes 1 and l^2 becomes l + 1."""
    check_length(model, length)
    d = model.hidden
    return _by_operator(d * d, (length + 1) * d, d * model.ffn)


def _by_operator(square: int, attention: int, ffn: int) -> dict[str, int]:
    return dict.fromkeys(("q", "k", "v", "p"), square) | {
        "a1": attention,
        "a2": attention,
        "f1": ffn,
        "f2": ffn,
    }


def check_length(model: Transformer, length: int) -> None:
    """Raise ModelInputError unless 0 < length <= l_max."""
    require_positive("The sequence length", length)
    if length > model.longest:
        raise ModelInputError(
            f"A sequence of {length} tokens is longer than the {model.longest} of {model.name}."
        )


# --- resources -----------------------------------------------------------------------------------


def compute_demand(parallelism: Parallelism) -> float:
    """(1) MAC a cycle in use: the sum of M_i, times C. Must stay below M_tot."""
    return parallelism.total * parallelism.layers


def parameter_bits(model: Transformer, form: Format) -> float:
    """(2) S_param: weights of one layer, (4 d^2 + 2 d d_F) b_W bits."""
    return (4 * model.hidden**2 + 2 * model.hidden * model.ffn) * form.weight_bits


def kv_cache_bits(model: Transformer, form: Format, longest: int | None = None) -> float:
    """(2) S_KV: K and V caches of one layer, double-buffered, 4 l_max d b_A bits."""
    return 4 * (longest or model.longest) * model.hidden * form.activation_bits


def fifo_bits(model: Transformer, form: Format, length: int, depth: int = 512) -> float:
    """(2) S_FIFO: sixteen streams of ``depth`` words, and one whole activation for the residual."""
    return 16 * depth * form.activation_bits + length * model.hidden * form.activation_bits


def tile_bits(parallelism: Parallelism, form: Format) -> float:
    """(2) Weight tiles of one layer, double-buffered: 2 times the sum of M_i times b_W bits."""
    return 2 * parallelism.total * form.weight_bits


def sram_demand(
    model: Transformer, form: Format, parallelism: Parallelism, length: int, depth: int = 512
) -> float:
    """(2) Bits on the chip: (tiles + S_KV + S_FIFO) C."""
    check_length(model, length)
    each = (
        tile_bits(parallelism, form)
        + kv_cache_bits(model, form)
        + fifo_bits(model, form, length, depth)
    )
    return each * parallelism.layers


def dram_demand(model: Transformer, form: Format, layers: int) -> float:
    """(2) Bits beside the chip for ``layers`` layers: S_param C."""
    return parameter_bits(model, form) * layers


def port_width(bits: int, widths: tuple[int, ...] = BRAM18_WIDTHS) -> int:
    """b_BRAM: the narrowest legal port that takes a word of ``bits``.

    Raises:
        ModelInputError: when the word is wider than the widest port.
    """
    for width in widths:
        if width >= bits:
            return width
    raise ModelInputError(
        f"A word of {bits} bits is wider than the widest port of {widths[-1]}.",
        help="pack fewer values into a word.",
    )


def memory_blocks(
    words: float, banks: float, width: int, packed: int = 1, block_bits: int = BRAM18_BITS
) -> int:
    """(3), (5) R_i: blocks for ``words`` values in ``banks`` = M_i / r_i banks, ``packed`` to a word.

    ceil(s_i b_BRAM / (banks S_BRAM)) banks / k, where b_BRAM = ``width`` holds k values.
    """
    require_positive("The number of banks", banks)
    deep = math.ceil(words * width / (banks * block_bits))
    return math.ceil(deep * banks / packed)


def blocks_of_layer(
    model: Transformer, form: Format, parallelism: Parallelism, packed: int = 1
) -> dict[str, int]:
    """(3), (5) BRAM18 of every operator of one layer.

    Weighted operators hold a double-buffered tile of 2 M_i weights; a1 and a2 hold the K and the V
    cache of l_max d activations, counted once here and twice in :func:`block_demand`.
    """
    weight_width = port_width(packed * form.weight_bits)
    cache_width = port_width(form.activation_bits)
    blocks = {}
    for operator in WEIGHTED:
        banks = parallelism.of(operator) / parallelism.reuse
        blocks[operator] = memory_blocks(
            2 * parallelism.of(operator), max(1.0, banks), weight_width, packed
        )
    for operator in ("a1", "a2"):
        banks = max(1.0, parallelism.of(operator) / parallelism.reuse)
        blocks[operator] = memory_blocks(model.longest * model.hidden, banks, cache_width)
    return blocks


def block_demand(
    model: Transformer, form: Format, parallelism: Parallelism, packed: int = 1
) -> int:
    """(4) BRAM18 in use: C times the weighted operators', plus 2 C times those of a1 and a2."""
    blocks = blocks_of_layer(model, form, parallelism, packed)
    weighted = sum(blocks[i] for i in WEIGHTED)
    return parallelism.layers * (weighted + 2 * (blocks["a1"] + blocks["a2"]))


def bandwidth_demand(form: Format, parallelism: Parallelism, clock_hz: float) -> float:
    """(6) Bits a second of weights: C times the sum of b_W (M_i / r_i) f."""
    require_positive("The clock", clock_hz)
    each = sum(form.weight_bits * banks * clock_hz for banks in parallelism.banks.values())
    return parallelism.layers * each


# --- time ----------------------------------------------------------------------------------------


def memory_cycles(bits: float, bandwidth_bits: float, clock_hz: float) -> float:
    """T_mem: cycles to fetch ``bits`` of a stage's weights through its channels."""
    require_positive("The bandwidth", bandwidth_bits)
    return bits / bandwidth_bits * clock_hz


@dataclass(frozen=True, slots=True)
class Time:
    """A latency in cycles, split into what its slowest stage waits for.

    Attributes:
        cycles: the whole.
        stages: cycles of the terms under ``max``, by name (``k``, ``a1``, ``f1``, ``mem``, ``comm``).
    """

    cycles: float
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def limit(self) -> str:
        """The term that decides the pipeline's rate."""
        return max(self.stages, key=lambda name: self.stages[name])

    def seconds(self, clock_hz: float) -> float:
        """The time at a clock in Hz."""
        return self.cycles / clock_hz


def prefill_time(
    model: Transformer, parallelism: Parallelism, length: int, memory: float = 0.0
) -> Time:
    """(7) Cycles to take in a prompt; ``memory`` is T_mem of one stage in cycles.

    (N / C) [ l d^2 / M_k + C max(l d^2 / M_k, l^2 d / M_a1, l d d_F / M_f1, T_mem) ]
    """
    return distributed_prefill_time(model, parallelism, length, memory=memory)


def decode_time(
    model: Transformer, parallelism: Parallelism, longest: int | None = None, memory: float = 0.0
) -> Time:
    """(8) Cycles for one further token, with the cache full.

    (N / C) [ d^2 / M_k + C max(d^2 / M_k, (l_max + 1) d / M_a1, d d_F / M_f1, T_mem) ]
    """
    work = decode_work(model, longest or model.longest)
    stages = _stages(work, parallelism, 1) | ({"mem": memory} if memory else {})
    return Time(_pipeline(model.layers, parallelism.layers, 1, stages), stages)


def balanced(
    model: Transformer, macs: float, length: int, layers: int = 1, reuse: float = 1.0
) -> Parallelism:
    """(9) The parallelism whose stages take equally long for a prompt of ``length``.

    M_q = M_k = M_v = M_p = M; M_a = (l / d) M; M_f = (d_F / d) M.
    """
    check_length(model, length)
    require_positive("The parallelism M", macs)
    attention = macs * length / model.hidden
    ffn = macs * model.ffn / model.hidden
    return Parallelism(
        macs, macs, macs, attention, attention, macs, ffn, ffn, layers=layers, reuse=reuse
    )


def balanced_decode(
    model: Transformer, macs: float, longest: int | None = None, layers: int = 1
) -> Parallelism:
    """(9) for decoding: M_a = ((l_max + 1) / d) M, and every weight is used once (r = 1)."""
    require_positive("The parallelism M", macs)
    attention = macs * ((longest or model.longest) + 1) / model.hidden
    ffn = macs * model.ffn / model.hidden
    return Parallelism(macs, macs, macs, attention, attention, macs, ffn, ffn, layers=layers)


def balanced_prefill_cycles(model: Transformer, macs: float, length: int, layers: int = 1) -> float:
    """(9) What (7) becomes under balance: N (1 + 1/C) l d^2 / M."""
    check_length(model, length)
    return model.layers * (1 + 1 / layers) * length * model.hidden**2 / macs


def balanced_decode_cycles(model: Transformer, macs: float, layers: int = 1) -> float:
    """What (8) becomes under balance: N (1 + 1/C) d^2 / M."""
    return model.layers * (1 + 1 / layers) * model.hidden**2 / macs


# --- several devices -----------------------------------------------------------------------------


def communication_seconds(
    model: Transformer, form: Format, length: int, bandwidth_bits: float, efficiency: float = 0.8
) -> float:
    """(11) T_comm: seconds to hand l d activations to the next device, l d b_A / (alpha B)."""
    require_positive("The link bandwidth", bandwidth_bits)
    if not 0 < efficiency <= 1:
        raise ModelInputError(f"The link efficiency {efficiency} is not within (0, 1].")
    return length * model.hidden * form.activation_bits / (efficiency * bandwidth_bits)


def distributed_prefill_time(
    model: Transformer,
    parallelism: Parallelism,
    length: int,
    *,
    tensor: int = 1,
    pipeline: int = 1,
    memory: float = 0.0,
    communication: float = 0.0,
) -> Time:
    """(12) Cycles of a prompt on ``tensor`` x ``pipeline`` devices.

    (N / (p2 C)) [ l d^2 / (p1 M_k) + p2 C max(l d^2 / (p1 M_k), l^2 d / (p1 M_a1),
    l d d_F / (p1 M_f1), T_mem, T_comm) ], T_mem and T_comm in cycles.
    """
    require_positive("The number of tensor-parallel devices", tensor)
    require_positive("The number of pipeline-parallel devices", pipeline)
    stages = _stages(prefill_work(model, length), parallelism, tensor)
    stages |= {"mem": memory} if memory else {}
    stages |= {"comm": communication} if communication else {}
    return Time(_pipeline(model.layers, parallelism.layers, pipeline, stages), stages)


def _stages(work: dict[str, int], parallelism: Parallelism, tensor: int) -> dict[str, float]:
    return {i: work[i] / (tensor * parallelism.of(i)) for i in ("k", "a1", "f1")}


def _pipeline(layers: int, held: int, pipeline: int, stages: dict[str, float]) -> float:
    """N / (p2 C) rounds, each one fill by the K stage and p2 C passes of the slowest stage."""
    at_once = held * pipeline
    if at_once > layers:
        raise ModelInputError(
            f"{at_once} layers at once are more than the {layers} the transformer has."
        )
    return layers / at_once * (stages["k"] + at_once * max(stages.values()))


def fits(
    device: Fpga,
    model: Transformer,
    form: Format,
    parallelism: Parallelism,
    length: int,
    packed: int = 1,
) -> dict[str, tuple[float, float]]:
    """Every constraint as (demand, limit): ``compute`` (1), ``dram`` and ``sram`` (2), ``blocks`` (4).

    A URAM counts as sixteen BRAM18, by its bits.
    """
    return {
        "compute": (compute_demand(parallelism), device.macs_per_cycle),
        "dram": (dram_demand(model, form, model.layers), device.dram_bits),
        "sram": (sram_demand(model, form, parallelism, length), device.sram_bits),
        "blocks": (
            block_demand(model, form, parallelism, packed),
            device.bram18 + device.uram * (URAM_BITS // BRAM18_BITS),
        ),
    }
