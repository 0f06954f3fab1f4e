"""The stages that differ where each token has steps of its own: norms, gates and rescaling."""

from functools import partial

import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ...checkpoints.blocks import in_blocks
from ...stage import Kernel, Loops, Stage
from ..families.gated import part as deal_out
from ..families.gated import schedule_part
from ..stages.linear import CALL
from ..stages.sizes import Sizes
from .gated import gate_tokens, schedule_gate_tokens
from .linear import rescale_tokens, schedule_rescale_tokens
from .norm import normalise_tokens, schedule_normalise_tokens


def norming(z: Sizes) -> Stage:
    """Adds every delta to the residual, and gives its norm in blocks, and the step of each token."""
    V, PARTS, EPS, EXTRA = z.wide.vector, z.wide.parts, z.model.eps, z.extra
    AHEAD = z.tables_ahead
    logs = V.bit_length() - 1, PARTS.bit_length() - 1
    sizes = z.d, V, logs[0], PARTS, logs[1], z.norms, z.wide.block, z.shift
    kernel = Kernel(normalise_tokens, sizes, schedule_normalise_tokens)
    NORM = kernel.template

    @df.part()
    def part(
        embedded: Stream[float32[V], 4], deltas: Stream[float32[V], 4],
        gains: Stream[UInt(32 * V), AHEAD], normed: Stream[UInt(8 * V + EXTRA), 4],
        norm_steps: Stream[float32, 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def norms():
            normalise_tokens[*NORM](embedded, deltas, gains, EPS, normed, norm_steps)

    def delay(loops: Loops) -> float:
        """From the last word taken, for which the first pass waits, to the last one given."""
        behind = loops.row(kernel.name) - loops.cycles(kernel.name, "lt")
        return behind + loops.depth(kernel.name, "lt")

    return Stage(part, (kernel,), delay=delay, reference=_levels(z))


def activating(z: Sizes) -> Stage:
    """SwiGLU in blocks, and the step of each token."""
    V, EXTRA, interval, AHEAD = z.wide.vector, z.extra, z.wide.gelu_interval, z.bending
    parting = Kernel(deal_out, (z.layers * (z.up // V), V), schedule_part)
    sizes = z.ffn, V, V.bit_length() - 1, z.layers, z.wide.block, z.shift
    gating = Kernel(gate_tokens, sizes, lambda s: schedule_gate_tokens(s, interval))
    PART, GATE = parting.template, gating.template

    @df.part()
    def part(
        hidden: Stream[float32[V], AHEAD], bent: Stream[UInt(8 * V + EXTRA), 4],
        gate_steps: Stream[float32, 4],
    ):  # fmt: skip
        gates: Stream[float32[V], AHEAD]
        others: Stream[float32[V], AHEAD]

        @df.kernel(mapping=[1])
        def parting():
            deal_out[*PART](hidden, gates, others)

        @df.kernel(mapping=[1])
        def swiglu():
            gate_tokens[*GATE](gates, others, bent, gate_steps)

    def delay(loops: Loops) -> float:
        """From the last word taken: the end of the first pass, and the whole second one."""
        behind = loops.row(gating.name) - loops.cycles(gating.name, "out")
        return loops.depth("part", "word") + CALL + behind + loops.depth(gating.name, "out")

    return Stage(part, (parting, gating), delay=delay, reference=_levels(z))


def rescaling(z: Sizes) -> Stage:
    """Applies factors, steps and biases, and sends the results where those of their job go."""
    V, TERMS = z.wide.vector, z.terms[0]
    AHEAD, BENT = z.tables_ahead, z.bending
    kernel = Kernel(
        rescale_tokens,
        (V, z.d, z.qkv, z.up, z.layers, z.outputs, TERMS),
        lambda s: schedule_rescale_tokens(s, z.wide.rescale_interval),
    )
    RESCALE = kernel.template

    @df.part()
    def part(
        gathered: Stream[int32[V], 4], affines: Stream[UInt(32 * TERMS * V), AHEAD],
        norm_steps: Stream[float32, 4], gate_steps: Stream[float32, 4],
        projected: Stream[float32[V], 4], deltas: Stream[float32[V], 4],
        hidden: Stream[float32[V], BENT], said: Stream[float32[V], 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def rescaling():
            rescale_tokens[*RESCALE](
                gathered, affines, norm_steps, gate_steps, projected, deltas, hidden, said
            )

    return Stage(part, (kernel,), delay=lambda loops: loops.depth(kernel.name, "out") + CALL)


def _levels(z: Sizes):  # type: ignore[no-untyped-def]
    """The levels and the peak of products with gains, or of gated activations."""
    return partial(in_blocks, block=z.wide.block, most=z.shift)
