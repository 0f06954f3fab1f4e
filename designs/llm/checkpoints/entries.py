"""What kind of value each entry of a ``config.json`` has, whatever the family."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config import ConfigurationError


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what a message calls it, what it accepts, and the entries that are of it."""

    title: str
    accepts: Callable[[Any], bool]
    entries: frozenset[str]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and float(value).is_integer()


def _kind(title: str, accepts: Callable[[Any], bool], entries: str) -> Kind:
    return Kind(title, accepts, frozenset(entries.split()))


KINDS = (
    _kind(
        "a whole number",
        _is_whole,
        "n_embd n_head n_layer n_inner n_positions vocab_size num_hidden_layers hidden_size "
        "num_attention_heads num_key_value_heads head_dim ffn_dim intermediate_size "
        "max_position_embeddings sliding_window max_window_layers",
    ),
    _kind(
        "a number above 0",
        lambda value: _is_number(value) and value > 0,
        "layer_norm_epsilon layer_norm_eps rms_norm_eps rope_theta partial_rotary_factor factor "
        "low_freq_factor high_freq_factor original_max_position_embeddings",
    ),
    _kind(
        "true or false",
        lambda value: isinstance(value, bool),
        "attention_bias mlp_bias enable_bias is_decoder use_sliding_window tie_word_embeddings",
    ),
    _kind(
        "a text",
        lambda value: isinstance(value, str),
        "model_type hidden_act hidden_activation activation_function rope_type type",
    ),
    _kind(
        "an object",
        lambda value: isinstance(value, dict),
        "rope_scaling rope_parameters quantization_config",
    ),
    _kind(
        "a list of texts",
        lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
        "layer_types",
    ),
)
MAY_BE_NULL = frozenset(
    "n_inner num_key_value_heads head_dim sliding_window hidden_activation rope_scaling rope_parameters "
    "rope_theta quantization_config layer_types".split()
)
"""Entries of which ``null`` says that the usual value holds."""


def check_entries(path: Path, config: dict[str, Any]) -> None:
    """Refuse an entry that is not of its kind.

    Raises:
        ConfigurationError: there is one; the message names it and its value.
    """
    ropes = (config.get(name) for name in ("rope_scaling", "rope_parameters"))
    _check(path, config.items())
    for rope in ropes:
        _check(path, (rope or {}).items())


def _check(path: Path, entries: Iterable[tuple[str, Any]]) -> None:
    for name, value in entries:
        kind = next((kind for kind in KINDS if name in kind.entries), None)
        if kind is None or kind.accepts(value) or (value is None and name in MAY_BE_NULL):
            continue
        raise ConfigurationError(
            f"The entry {name!r} of the configuration {path} is {value!r}, and must be {kind.title}.",
            help="copy the file again from where the model came from.",
        )
