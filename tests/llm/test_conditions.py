"""What a model has and a design does not is refused, on every way to the design."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from allo.designs.llm.build import Design as SmallDesign
from allo.designs.llm.build import schedule as schedule_small
from allo.designs.llm.checkpoints.quantize import quantize
from allo.designs.llm.conditions import (
    DESIGNS,
    FEATURES,
    LONGEST,
    check_design,
    features_of,
    gpt_config,
)
from allo.designs.llm.config import LINEARS, Architecture, ConfigurationError, GPTConfig
from allo.designs.llm.devices.build import schedule as schedule_devices
from allo.designs.llm.devices.link import Pace
from allo.designs.llm.devices.parameters import Devices
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.build import schedule as schedule_wide
from allo.designs.llm.wide.parameters import Wide
from allo.errors import AlloError

PLAIN = Architecture(
    "test", layers=2, d=64, heads=4, kv_heads=4, head_dim=16, ffn=128, context=16, vocab=30,
    activation="gelu_tanh", eps=1e-5,
)  # fmt: skip
WIDE, ANGLES = Wide(channels=2, lanes=16, vector=4, heads=1), (0.5, 0.25)
MODELS: dict[str, dict[str, object]] = {
    "encoder": {"causal": False, "post_norm": True, "has_head": False},
    "encoder, norms in front": {"causal": False},
    "decoder, norms behind": {"post_norm": True, "has_head": False},
    "logits, norms behind": {"causal": False, "post_norm": True},
    "no logits, norms in front": {"has_head": False},
    "rms": {"rms": True},
    "eps": {"eps": 1e-6},
    "relu": {"activation": "relu"},
    "gelu": {"activation": "gelu"},
    "gelu_tanh": {},
    "silu": {"activation": "silu"},
    "rotary": {"rotary": ANGLES * 4},
    "rotary in part": {"rotary": ANGLES},
    "groups": {"kv_heads": 2},
    "encoder of a decoder's parts": {
        "rms": True,
        "causal": False,
        "post_norm": True,
        "has_head": False,
    },
    "inner": {"head_dim": 32},
    "no biases": {"biases": ()},
    "windows": {"windows": (0, 4)},
    "qk_norm": {"qk_norm": True},
    "parallel": {"parallel": True},
    "long": {"context": LONGEST + 1},
}
MODELS |= {
    f"{kind}, gated": {"activation": kind, "gated": True}
    for kind in ("gelu_tanh", "gelu", "relu", "silu")
}
"""A model with each feature, by what differs from the plain one."""
WAYS: dict[str, Callable[[Architecture], object]] = {
    "gpt": lambda m: schedule_small(m, SmallDesign()),
    "wide": lambda m: schedule_wide(m, WIDE),
    "block": lambda m: schedule_block(m, WIDE, Block(most=8, tokens=4)),
    "devices": lambda m: schedule_devices(m, WIDE, Devices(1, 2), Pace(1, 20)),
    "integers": lambda m: quantize(m, {}, {}),
}
"""How each design is reached."""
SIZES = {"layers", "d", "heads", "kv_heads", "head_dim", "ffn", "vocab", "family"}


def with_feature(name: str) -> Architecture:
    return dataclasses.replace(PLAIN, **MODELS[name])


def test_every_feature_has_a_model_that_has_it() -> None:
    assert set(MODELS) == {feature.name for feature in FEATURES}
    for name in MODELS:
        assert name in {feature.name for feature in features_of(with_feature(name))}


def test_every_field_that_is_no_size_is_asked_by_a_feature() -> None:
    """A field that no row asks could change what a model computes, and a design would build it without."""
    fields = {field.name for field in dataclasses.fields(Architecture)} - SIZES
    assert fields == {name for feature in FEATURES for name in feature.fields} - SIZES


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@pytest.mark.parametrize("design", DESIGNS)
def test_what_a_design_does_not_have_is_refused_where_it_is_built(design: str, feature) -> None:
    model = with_feature(feature.name)
    lacking = [f for f in features_of(model) if f.name not in DESIGNS[design].features]
    if not lacking:
        assert check_design(design, model) is None
        return
    with pytest.raises(AlloError) as error:
        WAYS[design](model)
    assert error.value.args[0] == (
        f"{DESIGNS[design].title} does not have {lacking[0].text}, which this model of the family "
        "'test' has."
    )
    assert str(error.value).endswith(f"help: {DESIGNS[design].help}")


def test_a_window_as_long_as_the_context_is_none() -> None:
    windowed = with_feature("windows")
    assert check_design("wide", dataclasses.replace(windowed, context=4)) is None
    assert [windowed.window(layer) for layer in (0, 1)] == [16, 4]


def test_a_gpt_is_what_the_small_accelerator_takes() -> None:
    assert gpt_config(PLAIN) == GPTConfig(2, 64, 4, 128, 16, 30)
    assert GPTConfig().biases == LINEARS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activation": "swish"}, "The activation 'swish', the biases"),
        ({"biases": ("q", "z")}, "the biases ('q', 'z') or"),
        ({"windows": (4,)}, "the windows of the 2 layers, (4,), are not known."),
        ({"rotary": ANGLES * 5}, "10 pairs are turned, and a head of 16 elements has 8."),
    ],
)
def test_an_architecture_of_unknown_parts_is_refused(change: dict, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        dataclasses.replace(PLAIN, **change)
    assert message in error.value.args[0]
