"""The wide accelerator for one token a step: its stages, joined by streams."""

from __future__ import annotations

from typing import Any

from ..config import Architecture
from ..stage import Placed, Stage, build_stages
from ..ternary import stages as ternary
from .external import channels, halves, regions, tables
from .external import stages as external
from .parameters import Wide, check_wide
from .stages import attention, ends, linear, vectors
from .stages.sizes import Sizes, sizes_of
from .tokens import stages as tokens

ARGUMENTS = (
    "token", "start", "weights", "affine", "norm_table", "token_table", "position_table",
    "exponents", "attends", "gelus", "keys", "values", "logits",
)  # fmt: skip


def engine(z: Sizes) -> dict[str, Stage]:
    """The stages between embedding and logits, by their names, in the order in which they are built."""
    rotary = {"turning": attention.turning(z)} if z.model.rotary else {}
    own = z.wide.block > 0
    units = external if z.is_outside else attention
    adding = ternary if z.wide.trits else linear
    return {
        "norming": (tokens if own else vectors).norming(z),
        "spreading": adding.spreading(z),
        "multiplying": adding.multiplying(z),
        "gathering": linear.gathering(z),
        "rescaling": (tokens if own else linear).rescaling(z),
        "activating": (tokens if own else vectors).activating(z),
        **rotary,
        "packing": attention.packing(z),
        **({"halving": halves.halving(z)} if z.wide.kept_group else {}),
        "dealing": attention.dealing(z),
        **_kept(z),
        "scoring": units.scoring(z),
        **({"weighing": external.weighing(z)} if z.is_outside else {}),
        "mixing": units.mixing(z),
        "collecting": units.collecting(z),
        "dividing": attention.dividing(z),
    }


def _kept(z: Sizes) -> dict[str, Stage]:
    """The stages that bring keys and values, and take the new ones, where they are outside."""
    if z.is_merged:
        return {
            "joining": channels.joining(z),
            "handing": channels.handing(z),
            "returning": channels.returning(z),
        }
    return {"keeping": external.keeping(z)} if z.is_outside else {}


def stages_of(z: Sizes) -> dict[str, Stage]:
    """All stages of an accelerator alone, by their names."""
    ranking = {"ranking": ends.ranking(z)} if z.wide.top else {}
    if z.is_merged:
        return {
            "loading": channels.serving(z),
            "lining": tables.lining(z),
            "embedding": tables.tabling(z),
            "factoring": tables.factoring(z),
            **engine(z),
            **ranking,
            "saying": tables.returning(z),
        }
    return {
        "loading": linear.loading(z),
        "factors": linear.factors_loading(32 * z.terms[0] * z.wide.vector, z.sums // z.wide.vector),
        "gains": linear.gains_loading(z),
        "embedding": ends.embedding(z),
        **engine(z),
        **ranking,
        "saying": ends.saying(z),
    }


def schedule(config: Architecture, wide: Wide) -> Any:
    """The accelerator with its schedule applied.

    Raises:
        WidthError: the parameters do not fit the model.
    """
    check_wide(config, wide)
    regions.check_regions(wide)
    z = sizes_of(config, wide)
    turned = {"projected": "turned"} if z.model.rotary else {}
    ranked = {} if wide.all_logits else {"ranked": "said"}
    halved = {"packed": "halved"} if wide.kept_group else {}
    over = regions.NAMES if wide.regions else {}
    names = {"packing": turned, "ranking": ranked, "dealing": halved}
    placed = [
        Placed(stage, names={**names.get(name, {}), **over.get(name, {})})
        for name, stage in stages_of(z).items()
    ]
    placed += regions.stages_over_borders(z).values() if wide.regions else ()
    left = {"gelus"} if wide.block else set()
    arguments = ARGUMENTS[:3] if z.is_merged else [n for n in ARGUMENTS if n not in left]
    return build_stages("wide_step", arguments, placed, regions.COMMON if wide.regions else ())
