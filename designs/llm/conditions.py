"""What arithmetic each design has. **What a design does not name here it refuses**, whatever the way to it.

``FEATURES`` is the table of all that a model may have beyond a GPT-2 without its activation function: name,
condition, sentence. ``DESIGNS`` says which of them each design has. A feature that is new is so refused by
every design until one names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from allo.errors import AlloError

from .config import ACTIVATIONS, Architecture, ConfigurationError, GPTConfig
from .constants import EPS

LONGEST = 1 << 16
"""Positions that the counters of the designs tell apart."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a model may have.

    Attributes:
        text: what it is, behind "does not have".
        fields: of :class:`Architecture`, which say it.
        used: whether a model has it.
    """

    name: str
    text: str
    fields: tuple[str, ...]
    used: Callable[[Architecture], bool]


def _activation(kind: str, gated: bool) -> Feature:
    return Feature(
        f"{kind}, gated" if gated else kind,
        f"{ACTIVATIONS[kind]} {'of a gate' if gated else 'without a gate'}",
        ("activation", "gated"),
        lambda m: (m.activation, m.gated) == (kind, gated),
    )


def _is_inner(m: Architecture) -> bool:
    return m.heads * m.head_dim != m.d


FEATURES: tuple[Feature, ...] = (
    Feature(
        "encoder", "attention in both directions, as of an encoder", ("causal",), lambda m: not m.causal
    ),
    Feature(
        "encoder, norms in front", "norms in front of the blocks of an encoder", ("causal", "post_norm"),
        lambda m: not m.causal and not m.post_norm,
    ),
    Feature(
        "decoder, norms behind", "norms behind the sums of a causal decoder", ("causal", "post_norm"),
        lambda m: m.causal and m.post_norm,
    ),
    Feature(
        "logits, norms behind", "logits where norms stand behind the sums", ("has_head", "post_norm"),
        lambda m: m.has_head and m.post_norm,
    ),
    Feature(
        "no logits, norms in front", "hidden values in place of logits", ("has_head", "post_norm"),
        lambda m: not m.has_head and not m.post_norm,
    ),
    Feature("rms", "norms that divide by the root mean square", ("rms",), lambda m: m.rms),
    Feature("eps", f"norms that add another number than {EPS}", ("eps",), lambda m: m.eps != EPS),
    *(_activation(kind, gated) for gated in (False, True) for kind in ACTIVATIONS),
    Feature("rotary", "rotary positions", ("rotary",), lambda m: bool(m.rotary)),
    Feature(
        "rotary in part", "rotary positions of a part of each head", ("rotary", "head_dim"),
        lambda m: 0 < 2 * len(m.rotary) < m.head_dim,
    ),
    Feature(
        "groups", "queries that share keys and values", ("heads", "kv_heads"),
        lambda m: m.heads != m.kv_heads,
    ),
    Feature(
        "encoder of a decoder's parts",
        "an encoder with shared keys, rotary positions, gates, or norms that subtract no mean",
        ("causal", "heads", "kv_heads", "rotary", "gated", "rms"),
        lambda m: not m.causal and (m.heads != m.kv_heads or bool(m.rotary) or m.gated or m.rms),
    ),
    Feature("inner", "heads that do not fill the hidden width", ("heads", "head_dim", "d"), _is_inner),
    Feature("no biases", "linear layers without any bias", ("biases",), lambda m: not m.biases),
    Feature(
        "windows", "attention to a window of the last tokens alone", ("windows", "context"),
        lambda m: any(m.window(layer) < m.context for layer in range(m.layers)),
    ),
    Feature("qk_norm", "norms of queries and keys", ("qk_norm",), lambda m: m.qk_norm),
    Feature(
        "parallel", "attention and feed-forward layers side by side", ("parallel",),
        lambda m: m.parallel,
    ),
    Feature(
        "long", f"a context over {LONGEST:,} tokens", ("context",), lambda m: m.context > LONGEST
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Design:
    """What a design has.

    Attributes:
        title: how messages call it.
        features: the names of those features that it has.
        help: where to go with a model that it does not take.
    """

    title: str
    features: frozenset[str]
    help: str


_EVERY_ACTIVATION = frozenset(f.name for f in FEATURES if "activation" in f.fields)
_REFERENCE = "compute it by its integer reference"
DESIGNS: dict[str, Design] = {
    "gpt": Design(
        "The GPT accelerator",
        frozenset({"gelu_tanh", "no biases"}),
        f"use a GPT-2 checkpoint, or {_REFERENCE}.",
    ),
    "wide": Design(
        "The wide accelerator",
        frozenset({
            "rms", "eps", "gelu_tanh", "relu", "silu, gated", "rotary", "rotary in part", "groups",
            "no biases",
        }),
        f"build an encoder by the accelerator for blocks, schedule_block; a long or a windowed model for a "
        f"shorter context, dataclasses.replace(model, context=…); or {_REFERENCE}.",
    ),
    "block": Design(
        "The accelerator for blocks",
        frozenset({
            "encoder", "rms", "eps", "gelu_tanh", "gelu", "relu", "silu, gated", "rotary",
            "rotary in part", "groups", "no biases",
        }),
        f"decode with the wide accelerator, one token a step, or {_REFERENCE}.",
    ),
    "devices": Design(
        "The design of several devices",
        frozenset({"eps", "gelu_tanh"}),
        f"decode with one wide accelerator, or {_REFERENCE}.",
    ),
    "integers": Design(
        "The integer model",
        frozenset({
            "encoder", "decoder, norms behind", "rms", "eps", "rotary", "rotary in part", "groups",
            "encoder of a decoder's parts", "inner", "no biases", "windows", "long",
        }) | _EVERY_ACTIVATION,
        "compute it by the float model.",
    ),
}  # fmt: skip


def features_of(model: Architecture) -> list[Feature]:
    """The features of a model, in the order of the table."""
    return [feature for feature in FEATURES if feature.used(model)]


def check_design(
    name: str, model: Architecture, error: type[AlloError] = ConfigurationError
) -> None:
    """Refuse a model that has what a design does not.

    Args:
        name: of the design, a key of ``DESIGNS``.
        error: what is raised.
    """
    design = DESIGNS[name]
    for feature in features_of(model):
        if feature.name not in design.features:
            raise error(
                f"{design.title} does not have {feature.text}, which this model of the family "
                f"{model.family!r} has.",
                help=design.help,
            )


def gpt_config(model: Architecture) -> GPTConfig:
    """The shape of a model as the GPT accelerators take it.

    Raises:
        ConfigurationError: when the arithmetic is not that of these accelerators.
    """
    check_design("gpt", model)
    return GPTConfig(model.layers, model.d, model.heads, model.ffn, model.context, model.vocab)
