"""A byte-pair tokenizer, in the layout of a Hugging Face ``tokenizer.json``.

Text is cut into words as GPT-2 cuts it. A word's UTF-8 bytes are written as one printable character
each, and the learnt merges join them. Any text can be encoded, and decoding gives it back.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from allo.errors import AlloError

from .merges import Pair, join_pair, learn_merges

# GPT-2's pattern; a letter is a word character that is neither a digit nor an underscore.
_WORDS = re.compile(
    r"'(?:[stmd]|re|ve|ll)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+", re.UNICODE
)


class TokenizerError(AlloError, ValueError):
    """A ``tokenizer.json`` that cannot be read, or of a kind that is not known."""


class UnknownTokenError(AlloError, ValueError):
    """A token that is not in the vocabulary."""


@cache
def byte_characters() -> tuple[str, ...]:
    """The printable character that stands for each byte, as GPT-2 chose them."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return tuple(chr(byte if byte in printable else next(spare)) for byte in range(256))


def spelled_words(text: str) -> list[str]:
    """The words of a text, one printable character for each byte."""
    letters = byte_characters()
    return ["".join(letters[b] for b in word.encode()) for word in _WORDS.findall(text)]


@dataclass(slots=True)
class Tokenizer:
    """A byte-pair tokenizer.

    Attributes:
        vocabulary: token to number; holds the spelling of every token.
        merges: pairs in the order in which they are applied.
        special: tokens that stand for themselves and that no text spells, e.g. the end of a text.
    """

    vocabulary: dict[str, int]
    merges: list[Pair]
    special: tuple[str, ...] = ()
    _ranks: dict[Pair, int] = field(init=False, repr=False)
    _spelling: dict[int, str] = field(init=False, repr=False)
    _words: dict[str, list[int]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self._spelling = {number: token for token, number in self.vocabulary.items()}

    def __len__(self) -> int:
        return max(self._spelling, default=-1) + 1

    @classmethod
    def train(cls, text: str, size: int, special: Sequence[str] = ("<|endoftext|>",)) -> Tokenizer:
        """Learn a vocabulary of ``size`` tokens: the specials, 256 bytes, then merges.

        Raises:
            TokenizerError: when ``size`` leaves no place for the bytes.
        """
        room = size - len(special) - 256
        if room < 0:
            raise TokenizerError(
                f"A vocabulary of {size} tokens does not hold the 256 bytes and "
                f"{len(special)} special tokens.",
                help=f"ask for at least {256 + len(special)} tokens.",
            )
        merges = learn_merges(spelled_words(text), room)
        tokens = [*special, *byte_characters(), *("".join(pair) for pair in merges)]
        vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
        return cls(vocabulary, merges, tuple(special))

    def encode(self, text: str) -> list[int]:
        """The tokens of a text.

        Raises:
            UnknownTokenError: when the vocabulary lacks a byte of the text.
        """
        found: list[int] = []
        for word in spelled_words(text):
            if word not in self._words:
                self._words[word] = self._encode_word(word)
            found += self._words[word]
        return found

    def encode_varied(self, text: str, drop: float, seed: int, spellings: int = 16) -> list[int]:
        """The tokens of a text in which every merge is left out with a probability of ``drop``.

        A model that is trained on several of these learns how its tokens are spelt (BPE-dropout,
        Provilkov, Emelianenko and Voita, 2020).

        Args:
            spellings: ways to spell a word; each time it comes, it takes one of them by chance.

        Raises:
            UnknownTokenError: when the vocabulary lacks a byte of the text.
        """
        rng = random.Random(seed)
        ways: dict[str, list[list[int]]] = {}
        found: list[int] = []
        for word in spelled_words(text):
            if word not in ways:
                ways[word] = [self._encode_word(word, drop, rng) for _ in range(spellings)]
            found += rng.choice(ways[word])
        return found

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of a sequence of tokens; bytes that are not UTF-8 become a replacement mark.

        Raises:
            UnknownTokenError: when a number is not in the vocabulary.
        """
        value = {character: byte for byte, character in enumerate(byte_characters())}
        raw = bytearray()
        for token in map(int, tokens):
            spelling = self._spelling.get(token)
            if spelling is None:
                raise UnknownTokenError(
                    f"Token {token} is not in the vocabulary of {len(self.vocabulary)} tokens.",
                    help="decode with the tokenizer.json that belongs to the model.",
                )
            if spelling in self.special:
                raw += spelling.encode()
            else:
                raw += bytes(value[c] for c in spelling)
        return raw.decode(errors="replace")

    def save(self, path: Path) -> None:
        """Write a ``tokenizer.json``."""
        added = [
            {"id": self.vocabulary[token], "content": token, "special": True, **_PLAIN}
            for token in self.special
        ]
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
        document = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {**level, "use_regex": True},
            "post_processor": None,
            "decoder": {**level, "use_regex": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": "",
                "end_of_word_suffix": "",
                "fuse_unk": False,
                "vocab": self.vocabulary,
                "merges": [" ".join(pair) for pair in self.merges],
            },
        }
        path.write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")

    def _encode_word(
        self, word: str, drop: float = 0.0, rng: random.Random | None = None
    ) -> list[int]:
        symbols = list(word)
        while len(symbols) > 1:
            ranked = [
                (rank, pair)
                for pair in zip(symbols, symbols[1:], strict=False)
                if (rank := self._ranks.get(pair)) is not None
                and (rng is None or rng.random() >= drop)
            ]
            if not ranked:
                break
            symbols = join_pair(symbols, min(ranked)[1])
        unknown = [s for s in symbols if s not in self.vocabulary]
        if unknown:
            raise UnknownTokenError(
                f"The vocabulary has no token for {unknown[0]!r} in the word {word!r}.",
                help="the vocabulary of a byte-pair tokenizer holds all 256 bytes; "
                "make tokenizer.json again.",
            )
        return [self.vocabulary[s] for s in symbols]


_PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a ``tokenizer.json`` of byte-pair encoding over bytes (GPT-2, OPT, LLaMA 3).

    Raises:
        TokenizerError: the file is missing, damaged, or of another kind.
    """
    document = _read(path)
    model = document.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if not isinstance(model, dict) or kind != "BPE":
        raise TokenizerError(
            f"The tokenizer {path} is of type {kind!r}, and only 'BPE' is read.",
            help="use a model whose tokenizer is byte-pair encoding, as GPT-2's is.",
        )
    vocabulary, merges = model.get("vocab"), model.get("merges")
    if not isinstance(vocabulary, dict) or not isinstance(merges, list):
        raise TokenizerError(f"The tokenizer {path} has no vocabulary or no merges.", help=_REMEDY)
    if not _cuts_bytes(document):
        raise TokenizerError(
            f"The tokenizer {path} does not cut its words into bytes (ByteLevel).",
            help="use a model whose tokenizer has the pre-tokenizer ByteLevel, as GPT-2's has.",
        )
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in merges]
    wrong = [p for p in pairs if len(p) != 2 or "".join(p) not in vocabulary]
    if wrong:
        raise TokenizerError(
            f"The merge {wrong[0]!r} of {path} does not make a token of the vocabulary.",
            help=_REMEDY,
        )
    added = {t["content"]: int(t["id"]) for t in document.get("added_tokens", [])}
    return Tokenizer({**vocabulary, **added}, [(a, b) for a, b in pairs], tuple(added))


_REMEDY = "take the file again from where the model came from."


def _cuts_bytes(document: dict[str, Any]) -> bool:
    step = document.get("pre_tokenizer") or {}
    steps = step.get("pretokenizers", [step])
    return any(one.get("type") == "ByteLevel" for one in steps)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise TokenizerError(f"There is no tokenizer {path}.", help=_REMEDY)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise TokenizerError(
            f"The tokenizer {path} is truncated or damaged ({error}).", help=_REMEDY
        ) from error
    if not isinstance(document, dict):
        raise TokenizerError(f"The tokenizer {path} is not a JSON object.", help=_REMEDY)
    return document
