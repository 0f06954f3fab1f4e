"""The reference of steps of rows: several sequences with caches of their own, in NumPy, bit for bit."""

from __future__ import annotations

import numpy as np

from ...checkpoints.float_model import rotate, rotation
from ...checkpoints.integer_model import Observer
from ...checkpoints.quantize import QuantizedModel
from ...network.reference import round_clamp
from ..parameters import Wide
from ..reference import WideGPT
from .parameters import Block
from .rows import Rows, check_rows
from .tokens.ended import Ended


class RowsGPT(WideGPT):
    """A decoder with the caches of ``block.slots`` sequences, which takes steps of rows.

    Args:
        wide, block: the accelerator.

    Attributes:
        ended: what the last ``spoken`` rows of the last step ended in, quantised; None with static steps.
    """

    def __init__(
        self,
        weights: QuantizedModel,
        wide: Wide,
        block: Block,
        observe: Observer = lambda name, value: None,
    ) -> None:
        super().__init__(weights, wide, observe)
        self.block = block
        self.ended: Ended | None = None
        self._ended = np.zeros((0, weights.model.d), np.float32)
        self._rows: Rows | None = None
        self._slots: dict[str, np.ndarray] = {}

    def step(self, rows: Rows, spoken: int = 1, given: Ended | None = None) -> np.ndarray:
        """The logits after each of the last ``spoken`` rows, float32 (spoken, vocabulary).

        Args:
            given: what each row is given, of an accelerator with an entrance.

        Raises:
            PositionError: the accelerator does not take these rows.
        """
        m, arrays = self.weights.model, self.weights.arrays
        check_rows(rows, spoken, m, self.block)
        x: np.ndarray = arrays["token"][rows.tokens][None]
        if not m.rotary:
            x = x + arrays["position"][rows.positions]
        if given is not None:
            x = x + self._linear("enter", given.levels[None], given.steps[None])
        self._rows = rows
        for layer in range(m.layers):
            x = self._block(x, f"{layer}.")
        self._rows = None
        self._ended = x[0]
        levels, steps = self._taken("norm", x[:, -spoken:])
        if steps is not None:
            self.ended = Ended(levels[0], steps[0], self.weights.shift)
        logits: np.ndarray = self._linear("head", levels, steps)[0]
        return logits

    @property
    def hidden(self) -> np.ndarray:
        """What the last step ended in, behind the last norm and before it is quantised, (rows, width).

        Of models whose activations have steps of tokens, and nothing of others.
        """
        x = self._ended
        if not self.weights.block:
            return np.zeros((0, x.shape[-1]), np.float32)
        found: np.ndarray = x * self.weights.arrays["norm.g"] * self.inverse_rms(x)
        return found

    def _attention(self, x: np.ndarray, step: np.ndarray | None, p: str) -> np.ndarray:
        if self._rows is None:
            return super()._attention(x, step, p)
        rows, m = self._rows, self.weights.model
        q, k, v = (self._heads(p + name, x, step)[0] for name in "qkv")
        o = np.zeros((len(rows), m.heads, m.head_dim), np.int32)
        keys, values = (self._cached(p + name, of) for name, of in (("k", k), ("v", v)))
        for slot in np.unique(rows.slots):
            mine = np.flatnonzero(rows.slots == slot)
            before = int(rows.before[mine[0]])
            visible = np.ones((len(mine), before + len(mine)), bool)
            visible[:, before:] = rows.sees[np.ix_(mine, mine)]
            if rows.left is not None:
                visible[:, before - rows.left.shape[1] : before] &= ~rows.left
            k, v = (of[slot, :, : before + len(mine)][None] for of in (keys, values))
            o[mine] = self.attend(p, q[None, :, mine], k, v, visible)[0].transpose(1, 0, 2)
        return self._linear(p + "p", o.reshape(1, len(rows), -1))

    def cache(self, name: str) -> np.ndarray:
        """Keys ("0.k") or values ("0.v"): whole numbers (slots, heads, entries, width), which steps write."""
        if name not in self._slots:
            m = self.weights.model
            self._slots[name] = np.zeros((self.block.slots, m.kv_heads, m.context, m.head_dim))
        return self._slots[name]

    def _cached(self, name: str, new: np.ndarray) -> np.ndarray:
        """The caches of all sequences, with the rows' own keys or values, (heads, rows, width), in place."""
        kept = self.cache(name)
        if self._rows is not None:
            kept[self._rows.slots, :, self._rows.places] = new.transpose(1, 0, 2)
        return kept

    def _heads(self, name: str, x: np.ndarray, step: np.ndarray | None) -> np.ndarray:
        m, rows = self.weights.model, self._rows
        if rows is None or not m.rotary or name[-1] not in "qk":
            return super()._heads(name, x, step)
        y = self._linear(name, x, step).reshape(*x.shape[:2], -1, m.head_dim).transpose(0, 2, 1, 3)
        cosine, sine = rotation(m, 0, int(rows.positions.max()) + 1)
        y = rotate(y, cosine[rows.positions], sine[rows.positions])
        return round_clamp(y).astype(np.float64)
