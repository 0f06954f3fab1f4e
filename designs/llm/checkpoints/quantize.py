"""W8A8, W4A8 and ternary: integer weights, and one static scale for each activation.

The scales of activations come from a calibration: the model runs on text, and each activation's largest
magnitude becomes 127. Scales are folded, so that hardware multiplies once: into the gain and bias of the
norms, the factor and bias of the linear layers, and the exponent of softmax.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from allo.errors import AlloError

from ..conditions import check_design, gpt_config
from ..config import Architecture
from ..ternary.levels import ternary_rows
from .blocks import most_shift
from .float_model import FloatModel, Params
from .groups import GROUP, FourBits, quantize_groups
from .offsets import MOST_PRODUCT, quantize_offsets


class QuantizationError(AlloError, ValueError):
    """Bits that are not known, or scales that are not those of the model."""


@dataclass(frozen=True, slots=True)
class QuantizedModel:
    """A model in integers.

    Attributes:
        model: its architecture.
        arrays: by name. ``<linear>.w`` int8 (outputs, inputs), ``.s`` and ``.b`` float32: a result is
            accumulator * s + b, already in steps of what takes it. Four-bit weights with offsets
            (:mod:`.offsets`) are int16, and their parts are ``.q``, ``.d`` and ``.m``, int8: levels, and
            steps and offsets of groups. ``<norm>.g`` and ``.b`` float32;
            where a norm's result is also a residual (post-norm), ``<norm>.q`` is one over its scale.
            ``softmax``, ``attend``, ``gelu``: one factor a layer.
        packed: the four-bit form of ``<linear>.w``, by the layer's name; empty for W8A8.
        block: activations of a token that share a power of two, where their steps are found for each token
            (:mod:`.blocks`); 0 for static steps. Results are then accumulator * s * step + b.
    """

    model: Architecture
    arrays: dict[str, np.ndarray]
    packed: dict[str, FourBits] = field(default_factory=dict)
    block: int = 0

    @property
    def shift(self) -> int:
        """By how much the finest levels of a block are shifted beside the coarsest; 0 with static steps."""
        return finest_shift(self.model, self.group) if self.block else 0

    @property
    def group(self) -> int:
        """Inputs that share a step and an offset of four-bit weights; 0 where the weights have none."""
        steps = self.arrays.get("0.q.d")
        return 0 if steps is None else self.model.d // steps.shape[1]

    @property
    def config(self) -> Architecture:
        """The architecture, by the name that a GPT's weights have for their shape."""
        return self.model

    def gpt_weights(self) -> QuantizedModel:
        """The arrays as the GPT accelerators take them.

        Raises:
            ConfigurationError: when the model's arithmetic is not theirs.
        """
        return QuantizedModel(gpt_config(self.model), self.arrays)


def finest_shift(model: Architecture, group: int) -> int:
    """The most by which a block's levels are finer in a model.

    Args:
        group: inputs that share a step and an offset of four-bit weights; 0 without offsets.
    """
    inputs = max(model.d, model.ffn)
    return most_shift(inputs, MOST_PRODUCT) if group else most_shift(inputs)


def calibrate(model: Architecture, params: Params, batches: list[np.ndarray]) -> dict[str, float]:
    """The scale of every activation: the largest magnitude seen over 127.

    Args:
        batches: tokens (batch, length) of typical text.
    """
    peaks: dict[str, float] = {}

    def observe(name: str, value: np.ndarray) -> None:
        peaks[name] = max(peaks.get(name, 0.0), float(np.abs(value).max()))

    for tokens in batches:
        FloatModel(model, params, observe).forward(tokens)
    return {name: max(peak, 1e-6) / 127.0 for name, peak in peaks.items()}


def quantize(
    model: Architecture,
    params: Params,
    scales: Mapping[str, float],
    weight_bits: int = 8,
    group: int = GROUP,
    block: int = 0,
    *,
    offsets: bool = False,
    ternary: str = "",
) -> QuantizedModel:
    """Quantise a model: W8A8, W4A8 in groups, or with ternary weights.

    Args:
        scales: the scale of every activation, by :func:`calibrate`.
        weight_bits: 8 or 4. The last layer keeps 8.
        group: inputs that share a step of four-bit weights.
        block: activations that share a power of two, with a step for each token (:mod:`.blocks`); 0 for the
            static steps of ``scales``. Queries, keys, values and what attention gives have static ones.
        offsets: whether groups of four-bit weights have offsets, too (:mod:`.offsets`); with a group of 32
            the blocks of GGUF's Q4_1 are taken as they are.
        ternary: what shares a scale of ternary weights (:mod:`..ternary.levels`), ``"matrix"`` or
            ``"output"``; all linear layers have such weights then, the last one, too. Empty for weights of
            ``weight_bits``.

    Raises:
        QuantizationError: other bits, or an activation without a scale.
        TernaryError: nothing that a scale could be shared by.
        ConfigurationError: arithmetic that the integer model does not have.
    """
    check_design("integers", model)
    if weight_bits not in (4, 8):
        raise QuantizationError(
            f"Weights of {weight_bits} bits are not known.", help="ask for 8 or 4."
        )
    missing = sorted(set(activations(model)) - set(scales))
    if missing:
        raise QuantizationError(
            f"The activation {missing[0]!r} has no scale.",
            help="calibrate this model, and not another one.",
        )
    if block and not (model.rms and model.gated and not model.post_norm):
        raise QuantizationError(
            f"Steps of tokens are known for norms by the root mean square and gates, and a model of the "
            f"family {model.family!r} has others.",
            help="take static steps, block=0.",
        )
    if block and (model.d % block or model.ffn % block):
        raise QuantizationError(
            f"Blocks of {block} activations do not divide the hidden width {model.d} or the feed-forward "
            f"width {model.ffn}.",
            help=f"{np.gcd(model.d, model.ffn)} is the largest number that divides both.",
        )
    if offsets:
        _check_offsets(model, weight_bits, group)
    if ternary and (weight_bits != 8 or block):
        raise QuantizationError(
            f"Ternary weights have neither {weight_bits} bits nor blocks of {block} activations.",
            help='leave weight_bits and block where ternary is "matrix" or "output".',
        )
    return _Quantizer(model, params, scales, weight_bits, group, block, offsets, ternary).run()


