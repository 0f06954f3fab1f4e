"""Schedule and build the accelerator for a target: CPU simulator, Verilator, in-process JIT, HLS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .accelerator import SmallSizes, stages_of
from .checkpoints.quantize import QuantizedModel
from .conditions import check_design
from .config import Architecture
from .host import Memories, Session, make_memories
from .stage import build_stages

ARGUMENTS = (
    "count", "start", "tokens", "weights", "token_table", "position_table", "scales", "biases",
    "affine", "factors", "products_seen", "scores_seen", "sums_seen", "cache", "logits",
)  # fmt: skip


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


def schedule(config: Architecture, design: Design) -> Any:
    """The accelerator with its schedule applied.

    Raises:
        ConfigurationError: the model has what the accelerator does not.
        ParallelismError: the lanes do not divide every layer's outputs.
    """
    check_design("gpt", config)
    sizes = design.lanes, design.block, design.prefetch, design.gelu_ii, design.observe
    s = build_stages("gpt_step", ARGUMENTS, stages_of(SmallSizes(config, *sizes)))
    for loop in ("send:word", "take:lane", "take_logits:lane"):
        s.pipeline(loop)
    return s


def memories_and_session(
    weights: QuantizedModel, design: Design, module: Any
) -> tuple[Memories, Session]:
    """Memories filled with the weights, and a session that runs ``module`` on them."""
    memories = make_memories(weights, design.lanes, design.block, design.observe)
    return memories, Session(
        weights.config, module, memories, lambda: getattr(module, "cycles", None)
    )
