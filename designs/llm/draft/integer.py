"""A draft head in integers, W8A8 with steps of tokens, whose steps the accelerator for blocks takes.

The projection of what the model ends in and of a token's embedding is a sum of two: the embedding's half is
a table, which takes the place of the embeddings, and the other one is a product that enters the residual
(``Block(entrance=…)``). What follows is a model of one layer. Its logits are those of the first tokens of the
vocabulary alone, which the tokenizer joined first, as they are the most frequent ones (a vocabulary ranked by
frequency: Zhao et al., "FR-Spec", ACL 2025).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..checkpoints.quantize import QuantizedModel, finest_shift, quantize, quantize_rows
from ..wide.block.parameters import Block
from ..wide.block.rows import Rows
from ..wide.block.rows import following as rows_of
from ..wide.block.tokens.ended import Ended, beside
from .growth import Node, grown, path_of
from .head import DraftHead, DraftHeadError


class _Observed(DraftHead):
    """A head that keeps the largest magnitude of what has a static step."""

    peaks: dict[str, float]

    def _of_heads(
        self, x: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = super()._of_heads(x, places)
        for name, values in zip("qkv", found, strict=True):
            self._see(f"0.{name}", values)
        return found

    def _mixed(self, q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        mixed = super()._mixed(q, keys, values)
        self._see("0.o", mixed)
        return mixed

    def _see(self, name: str, values: np.ndarray) -> None:
        self.peaks[name] = max(self.peaks.get(name, 1e-6), float(np.abs(values).max()))


def quantize_head(
    head: DraftHead, texts: Sequence[tuple[np.ndarray, np.ndarray]], block: int, said: int
) -> QuantizedModel:
    """A head in integers, with ``enter`` beside the layers of a model.

    Args:
        head: in float32.
        texts: what the model ends in at the places of typical texts, and the tokens that follow.
        block: activations that share a power of two.
        said: tokens whose logits it has, the first ones of the vocabulary.
    """
    model = dataclasses.replace(head.model, layers=1, vocab=said)
    tensors, embedding = head.tensors, head.embedding
    observed = _Observed(head.model, tensors, embedding)
    observed.peaks = {}
    for hidden, tokens in texts:
        observed.reset()
        for at in range(len(tokens)):
            observed.take(hidden[at : at + 1], tokens[at : at + 1])
    scales = {f"0.{name}": 1.0 for name in ("norm1", "norm2", "gelu")} | {"norm": 1.0}
    scales |= {name: peak / 127.0 for name, peak in observed.peaks.items()}
    params = {name: np.zeros(shape, np.float32) for name, shape in model.shapes().items()}
    join = tensors["join.weight"]
    params["token"] = (embedding @ join[:, model.d :].T).astype(np.float32)
    params["head.w"] = embedding[:said]
    for name in ("norm", "norm1", "norm2"):
        params["norm.g" if name == "norm" else f"0.{name}.g"] = tensors[
            name if name == "norm" else f"block.{name}"
        ]
    for name in ("q", "k", "v", "p", "gate", "f1", "f2"):
        weight = tensors[f"block.{name}.weight"]
        # The head turns neighbours, and the model what lies half a head apart.
        halves = np.arange(model.head_dim).reshape(-1, 2).T.ravel()
        turned = weight.reshape(-1, model.head_dim, weight.shape[1])[:, halves]
        params[f"0.{name}.w"] = turned.reshape(weight.shape) if name in "qk" else weight
    found = quantize(model, params, scales, block=block)
    rows, scale = quantize_rows(join[:, : model.d])
    shift = 2.0 ** -finest_shift(model, 0)
    entering = {
        "enter.w": rows,
        "enter.s": (scale * shift).astype(np.float32),
        "enter.b": np.zeros(model.d, np.float32),
    }
    return dataclasses.replace(found, arrays=found.arrays | entering)


class Telling(Protocol):
    """A model that tells what the last rows of its last step ended in, quantised."""

    @property
    def ended(self) -> Ended | None:
        """Of as many rows as it gave logits of."""

    def step(self, rows: Rows, spoken: int) -> np.ndarray:
        """The logits after so many of the last rows."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A target of :class:`.drafting.Drafting` whose rows all tell what they end in."""

    model: Telling

    @property
    def hidden(self) -> Ended:
        """What the rows of the last step ended in.

        Raises:
            DraftHeadError: the model does not tell.
        """
        if self.model.ended is None:
            raise DraftHeadError(
                "The model does not tell what its rows end in.",
                help="take one whose activations have steps of tokens, Wide(block=…).",
            )
        return self.model.ended

    def step(self, rows: Rows, spoken: int) -> np.ndarray:
        """The logits after so many of the last rows."""
        return self.model.step(rows, len(rows))[-spoken:]


HeadEngine = Callable[[Rows, Ended, int], tuple[np.ndarray, Ended]]
"""Takes rows, what each is given, and a number; gives the logits of so many last ones and their ends."""


@dataclass(slots=True)
class IntegerHead:
    """A draft head whose steps an engine takes, with :class:`.head.DraftHead`'s functions.

    Attributes:
        block: the accelerator, which has rows of a step.
        beam, depth: nodes of a level that grow, and levels.
        places: places of the text that were taken.
        steps: what the engine took: rows, and those whose logits it gave.
    """

    engine: HeadEngine
    block: Block
    beam: int = 6
    depth: int = 5
    places: int = 0
    steps: list[tuple[int, int]] = field(default_factory=list)
    _logits: np.ndarray | None = None
    _ends: Ended | None = None
    _last: tuple[np.ndarray, Ended] | None = None
    _grown: int = 0

    def reset(self) -> None:
        """Forget the text."""
        self.places, self._last = 0, None

    def take(self, hidden: Sequence[Ended], following: np.ndarray) -> None:
        """Take what the model ends in at the next places of the text, and the token that follows each."""
        for first in range(0, len(following), self.block.most):
            some = slice(first, first + self.block.most)
            rows = rows_of(following[some], self.places)
            self._last = self._step(rows, beside(list(hidden[some])), 1)
            self.places += len(rows)

    def grow(self, room: int) -> list[Node]:
        """The likeliest continuations of the text: ``room`` nodes at most, parents before their children.

        Raises:
            DraftHeadError: no place was taken yet.
        """
        if self._last is None:
            raise DraftHeadError(
                "A draft head that has taken no place is asked for proposals.",
                help="give it what the model ends in at each place of the text, IntegerHead.take.",
            )
        logits, self._ends = self._last
        self._grown = 0
        return grown(logits[-1], self._level, self.beam, self.depth, room)

    def _level(self, nodes: list[Node], front: list[int], sources: list[int]) -> np.ndarray:
        """The logits behind each node of a level, which stands behind those of the levels before it."""
        count, ends = len(front), self._ends
        paths = [path_of(nodes, at) for at in front]
        left = np.ones((count, self._grown), bool)
        for row, path in enumerate(paths):
            left[row, path[:-1]] = False
        rows = Rows(
            np.array([nodes[at].token for at in front]),
            np.full(count, self.places - 1 + len(paths[0])),
            np.zeros(count, np.int64),
            np.full(count, self.places + self._grown),
            np.eye(count, dtype=bool),
            left,
        )
        assert ends is not None
        logits, self._ends = self._step(rows, ends[sources], count)
        self._grown += count
        return logits

    def _step(self, rows: Rows, given: Ended, spoken: int) -> tuple[np.ndarray, Ended]:
        self.steps.append((len(rows), spoken))
        return self.engine(rows, given, spoken)
