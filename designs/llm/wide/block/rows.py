"""The rows of a step: tokens of one sequence or of several, each with its position and what it sees.

A row keeps its key and value in the cache of its sequence, a *slot*, behind what was there before the step.
It sees these, and of the rows of the same step those that it names. So a prompt is rows that each see all
before them; a batch is rows of several sequences, which see themselves; proposals that branch are rows
that see those they follow; and a step may have all of these beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...config import Architecture
from ..host import PositionError
from .parameters import Block

WINDOW = 32
"""Entries of a cache, a row's own and those just before it, of which a mask says which the row sees."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a step.

    Attributes:
        tokens, positions: of each row; a position is that in the text, which positions of embeddings follow.
        slots: the sequence of each row.
        before: entries of the sequence's cache that were there before the step, all of which the row sees.
        sees: which rows of the step each row sees, (rows, rows).
        left: of the entries just before the step, the last of them last, those that each row leaves out
            nevertheless, (rows, entries); None for none. Such a step has one sequence.
    """

    tokens: np.ndarray
    positions: np.ndarray
    slots: np.ndarray
    before: np.ndarray
    sees: np.ndarray
    left: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def places(self) -> np.ndarray:
        """Entry of its sequence's cache in which each row keeps its key and value."""
        same = self.slots[:, None] == self.slots
        places: np.ndarray = self.before + np.tril(same, -1).sum(1)
        return places

    @property
    def masks(self) -> np.ndarray:
        """Bit b of each row says whether the row sees the entry b before its own, uint32."""
        places = self.places
        back = places[:, None] - places
        hidden = (self.slots[:, None] == self.slots) & ~self.sees & (back >= 0) & (back < WINDOW)
        if self.left is not None:
            count = self.left.shape[1]
            behind = places[:, None] - (self.before[:, None] - count + np.arange(count))
            back = np.concatenate((back, behind), 1)
            hidden = np.concatenate((hidden, self.left & (behind < WINDOW)), 1)
        bits = np.where(hidden, np.uint32(1) << (back % WINDOW).astype(np.uint32), np.uint32(0))
        masks: np.ndarray = ~np.bitwise_or.reduce(bits, axis=1, initial=np.uint32(0))
        return masks


def following(tokens: Sequence[int] | np.ndarray, start: int = 0, slot: int = 0) -> Rows:
    """Neighbouring tokens of a sequence from position ``start`` on: a prompt, a part of one, or one token."""
    return branching(tokens, range(-1, len(tokens) - 1), start, slot)


def branching(
    tokens: Sequence[int] | np.ndarray, parents: Sequence[int], start: int, slot: int = 0
) -> Rows:
    """A tree of tokens behind ``start`` tokens of a sequence.

    Args:
        parents: of each token the one that it follows, which comes before it; -1 for the sequence itself.
    """
    count = len(tokens)
    sees = np.eye(count, dtype=bool)
    depth = np.zeros(count, np.int64)
    for row, parent in enumerate(parents):
        if parent >= 0:
            sees[row] |= sees[parent]
            depth[row] = depth[parent] + 1
    return Rows(
        np.asarray(tokens, np.int64),
        start + depth,
        np.full(count, slot),
        np.full(count, start),
        sees,
    )


def beside(parts: Sequence[Rows]) -> Rows:
    """Rows of several sequences in one step, in this order.

    Raises:
        PositionError: some leave out what was there before the step.
    """
    if any(part.left is not None for part in parts):
        raise PositionError(
            "Rows that leave out entries from before the step are to stand beside those of other sequences.",
            help="give them a step of their own.",
        )
    count = sum(len(part) for part in parts)
    sees, at = np.zeros((count, count), bool), 0
    for part in parts:
        sees[at : at + len(part), at : at + len(part)] = part.sees
        at += len(part)
    return Rows(
        np.concatenate([part.tokens for part in parts]),
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.slots for part in parts]),
        np.concatenate([part.before for part in parts]),
        sees,
    )


def check_rows(rows: Rows, spoken: int, config: Architecture, block: Block) -> None:
    """Refuse rows that an accelerator does not take.

    Raises:
        PositionError: a token, position, sequence or entry of a cache is not one of the model's and the
            accelerator's, the numbers of rows or of logits are not, or a row sees what it cannot.
    """
    count = len(rows)
    if not 1 <= count <= block.most:
        raise PositionError(
            f"A step of {count} tokens is asked for, and this accelerator takes 1 to {block.most}.",
            help="feed a longer prompt in parts.",
        )
    if not 1 <= spoken <= min(block.spoken, count):
        raise PositionError(
            f"Logits after the last {spoken} of {count} tokens are asked for, and this accelerator gives "
            f"those of 1 to {block.spoken}.",
            help="build it with a larger spoken, or take fewer tokens a step.",
        )
    if rows.before.min() < 0 or rows.places.max() >= config.context:
        raise PositionError(
            f"The positions {rows.before.min()} to {rows.places.max()} are not all among the "
            f"{config.context} of the model.",
            help="shorten the sequence.",
        )
    for what, values, end in (
        ("token", rows.tokens, block.entrance or config.vocab),
        ("position", rows.positions, config.context),
        ("sequence", rows.slots, block.slots),
    ):
        bad = values[(values < 0) | (values >= end)]
        if bad.size:
            whose = "accelerator" if what == "sequence" else "model"
            raise PositionError(
                f"The {what} {bad[0]} is not one of the {end} of the {whose}.",
                help=f"a {what} is from 0 to {end - 1}.",
            )
    _check_sight(rows)


def _check_sight(rows: Rows) -> None:
    same = rows.slots[:, None] == rows.slots
    back = rows.places[:, None] - rows.places
    if (same & (rows.before[:, None] != rows.before)).any():
        raise PositionError(
            "Rows of one sequence do not agree how much of it was there before the step.",
            help="give rows of a sequence by one call of following or branching.",
        )
    if not rows.sees.diagonal().all() or (rows.sees & (~same | (back < 0))).any():
        raise PositionError(
            "A row does not see itself, or sees a later row or one of another sequence.",
            help="put a row behind those that it follows.",
        )
    if rows.left is not None:
        count = rows.left.shape[1]
        behind = rows.places[:, None] - rows.before[:, None] + count - np.arange(count)
        if (rows.slots != rows.slots[0]).any() or count > rows.before[0]:
            raise PositionError(
                "Rows leave out entries from before the step, and are of several sequences or name more "
                "entries than there are.",
                help="give rows of one sequence, and at most as many entries as it had.",
            )
        if (rows.left & (behind >= WINDOW)).any():
            raise PositionError(
                f"A row is to leave out an entry from before the step that is {WINDOW} or more before its "
                "own.",
                help="grow a smaller tree.",
            )
    far = same & ~rows.sees & (back >= WINDOW)
    if far.any():
        row, other = (int(n) for n in np.argwhere(far)[0])
        raise PositionError(
            f"Row {row} of a step is to leave out row {other}, which is {int(back[row, other])} entries "
            "before it in its cache.",
            help=f"branches leave out what is less than {WINDOW} entries before; propose fewer tokens.",
        )
