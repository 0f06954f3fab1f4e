"""The parameters of the wide accelerator, and whether they fit a model."""

from __future__ import annotations

from dataclasses import dataclass

from allo.errors import AlloError

from ..config import GPTConfig


class WidthError(AlloError):
    """Parameters of the wide accelerator that do not fit each other or the model."""


@dataclass(frozen=True, slots=True)
class Wide:
    """The parameters of one wide accelerator.

    Attributes:
        channels: memory channels that hold weights, each with a processing element beside it.
        lanes: bytes of weights an element takes a cycle, which is a word of its channel.
        vector: elements the vector units take at once, V.
        heads: heads at work at once, each on a head's width of multipliers twice.
        prefetch: words of weights a channel's loader may be ahead; it hides what the elements wait for.
        gelu_interval: cycles between two words of V GELUs.
        rescale_interval: cycles between two words of V rescaled sums.
        parts: running sums of a norm that take turns; at least the stages of a float adder, or the
            norms wait for it.
        bits: of a weight, 8 or 4; the logits' weights have 8. With 4, a word holds two weights a lane.
    """

    channels: int = 32
    lanes: int = 64
    vector: int = 16
    heads: int = 4
    prefetch: int = 1024
    gelu_interval: int = 4
    rescale_interval: int = 1
    parts: int = 8
    bits: int = 8

    @property
    def activations(self) -> int:
        """Activations in a word that spreads to the elements: as many as a word has weights."""
        return self.lanes * 8 // self.bits


def padded_vocab(config: GPTConfig, wide: Wide) -> int:
    """Outputs of the logits' job: the vocabulary, and outputs of zero weights up to whole words."""
    unit = max(wide.channels, wide.vector)
    return -(-config.vocab // unit) * unit


def job_words(config: GPTConfig, wide: Wide) -> tuple[tuple[int, ...], int]:
    """Words of a channel in the four jobs of a layer, and in the job of the logits.

    With weights of four bits, every ``lanes`` words of a layer's job follow one of their steps.
    """
    d, ffn = config.d, config.ffn
    at_once = wide.channels * wide.activations
    jobs = tuple(size // at_once for size in (3 * d * d, d * d, ffn * d, d * ffn))
    if wide.bits == 4:
        jobs = tuple(words + -(-words // wide.lanes) for words in jobs)
    return jobs, padded_vocab(config, wide) * d // (wide.channels * wide.lanes)


def channel_size(config: GPTConfig, wide: Wide) -> int:
    """Words that a channel holds."""
    jobs, last = job_words(config, wide)
    return config.layers * sum(jobs) + last


def check_wide(config: GPTConfig, wide: Wide) -> None:
    """Refuse parameters that do not fit each other or the model.

    Raises:
        WidthError: naming both sizes, and the nearest legal one.
    """
    for name in ("channels", "lanes", "vector", "heads", "parts"):
        value = getattr(wide, name)
        if value < 1 or value & (value - 1):
            raise WidthError(
                f"The wide accelerator has {value} {name}, which is no power of two.",
                help=f"{name} is 1, 2, 4, 8 and so on.",
            )
    for name in ("prefetch", "gelu_interval", "rescale_interval"):
        if getattr(wide, name) < 1:
            raise WidthError(
                f"The {name} of the wide accelerator is {getattr(wide, name)}.",
                help="it is at least 1.",
            )
    if wide.bits not in (4, 8):
        raise WidthError(
            f"The wide accelerator has weights of {wide.bits} bits.", help="ask for 8 or 4."
        )
    v, hd, what = wide.vector, config.head_dim, "lanes"
    if wide.bits == 4:
        what = f"weights of four bits that {wide.lanes} lanes take"
    _divides(what, wide.activations, "hidden width", config.d)
    _divides(what, wide.activations, "feed-forward width", config.ffn)
    _divides("channels", wide.channels, "hidden width", config.d)
    _divides("channels", wide.channels, "feed-forward width", config.ffn)
    _divides("heads at once", wide.heads, "number of heads", config.heads)
    _divides("elements of a vector", v, "number of lanes", wide.lanes)
    _divides("elements of a vector", v, "width of a head", hd)
    _divides(f"elements of {wide.parts} rows of a norm", v * wide.parts, "hidden width", config.d)


def _divides(what: str, part: int, of: str, whole: int) -> None:
    if whole % part == 0:
        return
    near = max(n for n in (1 << k for k in range(whole.bit_length())) if whole % n == 0)
    raise WidthError(
        f"The {part} {what} do not divide the {of}, {whole}.",
        help=f"the largest power of two that does is {near}.",
    )
