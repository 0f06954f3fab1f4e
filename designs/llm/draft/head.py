"""A draft head: one block that foretells a model's next hidden values, and so its next tokens, in NumPy.

Its input at a place is what the model ends in there, or what the head itself foretold for it, and the
embedding of the token that follows (Li et al., "EAGLE: Speculative Sampling Requires Rethinking Feature
Uncertainty", ICML 2024). The logits' weights are the model's own. A tree of proposals grows as in
:mod:`.growth`. ``scripts/language_model/draft`` trains one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from allo.errors import AlloError

from ..checkpoints.files import read_tensors
from ..checkpoints.load import SCALE
from ..config import Architecture
from .growth import Node, grown, path_of

SMOLLM2_HEAD = Path(__file__).parents[1] / "data" / "draft" / "smollm2.safetensors"
"""Of SmolLM2-135M-Instruct, int8 with a step for each output."""


class DraftHeadError(AlloError, ValueError):
    """A draft head that is not of the model, or is asked for proposals too early."""


class DraftHead:
    """A head with the keys and values of a text.

    Args:
        model: the one whose tokens are foretold.
        tensors: of the head, by their names in its file.
        embedding: of the model's tokens, which its logits share, (vocabulary, width).
        beam: nodes of a level that grow.
        depth: levels.

    Attributes:
        tensors: those, in float32.

    Raises:
        DraftHeadError: a tensor is missing or has another shape than the model asks for.
    """

    def __init__(
        self,
        model: Architecture,
        tensors: Mapping[str, np.ndarray],
        embedding: np.ndarray,
        beam: int = 6,
        depth: int = 5,
    ) -> None:
        self.model, self.embedding = model, np.asarray(embedding, np.float32)
        self.beam, self.depth = beam, depth
        self.tensors = _checked(model, tensors)
        self._steps = np.array(model.rotary, np.float32)
        self.reset()

    def reset(self) -> None:
        """Forget the text."""
        shape = (0, self.model.kv_heads, self.model.head_dim)
        self._keys, self._values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self._last: np.ndarray | None = None

    @property
    def places(self) -> int:
        """Places of the text that were taken."""
        return len(self._keys)

    def take(self, hidden: np.ndarray | Sequence[np.ndarray], following: np.ndarray) -> None:
        """Take what the model ends in at the next places of the text, and the token that follows each.

        Args:
            hidden: behind the model's last norm, (places, width).
            following: (places,).
        """
        if not len(hidden):
            return
        first, count = self.places, len(hidden)
        x = self._joined(np.asarray(hidden), following)
        q, k, v = self._of_heads(x, first + np.arange(count))
        self._keys, self._values = (
            np.concatenate((self._keys, k)),
            np.concatenate((self._values, v)),
        )
        none = np.zeros((1, 0, *k.shape[1:]), np.float32)
        self._last = self._ended(x[-1:], self._mixed(q[-1:], none, none))[0]

    def grow(self, room: int) -> list[Node]:
        """The likeliest continuations of the text: ``room`` nodes at most, parents before their children.

        Raises:
            DraftHeadError: no place was taken yet.
        """
        if self._last is None:
            raise DraftHeadError(
                "A draft head that has taken no place is asked for proposals.",
                help="give it what the model ends in at each place of the text, DraftHead.take.",
            )
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._ends = self._last[None]
        return grown(self._logits(self._ends)[0], self._level, self.beam, self.depth, room)

    def _logits(self, ends: np.ndarray) -> np.ndarray:
        logits: np.ndarray = ends @ self.embedding.T
        return logits

    def _level(self, nodes: list[Node], front: list[int], sources: list[int]) -> np.ndarray:
        """The logits behind each node of a level; its keys and values are kept."""
        x = self._joined(self._ends[sources], np.array([nodes[at].token for at in front]))
        paths = np.array([path_of(nodes, at) for at in front])
        q, k, v = self._of_heads(x, np.full(len(front), self.places - 1 + paths.shape[1]))
        self._kept.extend(zip(k, v, strict=True))
        keys, values = (np.array([each[part] for each in self._kept])[paths] for part in (0, 1))
        self._ends = self._ended(x, self._mixed(q, keys, values))
        return self._logits(self._ends)

    def _joined(self, hidden: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        both = np.concatenate((hidden, self.embedding[tokens]), -1).astype(np.float32)
        joined: np.ndarray = both @ self.tensors["join.weight"].T
        return joined

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        square = (x * x).mean(-1, keepdims=True)
        y: np.ndarray = x / np.sqrt(square + np.float32(self.model.eps)) * self.tensors[name]
        return y

    def _of_heads(
        self, x: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Queries, keys and values, (rows, heads, width), turned by their places."""
        y = self._norm("block.norm1", x)
        q, k, v = (
            (y @ self.tensors[f"block.{name}.weight"].T).reshape(len(x), -1, self.model.head_dim)
            for name in "qkv"
        )
        angles = places[:, None, None].astype(np.float32) * self._steps
        cosine, sine = np.cos(angles), np.sin(angles)
        return _turned(q, cosine, sine), _turned(k, cosine, sine), v

    def _mixed(self, q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Attention of rows to the text, and of each to keys of its own, (rows, keys, heads, width)."""
        groups = q.reshape(len(q), self.model.kv_heads, -1, self.model.head_dim)
        scores = np.concatenate(
            (
                np.einsum("rgqw,tgw->rgqt", groups, self._keys),
                np.einsum("rgqw,rngw->rgqn", groups, keys),
            ),
            -1,
        ) * np.float32(self.model.head_dim**-0.5)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        mixed = np.einsum("rgqt,tgw->rgqw", share[..., : self.places], self._values)
        mixed = mixed + np.einsum("rgqn,rngw->rgqw", share[..., self.places :], values)
        joined: np.ndarray = mixed.reshape(len(q), -1)
        return joined

    def _ended(self, x: np.ndarray, mixed: np.ndarray) -> np.ndarray:
        """The block's end, behind the norm."""
        weights = self.tensors
        x = x + mixed @ weights["block.p.weight"].T
        y = self._norm("block.norm2", x)
        gate = y @ weights["block.gate.weight"].T
        wide = gate / (1.0 + np.exp(-gate)) * (y @ weights["block.f1.weight"].T)
        end: np.ndarray = x + wide @ weights["block.f2.weight"].T
        return self._norm("norm", end)


def load_head(model: Architecture, embedding: np.ndarray, file: Path = SMOLLM2_HEAD) -> DraftHead:
    """The head of a file.

    Raises:
        CheckpointFileError: the file is missing or damaged.
        DraftHeadError: it is not a head of this model.
    """
    return DraftHead(model, read_tensors(file), embedding)


def _checked(model: Architecture, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    d, inner = model.d, model.kv_heads * model.head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "join.weight": (d, 2 * d), "norm": (d,), "block.norm1": (d,), "block.norm2": (d,),
        "block.q.weight": (d, d), "block.k.weight": (inner, d), "block.v.weight": (inner, d),
        "block.p.weight": (d, d), "block.gate.weight": (model.ffn, d),
        "block.f1.weight": (model.ffn, d), "block.f2.weight": (d, model.ffn),
    }  # fmt: skip
    found = {}
    for name, shape in shapes.items():
        if name not in tensors or tensors[name].shape != shape:
            has = tensors[name].shape if name in tensors else "missing"
            raise DraftHeadError(
                f"The tensor {name!r} of the draft head is {has}, and a head of this model of "
                f"the family {model.family!r} has {shape}.",
                help="train a head for the model, scripts/language_model/draft.",
            )
        found[name] = np.asarray(tensors[name], np.float32)
        if name + SCALE in tensors:
            found[name] = found[name] * tensors[name + SCALE]
    return found


def _turned(x: np.ndarray, cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """Every pair of neighbours turned."""
    low, high = x[..., 0::2], x[..., 1::2]
    pairs = np.stack((low * cosine - high * sine, high * cosine + low * sine), -1)
    turned: np.ndarray = pairs.reshape(x.shape)
    return turned
