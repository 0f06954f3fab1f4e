"""Schedule and build the accelerator for a target: CPU simulator, Verilator, in-process JIT, HLS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import allo
from allo import Partition

from .accelerator import GROUP, make_region
from .attention import attend
from .config import GPTConfig
from .host import Memories, Session, make_memories
from .kernels_schedule import schedule_attend, schedule_norm
from .network.weights import QuantizedWeights
from .norm import norm


@dataclass(frozen=True, slots=True)
class Design:
    """The parameters of one accelerator.

    Attributes:
        lanes: int8 multipliers of the linear engine.
        block: most tokens of one step.
        prefetch: words of weights the loader may be ahead.
        gelu_ii: cycles between two GELU values; the linear engine makes ``lanes`` a
            hidden width's worth of cycles, so a slower, smaller unit loses nothing.
        observe: write every int32 accumulator to arrays of the host, for checking.
    """

    lanes: int = 4
    block: int = 16
    prefetch: int = 64
    gelu_ii: int = 1
    observe: bool = False


def schedule(config: GPTConfig, design: Design) -> Any:
    """The region with its schedule applied, kernels below it first."""
    s = make_region(config, design.lanes, design.block, design.prefetch, design.observe)
    norms, width = 2 * config.layers + 1, max(config.d, config.ffn)
    sizes = [config.d, norms, design.block, width]
    s.compose(schedule_norm(allo.customize(norm, instantiate=sizes)))
    shape = [config.layers, config.heads, config.head_dim, config.context]
    s.compose(
        schedule_attend(
            allo.customize(attend, instantiate=[*shape, design.block, width, int(design.observe)])
        )
    )
    s.partition("linear_0:acc")
    s.unroll("linear_0:p")
    s.partition("vector_0:small", dim=2, partition_type=Partition.Cyclic, factor=GROUP)
    for loop in ("loader_0:load", "linear_0:fill", "linear_0:mac", "rescale_0:lane"):
        s.pipeline(loop)
    s.unroll("send:e")
    for loop in ("send:word", "take:lane", "take_logits:lane", "vector_0:qkv", "vector_0:embed"):
        s.pipeline(loop)
    s.pipeline("vector_0:gelu", initiation_interval=design.gelu_ii)
    return s


def memories_and_session(
    weights: QuantizedWeights, design: Design, module: Any
) -> tuple[Memories, Session]:
    """Memories filled with the weights, and a session that runs ``module`` on them."""
    memories = make_memories(weights, design.lanes, design.block, design.observe)
    return memories, Session(
        weights.config, module, memories, lambda: getattr(module, "cycles", None)
    )
