"""The quantised model of every family in NumPy, bit for bit what hardware computes.

For GPT-2 it is the arithmetic of :mod:`..network.reference`, with keys and values kept between calls. Sums
of integers are exact, and every float32 operation is one of the hardware, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from allo import bitexact

from ..host import SequenceTooLongError
from ..network.reference import F32, PROBABILITY_LEVELS, gelu, lane_sum, round_clamp
from .blocks import in_blocks
from .float_model import rotate, rotation, seen
from .quantize import QuantizedModel

Observer = Callable[[str, np.ndarray], None]
INVERSE = F32(1.0 / 127.0)
LARGE = 1 << 21
"""Weights of a layer up to which it is kept as float64; a larger one is converted when it is used."""


class TokenRangeError(SequenceTooLongError, ValueError):
    """A token that the model's table does not hold."""


@dataclass(slots=True)
class IntegerModel:
    """A sequence on the quantised model: keys and values of what was fed so far are kept.

    Attributes:
        weights: the model.
        observe: called with (name, array) for every int32 accumulator of a linear layer.
        position: tokens fed so far.
    """

    weights: QuantizedModel
    observe: Observer = lambda name, value: None
    position: int = 0
    _cache: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    _wide: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def reset(self) -> None:
        """Forget what was fed."""
        self.position = 0
        self._cache.clear()

    def feed(self, tokens: np.ndarray) -> np.ndarray:
        """Logits (or hidden values) of the next tokens: int (batch, length) to float32.

        Raises:
            SequenceTooLongError: when the sequence would be longer than the model's context.
            TokenRangeError: when a token is not in the model's table.
        """
        m, arrays = self.weights.model, self.weights.arrays
        length = tokens.shape[1]
        self._check(tokens)
        x: np.ndarray = arrays["token"][tokens]
        if not m.rotary:
            x = x + arrays["position"][self.position : self.position + length]
        if m.post_norm:
            x = self.norm("embed", x)
        for layer in range(m.layers):
            x = self._post_block(x, layer) if m.post_norm else self._block(x, f"{layer}.")
        self.position += length
        if m.post_norm:
            return x
        return self._linear("head", *self._taken("norm", x))

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        """Logits (or hidden values) of whole sequences, as :meth:`feed` gives them first of all."""
        self.reset()
        return self.feed(tokens)

    def kept(self, name: str) -> np.ndarray:
        """The keys ("0.k") or values ("0.v") kept so far: whole numbers (batch, heads, length, width)."""
        return self._cache[name]

    def resume(self, kept: Mapping[str, np.ndarray], position: int) -> None:
        """Go on behind ``position`` tokens whose keys and values are known, as :meth:`kept` gives them."""
        self.reset()
        self._cache.update(kept)
        self.position = position

    def _check(self, tokens: np.ndarray) -> None:
        m, end = self.weights.model, self.position + tokens.shape[1]
        if end > m.context:
            raise SequenceTooLongError(
                f"A sequence of {end} tokens does not fit the context of {m.context}.",
                help=f"shorten it to {m.context - self.position} more tokens.",
            )
        if not m.causal and self.position:
            raise SequenceTooLongError(
                "An encoder sees its sequence whole, and cannot be fed in parts.",
                help="call reset, and feed the sequence at once.",
            )
        bad = tokens[(tokens < 0) | (tokens >= m.vocab)]
        if bad.size:
            raise TokenRangeError(
                f"Token {int(bad[0])} is not in the model's table of {m.vocab} tokens.",
                help="encode the text with the tokenizer of this model.",
            )

    def _block(self, x: np.ndarray, p: str) -> np.ndarray:
        x = x + self._attention(*self._taken(p + "norm1", x), p)
        y: np.ndarray = x + self._feed(*self._taken(p + "norm2", x), p)
        return y

    def _taken(self, name: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The norm, quantised, and with steps of tokens the step of each."""
        weights = self.weights
        if not weights.block:
            return round_clamp(self.norm(name, x)), None
        found = in_blocks(x * weights.arrays[name + ".g"], weights.block, weights.shift)
        return found.levels, (found.peak * self.inverse_rms(x)) * INVERSE

    def inverse_rms(self, x: np.ndarray) -> np.ndarray:
        """One over the root mean square of the last axis, which is kept with a length of 1."""
        square = lane_sum(x * x) * F32(1.0 / x.shape[-1])
        inverse: np.ndarray = F32(1.0) / np.sqrt(square + F32(self.weights.model.eps))
        return inverse

    def _post_block(self, x: np.ndarray, layer: int) -> np.ndarray:
        p = f"{layer}."
        before = f"{layer - 1}.norm2" if layer else "embed"
        x = self.norm(p + "norm1", x + self._attention(self._small(before, x), None, p))
        return self.norm(p + "norm2", x + self._feed(self._small(p + "norm1", x), None, p))

    def _small(self, name: str, x: np.ndarray) -> np.ndarray:
        return round_clamp(x * self.weights.arrays[name + ".q"])

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        """The norm over the last axis, float32; what is quantised of it is rounded afterwards."""
        m, arrays = self.weights.model, self.weights.arrays
        inverse = F32(1.0 / x.shape[-1])
        centred = x if m.rms else x - lane_sum(x) * inverse
        variance = lane_sum(centred * centred) * inverse
        rstd = F32(1.0) / np.sqrt(variance + F32(m.eps))
        y: np.ndarray = (centred * rstd) * arrays[name + ".g"] + arrays[name + ".b"]
        return y

    def _linear(self, name: str, q: np.ndarray, step: np.ndarray | None = None) -> np.ndarray:
        arrays = self.weights.arrays
        # Exact: |acc| < 2**31, and far faster than integers.
        wide = q.astype(np.float64)
        acc = np.concatenate([wide @ part for part in self._parts(name)], -1).astype(np.int32)
        self.observe(name, acc)
        y = acc.astype(F32) * arrays[name + ".s"]
        stepped: np.ndarray = (y if step is None else y * step) + arrays[name + ".b"]
        return stepped

    def _parts(self, name: str) -> Iterator[np.ndarray]:
        """The weights of a layer as float64, (inputs, outputs), in parts that memory has room for."""
        weight = self.weights.arrays[name + ".w"]
        if weight.size > LARGE:
            rows = max(1, LARGE // weight.shape[1])
            for at in range(0, len(weight), rows):
                yield weight[at : at + rows].T.astype(np.float64)
            return
        if name not in self._wide:
            self._wide[name] = weight.T.astype(np.float64)
        yield self._wide[name]

    def _heads(self, name: str, x: np.ndarray, step: np.ndarray | None) -> np.ndarray:
        m = self.weights.model
        y = self._linear(name, x, step).reshape(*x.shape[:2], -1, m.head_dim).transpose(0, 2, 1, 3)
        if m.rotary and name[-1] in "qk":
            y = rotate(y, *rotation(m, self.position, x.shape[1]))
        return round_clamp(y).astype(np.float64)

    def _attention(self, x: np.ndarray, step: np.ndarray | None, p: str) -> np.ndarray:
        batch, length, _ = x.shape
        q, k, v = (self._heads(p + name, x, step) for name in "qkv")
        k, v = self._kept(p + "k", k), self._kept(p + "v", v)
        visible = seen(self.weights.model, int(p[:-1]), self.position, length)
        o = self.attend(p, q, k, v, visible)
        return self._linear(p + "p", o.transpose(0, 2, 1, 3).reshape(batch, length, -1))

    def attend(
        self, p: str, q: np.ndarray, k: np.ndarray, v: np.ndarray, visible: np.ndarray
    ) -> np.ndarray:
        """Attention of a layer up to its projection, quantised: (batch, heads, queries, width).

        Args:
            p: of the layer, ``"0."``.
            q, k, v: whole numbers; there may be fewer heads of keys and values.
            visible: which keys each query sees, (queries, keys).
        """
        m, arrays = self.weights.model, self.weights.arrays
        k, v = (np.repeat(t, m.heads // m.kv_heads, axis=1) for t in (k, v))
        scores = (q @ k.transpose(0, 1, 3, 2)).astype(np.int32)
        peak = np.where(visible, scores, np.iinfo(np.int32).min).max(-1, keepdims=True)
        below = np.where(visible, peak - scores, 0)
        # Of every difference once, where there are more scores than differences.
        found = np.arange(below.max() + 1) if below.size > below.max() else below
        share = bitexact.exp((-found).astype(F32) * arrays[p + "softmax"])
        levels = round_clamp(share * PROBABILITY_LEVELS, 0.0, 255.0)
        levels = np.where(visible, levels if found is below else levels[below], 0)
        total = levels.sum(-1, dtype=np.int32, keepdims=True)
        mixed = (levels.astype(np.float64) @ v).astype(np.int32)
        self.attended(p, np.where(visible, scores, 0), mixed)
        factor = arrays[p + "attend"] / total.astype(F32)
        o: np.ndarray = round_clamp(mixed.astype(F32) * factor) << self.weights.shift
        return o

    def attended(self, p: str, scores: np.ndarray, mixed: np.ndarray) -> None:
        """Sees the int32 accumulators of attention in a layer."""

    def _kept(self, name: str, new: np.ndarray) -> np.ndarray:
        if name in self._cache:
            new = np.concatenate([self._cache[name], new], axis=2)
        self._cache[name] = new
        return new

    def _feed(self, x: np.ndarray, step: np.ndarray | None, p: str) -> np.ndarray:
        weights = self.weights
        up = self._linear(p + "f1", x, step)
        if weights.model.gated:
            wide = activate(weights.model.activation, self._linear(p + "gate", x, step)) * up
        else:
            wide = activate(weights.model.activation, up)
        if not weights.block:
            return self._linear(p + "f2", round_clamp(wide * weights.arrays[p + "gelu"]))
        found = in_blocks(wide, weights.block, weights.shift)
        return self._linear(p + "f2", found.levels, found.peak * INVERSE)


class QuantizedGPT(IntegerModel):
    """The reference of the small accelerator, which also observes attention: "0.scores", "0.context"."""

    def generate(self, prompt: np.ndarray, count: int) -> np.ndarray:
        """``count`` tokens after the prompt, each the most likely one (lowest token on a tie)."""
        self.reset()
        left, said = np.asarray(prompt, np.int32), list[int]()
        while len(said) < count:
            left = self.feed(left[None])[0, -1:].argmax(-1)
            said.append(int(left[0]))
        return np.array(said, np.int32)

    def attended(self, p: str, scores: np.ndarray, mixed: np.ndarray) -> None:
        """Observes them."""
        self.observe(p + "scores", scores)
        self.observe(p + "context", mixed)


def activate(kind: str, x: np.ndarray) -> np.ndarray:
    """An activation function, float32, with the hardware's ``exp``, ``tanh`` and ``erf``."""
    match kind:
        case "gelu_tanh":
            y: np.ndarray = gelu(x)
        case "gelu":
            y = (F32(0.5) * x) * (F32(1.0) + bitexact.erf(x * F32(0.5**0.5)))
        case "relu":
            y = np.maximum(x, F32(0.0))
        case _:
            y = x / (F32(1.0) + bitexact.exp(-x))
    return y
