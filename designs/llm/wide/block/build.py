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
from .shared import kept
from .shared import stages as shared
from .stages import attention, linear, rotary, vectors
from .stages.sizes import BlockSizes, block_sizes_of
from .tokens import fetching
from .tokens import stages as tokens
from .tokens.resident import CALL

ARGUMENTS = (
    "tokens", "positions", "bases", "lasts", "masks", "count", "waves", "spoken", *CALL,
    "weights", "affine", "norm_table", "token_table", "position_table", "exponents", "attends",
    "gelus", "keys", "values", "logits", "ended", "ended_steps", "brought", "brought_steps",
)  # fmt: skip
TOLD, GIVEN = ("ended", "ended_steps"), ("brought", "brought_steps")
"""The arguments that a design has which tells what its tokens end in, and one with an entrance."""
ARRANGED = {"normed": "merged", "attended": "attended", "bent": "bent"}
"""The stream that each of the words of activations is arranged of."""
LANES = {"normed": "normed", "bent": "bent_lane"}
"""The streams that several lanes of rows give of these words."""
GATE_STEPS = {"unit_steps": "gate_unit_steps", "norm_steps": "gate_steps"}
COMMON = (
    *ARRANGED.values(),
    *(f"{name}_words" for name in ARRANGED),
    *LANES.values(),
    *GATE_STEPS.values(),
    "told",
    "layer_steps",
    "merged_norms",
)


def _steps(z: BlockSizes) -> list[Stage | Placed]:
    """The steps of tokens, of norms and gates, in the order of the tokens."""
    if not z.wide.block:
        return []
    gates = GATE_STEPS | ({"norm_steps": "layer_steps"} if z.enters else {})
    return [
        Placed(tokens.stepping(z, z.block.norms, norms=True)),
        Placed(tokens.stepping(z, z.lanes, norms=False), ("bent",), gates),
        *((tokens.entering(z),) if z.enters else ()),
    ]


def _values(z: BlockSizes) -> dict[str, int]:
    """What a call says of the layers, where these are always the same."""
    values = z.model.layers, z.enters, z.outs, 0
    return dict(zip(CALL, values, strict=False))


def _loading(z: BlockSizes) -> list[Stage]:
    """What reads weights, factors of the sums, and gains."""
    if z.block.draft:
        return [fetching.loading(z), fetching.factors_loading(z), fetching.gains_loading(z)]
    v = z.wide.vector
    sums = factors_loading(32 * z.terms[0] * v, z.sums // v)
    return [linear.loading(z), sums, vectors.gains_loading(z)]


def _lanes(z: BlockSizes) -> list[Placed]:
    """What several lanes of rows give, beside each other."""
    m, v = z.model, z.wide.vector
    come = {"normed": "merged_norms"} if z.enters else {}
    sizes = {
        "normed": (m.d // v, m.d // v, True),
        "bent": (m.ffn // v, z.wide.channels // v // 2, False),
    }
    return [
        Placed(
            vectors.joining_lanes(z, *sizes[name]),
            (name,),
            {"lane": LANES[name], "joined": come.get(name, ARRANGED[name])},
        )
        for name in z.joined
    ]


def schedule_block(config: Architecture, wide: Wide, block: Block) -> Any:
    """The accelerator with its schedule applied.

    Raises:
        WidthError: the parameters do not fit the model or each other.
    """
    check_block(config, wide, block)
    z, turned = block_sizes_of(config, wide, block), bool(config.rotary)
    merged = {"merged": "merged_norms"} if z.enters else {}
    own, sharing = tokens if wide.block else None, shared if block.queries else None
    arranging = [
        Placed(vectors.arranging(z, name), (name,), {"come": come, "leave": f"{name}_words"})
        for name, come in ARRANGED.items()
    ]
    stages: list[Stage | Placed] = [
        *_loading(z),
        vectors.embedding(z),
        Placed(vectors.summing(z), names={"come": "back" if z.encoder else "embedded"}),
        vectors.turning(z),
        (own or vectors).norming(z),
        *_steps(z),
        *(() if z.lanes > 1 else (Placed(vectors.merging(z), names=merged),)),
        *_lanes(z),
        *arranging,
        linear.spreading(z),
        linear.casting(z),
        linear.multiplying(z),
        linear.joining(z),
        linear.gathering(z),
        (own or linear).rescaling(z),
        (own or vectors).activating(z),
        *((own.sharing(z),) if own and z.lanes > 1 else ()),
        *(rotary.stages(z) if turned else ()),
        Placed(attention.packing(z), names={"projected": "turned"} if turned else {}),
        attention.dealing(z),
        *((shared.finding(z),) if sharing else ()),
        (sharing or attention).planning(z),
        *((kept.keeping(z),) if sharing else ()),
        (sharing or attention).scoring(z),
        (sharing or attention).mixing(z),
        *((shared.unfolding(z),) if sharing else ()),
        attention.collecting(z),
        attention.dividing(z),
        Placed(vectors.saying(z), names={"said": "states"} if z.encoder else {}),
        *((tokens.telling(z),) if block.hidden else ()),
    ]
    left = {
        *(() if block.draft else CALL),
        *(("gelus",) if wide.block else ()),
        *(() if block.hidden else TOLD),
        *(() if block.entrance else GIVEN),
    }
    arguments = [name for name in ARGUMENTS if name not in left]
    return build_stages("block_step", arguments, stages, COMMON, {} if block.draft else _values(z))
