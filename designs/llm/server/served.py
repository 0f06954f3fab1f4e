"""The model of a server: its name, what spells its tokens, and the tokens that end an answer."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.chat import ChatTemplate
from ..language.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Served:
    """What a server tells of its model, and needs to know of it.

    Attributes:
        name: by which requests ask for it.
        context: positions of a sequence.
        ends: tokens that end an answer.
        chat: its chat template, or None for a model that takes texts alone.
    """

    name: str
    tokenizer: Tokenizer
    context: int
    ends: tuple[int, ...] = ()
    chat: ChatTemplate | None = None
