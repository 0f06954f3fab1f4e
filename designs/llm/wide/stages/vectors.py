# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of the vector units: norms, and what a family has between its feed-forward layers."""

from functools import partial

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32

from ...checkpoints.integer_model import activate
from ...stage import Kernel, Loops, Stage
from ..activation import bend, schedule_bend
from ..families.gated import gate, schedule_gate, schedule_part
from ..families.gated import part as deal_out
from ..families.relu import cut, schedule_cut
from ..norm import normalise, schedule_normalise
from ..reference import normalise as reference_norm
from .linear import CALL
from .sizes import Sizes


def norming(z: Sizes) -> Stage:
    """Adds every delta to the residual, and gives its norm."""
    V, PARTS, STEPS, TERMS, EPS = (
        z.wide.vector, z.wide.parts, z.steps, z.terms[1], z.model.eps,
    )  # fmt: skip
    logs = V.bit_length() - 1, PARTS.bit_length() - 1
    sizes = z.d, V, logs[0], PARTS, logs[1], z.norms, TERMS
    kernel = Kernel(normalise, sizes, schedule_normalise, z.kind)
    NORM = kernel.template

    @df.part()
    def part(
        embedded: Stream[float32[V], 4], deltas: Stream[float32[V], 4],
        gains: Stream[UInt(32 * TERMS * V), 64], normed: Stream[UInt(8 * V), 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def norms():
            for step in range(STEPS):
                normalise[*NORM](embedded, deltas, gains, EPS, normed)

    def delay(loops: Loops) -> float:
        return loops.row(kernel.name) - (z.rows - 1)

    reference = partial(reference_norm, wide=z.wide, eps=EPS)
    return Stage(part, (kernel,), delay=delay, reference=reference)


def activating(z: Sizes) -> Stage:
    """What stands between the two products of a feed-forward layer: SwiGLU, ReLU or GELU."""
    V, LAYERS, STEPS, kind = z.wide.vector, z.layers, z.steps, z.model.activation
    AHEAD = z.bending
    GATED, RELU = z.model.gated, kind == "relu"
    ALONE, DEV = z.device is None, z.device.number if z.device else 0
    MERGED, FACTORS = z.is_merged, z.of_device(float32, LAYERS)
    GIVEN = Stream[float32, 2] if MERGED else FACTORS
    sizes, interval = (z.ffn, V, LAYERS), z.wide.gelu_interval
    parting = Kernel(deal_out, (LAYERS * (z.up // V), V), schedule_part)
    gating = Kernel(gate, sizes, lambda s: schedule_gate(s, interval))
    bending = Kernel(bend, sizes, lambda s: schedule_bend(s, interval))
    kernels = (
        (parting, gating) if GATED else (Kernel(cut, sizes, schedule_cut),) if RELU else (bending,)
    )
    PART, BEND = parting.template, sizes

    @df.part()
    def part(gelus: GIVEN, hidden: Stream[float32[V], AHEAD], bent: Stream[UInt(8 * V), 4]):
        with allo.meta_if(GATED):
            gates: Stream[float32[V], AHEAD]
            others: Stream[float32[V], AHEAD]

            @df.kernel(mapping=[1])
            def parting():
                deal_out[*PART](hidden, gates, others)

            with allo.meta_if(MERGED):

                @df.kernel(mapping=[1])
                def swiglu():
                    own: float32[LAYERS]
                    for layer in range(LAYERS):
                        own[layer] = gelus.get()
                    gate[*BEND](gates, others, own, bent)

            with allo.meta_else():

                @df.kernel(mapping=[1], args=[gelus])
                def swiglu(factors: FACTORS):
                    gate[*BEND](gates, others, factors, bent)

        with allo.meta_elif(MERGED):

            @df.kernel(mapping=[1])
            def bending():
                own: float32[LAYERS]
                for layer in range(LAYERS):
                    own[layer] = gelus.get()
                with allo.meta_if(RELU):
                    cut[*BEND](hidden, own, bent)
                with allo.meta_else():
                    bend[*BEND](hidden, own, bent)

        with allo.meta_elif(RELU):

            @df.kernel(mapping=[1], args=[gelus])
            def relu(factors: FACTORS):
                cut[*BEND](hidden, factors, bent)

        with allo.meta_else():

            @df.kernel(mapping=[1], args=[gelus])
            def gelu(factors: FACTORS):
                for step in range(STEPS):
                    with allo.meta_if(ALONE):
                        bend[*BEND](hidden, factors, bent)
                    with allo.meta_else():
                        bend[*BEND](hidden, factors[DEV], bent)

    def delay(loops: Loops) -> float:
        parted = loops.depth("part", "word") + CALL if GATED else 0
        return loops.depth(kernels[-1].name, "out") + parted

    banks = {} if ALONE else {"gelus": 1}
    return Stage(part, kernels, banks=banks, delay=delay, reference=partial(activate, kind))