def _check_offsets(model: Architecture, weight_bits: int, group: int) -> None:
    if weight_bits != 4:
        raise QuantizationError(
            f"Groups with offsets are of weights of 4 bits, and not of {weight_bits}.",
            help="ask for weight_bits=4, or leave the offsets.",
        )
    widths = {inputs for _, inputs in model.linears().values()}
    if any(width % group for width in widths):
        raise QuantizationError(
            f"Groups of {group} inputs do not divide layers of {' and '.join(map(str, sorted(widths)))}.",
            help=f"{np.gcd.reduce(sorted(widths))} is the largest number that divides all.",
        )


def activations(model: Architecture) -> list[str]:
    """The activations of a model that have a scale."""
    names = [] if not model.post_norm else ["embed"]
    for layer in range(model.layers):
        names += [f"{layer}.{n}" for n in ("norm1", "q", "k", "v", "o", "norm2", "gelu")]
    return names if model.post_norm else [*names, "norm"]


def quantize_rows(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 rows and their scales, symmetric: ``weight ≈ rows * scale[:, None]``."""
    scale = np.maximum(np.abs(weight).max(1), 1e-12).astype(np.float64) / 127.0
    rows = np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8)
    return rows, scale


@dataclass(slots=True)
class _Quantizer:
    """The work of :func:`quantize`: ``arrays`` and ``packed`` grow."""

    model: Architecture
    params: Params
    scales: Mapping[str, float]
    weight_bits: int
    group: int
    block: int
    offsets: bool
    ternary: str
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    packed: dict[str, FourBits] = field(default_factory=dict)

    def run(self) -> QuantizedModel:
        model, scales = self.model, self.scales
        for name in ("token", "position"):
            if name in self.params:
                self.arrays[name] = self.params[name]
        enters = "embed"  # the norm whose result a block takes in, where norms stand behind
        if model.post_norm:
            self.norm("embed")
        for layer in range(model.layers):
            p = f"{layer}."
            self.norm(p + "norm1")
            self.norm(p + "norm2")
            taken, fed = (enters, p + "norm1") if model.post_norm else (p + "norm1", p + "norm2")
            for name in "qkv":
                self.linear(p + name, self.step(taken), scales[p + name])
            exponent = scales[p + "q"] * scales[p + "k"] * model.head_dim**-0.5
            self.arrays[p + "softmax"] = np.array([exponent])
            self.arrays[p + "attend"] = np.array([scales[p + "v"] / scales[p + "o"]])
            self.linear(p + "p", scales[p + "o"])
            for name in ("f1", "gate") if model.gated else ("f1",):
                self.linear(p + name, self.step(fed))
            self.arrays[p + "gelu"] = np.array([1.0 / self.step(p + "gelu")])
            self.linear(p + "f2", self.step(p + "gelu"))
            enters = p + "norm2"
        if not model.post_norm:
            self.norm("norm")
        if model.has_head:
            self.linear("head", self.step("norm"))
        typed = {
            name: value if value.dtype.kind == "i" else value.astype(np.float32)
            for name, value in self.arrays.items()
        }
        return QuantizedModel(model, typed, self.packed, self.block)

    def step(self, name: str) -> float:
        """The static step of an activation, or 1 where each token has its own."""
        return 1.0 if self.block else self.scales[name]

    def norm(self, name: str) -> None:
        scale = 1.0 if self.model.post_norm else self.step(name)
        self.arrays[name + ".g"] = self.params[name + ".g"] / scale
        self.arrays[name + ".b"] = self.params[name + ".b"] / scale
        if self.model.post_norm:
            self.arrays[name + ".q"] = np.array([1.0 / self.scales[name]])

    def linear(self, name: str, in_scale: float, out_scale: float = 1.0) -> None:
        weight = self.params[name + ".w"]
        if self.ternary:
            rows, row_scale = ternary_rows(weight, self.ternary)
        elif self.offsets and name != "head":
            found = quantize_offsets(weight, self.group)
            rows, row_scale = found.rows(), found.scale
            for part, values in (("q", found.q), ("d", found.steps), ("m", found.offsets)):
                self.arrays[f"{name}.{part}"] = values
        elif self.weight_bits == 4 and name != "head":
            packed = quantize_groups(weight, self.group)
            self.packed[name] = packed
            rows, row_scale = packed.rows(), packed.scale
        else:
            rows, row_scale = quantize_rows(weight)
        self.arrays[name + ".w"] = rows
        shift = finest_shift(self.model, self.group if self.offsets else 0) if self.block else 0
        self.arrays[name + ".s"] = row_scale * in_scale / out_scale * 2.0**-shift
        self.arrays[name + ".b"] = self.params[name + ".b"] / out_scale
