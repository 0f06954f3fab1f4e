"""The parameters of blocks, beside those of the wide accelerator, and whether they fit."""

from __future__ import annotations

from dataclasses import dataclass

from ...config import GPTConfig
from ..parameters import Wide, WidthError, check_wide


@dataclass(frozen=True, slots=True)
class Block:
    """How many tokens the wide accelerator takes at once.

    Attributes:
        rows: tokens an element multiplies a word of weights with in one cycle.
        tokens: of a block; a word of weights is read once for so many.
        most: tokens of a step. It has several blocks, which take turns in every job: while one is
            multiplied, norms, attention and GELU of the others are under way.
        norms: units of norms, each with a token of its own.
    """

    rows: int = 4
    tokens: int = 32
    most: int = 128
    norms: int = 4


def check_block(config: GPTConfig, wide: Wide, block: Block) -> None:
    """Refuse parameters that do not fit each other or the model.

    Raises:
        WidthError: naming both sizes, and a legal one.
    """
    check_wide(config, wide)
    for name in ("rows", "tokens", "most", "norms"):
        if getattr(block, name) < 1:
            raise WidthError(
                f"The {name} of a block of the wide accelerator are {getattr(block, name)}.",
                help="there is at least 1.",
            )
    if wide.bits != 8:
        raise WidthError(
            f"Blocks of tokens take weights of 8 bits, and not of {wide.bits}.",
            help="decode with four bits, one token a step.",
        )
    for what, part, of, whole in (
        ("rows", block.rows, "tokens of a block", block.tokens),
        ("elements of a vector", wide.vector, "channels", wide.channels),
        ("channels", wide.channels, "width of a head", config.head_dim),
    ):
        if whole % part:
            raise WidthError(
                f"The {part} {what} do not divide the {of}, {whole}.",
                help=f"take {of} that are a multiple of {part}.",
            )
    if block.norms & (block.norms - 1):
        raise WidthError(
            f"The wide accelerator has {block.norms} units of norms, which is no power of two.",
            help="norms is 1, 2, 4, 8 and so on.",
        )
    if block.most > config.context:
        raise WidthError(
            f"A step of {block.most} tokens does not fit the context of {config.context}.",
            help=f"a step has at most {config.context} tokens.",
        )
