"""A model's tokenizer, by Hugging Face's ``tokenizers``: any kind that a ``tokenizer.json`` holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from allo.errors import AlloError

from ..checkpoints.libraries import library

_REMEDY = "take the file again from where the model came from."


class TokenizerError(AlloError, ValueError):
    """A ``tokenizer.json`` that cannot be read, or a vocabulary that cannot spell every text."""


class UnknownTokenError(AlloError, ValueError):
    """A token that is not in the vocabulary."""


class Tokenizer:
    """Texts as tokens.

    Attributes:
        whole: the tokenizer of the library.
    """

    def __init__(self, whole: Any) -> None:
        self.whole = whole

    def __len__(self) -> int:
        return 1 + max(self.whole.get_vocab().values(), default=-1)

    @classmethod
    def train(cls, text: str, size: int, special: Sequence[str] = ("<|endoftext|>",)) -> Tokenizer:
        """Learn byte pairs as GPT-2 has them: the specials, 256 bytes, then at most ``size`` in all.

        Raises:
            TokenizerError: when ``size`` leaves no place for the bytes.
        """
        if size < 256 + len(special):
            raise TokenizerError(
                f"A vocabulary of {size} tokens does not hold the 256 bytes and "
                f"{len(special)} special tokens.",
                help=f"ask for at least {256 + len(special)} tokens.",
            )
        parts = library("tokenizers")
        whole = parts.Tokenizer(parts.models.BPE())
        whole.pre_tokenizer = parts.pre_tokenizers.ByteLevel(add_prefix_space=False)
        whole.decoder = parts.decoders.ByteLevel()
        trainer = parts.trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=2,
            special_tokens=list(special),
            initial_alphabet=_bytes(),
            show_progress=False,
        )
        whole.train_from_iterator([text], trainer)
        return cls(whole)

    def encode(self, text: str, special: bool = True, around: bool = True) -> list[int]:
        """The tokens of a text, as the library gives them.

        Args:
            special: put the model's special tokens around the text, as its first one, and read those that
                the text spells. Without it a text is only what it says: nothing is put around it, and
                ``"<|endoftext|>"`` is thirteen characters.
            around: without it, nothing is put around the text, which spells what it needs: that of a chat
                template.
        """
        if special:
            return list(self.whole.encode(text, add_special_tokens=around).ids)
        self.whole.encode_special_tokens = True
        try:
            return list(self.whole.encode(text, add_special_tokens=False).ids)
        finally:
            self.whole.encode_special_tokens = False

    def decode(self, tokens: Iterable[int], special: bool = True) -> str:
        """The text of a sequence of tokens; bytes that are not UTF-8 become a replacement mark.

        Args:
            special: spell special tokens, too.

        Raises:
            UnknownTokenError: when a number is not in the vocabulary.
        """
        numbers = [int(token) for token in tokens]
        for number in numbers:
            if number < 0 or self.whole.id_to_token(number) is None:
                raise UnknownTokenError(
                    f"Token {number} is not in the vocabulary of {len(self)} tokens.",
                    help="decode with the tokenizer.json that belongs to the model.",
                )
        return str(self.whole.decode(numbers, skip_special_tokens=not special))

    def save(self, path: Path) -> None:
        """Write a ``tokenizer.json``."""
        self.whole.save(str(path))


def _bytes() -> list[str]:
    """The printable characters that stand for the 256 bytes, as GPT-2 chose them."""
    return sorted(library("tokenizers").pre_tokenizers.ByteLevel.alphabet())


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a ``tokenizer.json``.

    Raises:
        TokenizerError: the file is missing or damaged, or its vocabulary cannot spell every text.
        ToolMissingError: the package ``tokenizers`` is not installed.
    """
    if not path.is_file():
        raise TokenizerError(f"There is no tokenizer {path}.", help=_REMEDY)
    parts = library("tokenizers")
    try:
        text = path.read_text(encoding="utf-8")
        whole = parts.Tokenizer.from_str(text)
    except Exception as error:  # the library raises Exception itself
        raise TokenizerError(
            f"The tokenizer {path} is truncated, damaged or of an unknown kind ({error}).",
            help=_REMEDY,
        ) from error
    model = json.loads(text)["model"]
    loses = model.get("type") == "BPE" and not model.get("unk_token")
    lacking = [c for c in _bytes() if c not in model["vocab"]]
    if loses and lacking and not model.get("byte_fallback"):
        raise TokenizerError(
            f"The tokenizer {path} has no token for {lacking[0]!r} and none for what is unknown, "
            "so it would leave out a part of a text.",
            help="the vocabulary of byte pairs holds all 256 bytes; make tokenizer.json again.",
        )
    return Tokenizer(whole)
