"""Four-bit weights as the elements take them: words of nibbles behind words of steps.

Weights without offsets come as the products ``step * q`` of :mod:`..checkpoints.groups`. A step is found
again as the greatest common divisor of the weights of a word: it is a multiple of the group's own step, at
most 127, and what it leaves of every weight is no greater than q was.
"""

from __future__ import annotations

import numpy as np

from allo.errors import AlloError


class NibbleError(AlloError):
    """Weights that are no products of a step and a number of four bits."""


def pack_nibbles(rows: np.ndarray, inputs: int, lanes: int) -> np.ndarray:
    """The bytes of a job on every channel, each row of words with its rows of steps.

    Args:
        rows: int8 (channels, weights): output by output, an even number of them.
        inputs: of an output, a multiple of ``2 * lanes``.
        lanes: bytes of a word.

    Raises:
        NibbleError: the weights of a word have no step that leaves them within -8 … 7.
    """
    channels, groups = len(rows), inputs // (2 * lanes)
    words = rows.reshape(channels, -1, 2, groups, 2 * lanes)
    steps = np.maximum(np.gcd.reduce(words, axis=-1), 1)
    q = words // steps[..., None]
    if q.min() < -8 or q.max() > 7:
        raise NibbleError(
            f"Weights from {q.min()} to {q.max()} in steps of their group do not fit four bits.",
            help="quantise the model with 4 bits, in groups that the lanes' two weights each divide.",
        )
    bits = q.view(np.uint8) & 15
    packed = (bits[:, :, 0] | bits[:, :, 1] << 4).reshape(channels, -1, lanes)
    told = steps.swapaxes(2, 3).reshape(channels, -1)
    chunks = [
        part
        for at in range(0, packed.shape[1], lanes)
        for part in (_steps_word(told[:, at : at + lanes], lanes), packed[:, at : at + lanes])
    ]
    whole = np.concatenate(chunks, axis=1)
    return whole.reshape(channels, -1).view(np.int8)


def pack_offsets(q: np.ndarray, steps: np.ndarray, offsets: np.ndarray, lanes: int) -> np.ndarray:
    """The bytes of a job as :func:`tokens.nibbles.multiply_offsets` takes them.

    Args:
        q: int8 (channels, weights), a multiple of ``2 * lanes`` on each channel.
        steps, offsets: int8 (channels, groups), of every ``lanes`` weights.
        lanes: bytes of a word.
    """
    channels = len(q)
    bits = q.view(np.uint8).reshape(channels, -1, 2, lanes) & 15
    packed = bits[:, :, 0] | bits[:, :, 1] << 4
    told = np.stack([steps, offsets], axis=-1).view(np.uint8).reshape(channels, -1, 4)
    described = lanes // 4
    chunks = [
        part
        for at in range(0, packed.shape[1], described)
        for part in (
            _steps_word(told[:, at : at + described].reshape(channels, -1), lanes),
            packed[:, at : at + described],
        )
    ]
    return np.concatenate(chunks, axis=1).reshape(channels, -1).view(np.int8)


def _steps_word(steps: np.ndarray, lanes: int) -> np.ndarray:
    """One word of steps a channel, (channels, 1, lanes)."""
    word = np.zeros((len(steps), 1, lanes), np.uint8)
    word[:, 0, : steps.shape[1]] = steps
    return word
