"""Schedule and build the accelerator for a target: CPU simulator, Verilator, in-process JIT, HLS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .accelerator import make_region
from .config import GPTConfig
from .host import Memories, Session, make_memories
from .weights import QuantizedWeights


@dataclass(frozen=True, slots=True)
class Design:
    """The parameters of one accelerator.

    Attributes:
        lanes: int8 multipliers of the linear engine.
        block: most tokens of one step.
        prefetch: words of weights the loader may be ahead.
        gelu_ii: cycles between two GELU values; the linear engine makes ``lanes`` a
            hidden width's worth of cycles, so a slower, smaller unit loses nothing.
    """

    lanes: int = 8
    block: int = 16
    prefetch: int = 64
    gelu_ii: int = 1


def schedule(config: GPTConfig, design: Design) -> Any:
    """The region with its schedule applied."""
    s = make_region(config, design.lanes, design.block, design.prefetch)
    unroll = ("linear_0:lane", "norm:lane", "attend:score_lane", "attend:mix_lane")
    for loop in unroll:
        s.unroll(loop)
    return s


def memories_and_session(
    weights: QuantizedWeights, design: Design, module: Any
) -> tuple[Memories, Session]:
    """Memories filled with the weights, and a session that runs ``module`` on them."""
    memories = make_memories(weights, design.lanes, design.block)
    return memories, Session(
        weights.config, module, memories, lambda: getattr(module, "cycles", None)
    )
