"""The wide accelerator for blocks of tokens: as :mod:`..build`, with several tokens a step.

An encoder has the same stages: attention sees the whole step, ``merging`` sends the norms' results back to
``summing``, and behind the last norm all of them to ``saying``, which writes them in place of logits.
"""

from __future__ import annotations

from typing import Any

from ...config import Architecture
from ...stage import Placed, Stage, build_stages
from ..parameters import Wide
from ..stages.linear import factors_loading
from .parameters import Block, check_block
from .stages import attention, linear, rotary, vectors
from .stages.sizes import block_sizes_of
from .tokens import stages as tokens

ARGUMENTS = (
    "tokens", "positions", "bases", "lasts", "masks", "count", "waves", "spoken", "weights", "affine",
    "norm_table", "token_table", "position_table", "exponents", "attends", "gelus", "keys", "values",
    "logits",
)  # fmt: skip
ARRANGED = {"normed": "merged", "attended": "attended", "bent": "bent"}
"""The stream that each of the words of activations is arranged of."""
COMMON = (*ARRANGED.values(), *(f"{name}_words" for name in ARRANGED))


def schedule_block(config: Architecture, wide: Wide, block: Block) -> Any:
    """The accelerator with its schedule applied.

    Raises:
        WidthError: the parameters do not fit the model or each other.
    """
    check_block(config, wide, block)
    z, v, turned = block_sizes_of(config, wide, block), wide.vector, bool(config.rotary)
    own = tokens if wide.block else None
    arranging = [
        Placed(vectors.arranging(z, name), (name,), {"come": come, "leave": f"{name}_words"})
        for name, come in ARRANGED.items()
    ]
    stages: list[Stage | Placed] = [
        linear.loading(z),
        factors_loading(32 * z.terms[0] * v, z.sums // v),
        vectors.gains_loading(z),
        vectors.embedding(z),
        Placed(vectors.summing(z), names={"come": "back" if z.encoder else "embedded"}),
        vectors.turning(z),
        (own or vectors).norming(z),
        *((own.stepping(z),) if own else ()),
        vectors.merging(z),
        *arranging,
        linear.spreading(z),
        linear.casting(z),
        linear.multiplying(z),
        linear.joining(z),
        linear.gathering(z),
        (own or linear).rescaling(z),
        (own or vectors).activating(z),
        *(rotary.stages(z) if turned else ()),
        Placed(attention.packing(z), names={"projected": "turned"} if turned else {}),
        attention.dealing(z),
        attention.planning(z),
        attention.scoring(z),
        attention.mixing(z),
        attention.collecting(z),
        attention.dividing(z),
        Placed(vectors.saying(z), names={"said": "states"} if z.encoder else {}),
    ]
    arguments = [name for name in ARGUMENTS if name != "gelus" or not wide.block]
    return build_stages("block_step", arguments, stages, COMMON)
