"""Ids of random strings are those of ``tokenizers``, for each kind of tokenizer that models have."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from allo.designs.llm.language.tokenizer import load_tokenizer

COUNT = 10_000
TEXT = "She sells sea shells by the sea shore, 12 of them; naïve Größe, İstanbul, 日本語 and \u0301accents. "
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
"""The pattern by which LLaMA-3 and Qwen2 part a text."""
BEGIN, END = "<|begin|>", "<|end|>"


def gpt2() -> hf.Tokenizer:
    whole = hf.Tokenizer(models.BPE())
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole.decoder = decoders.ByteLevel()
    return trained(whole, [END], pre_tokenizers.ByteLevel.alphabet())


def llama3() -> hf.Tokenizer:
    """Byte pairs behind a pattern and a normaliser, with a token in front of every text."""
    whole = hf.Tokenizer(models.BPE(ignore_merges=True))
    whole.normalizer = normalizers.NFC()
    whole.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(hf.Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    whole.decoder = decoders.ByteLevel()
    whole = trained(whole, [BEGIN, END], pre_tokenizers.ByteLevel.alphabet())
    whole.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, 0)]
    )
    return whole


def llama2() -> hf.Tokenizer:
    """As SentencePiece: spaces are marks, one in front of every text, and unknown letters are bytes."""
    whole = hf.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    whole.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    whole = trained(whole, ["<unk>", BEGIN, END, *(f"<0x{n:02X}>" for n in range(256))], [])
    whole.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, 1)]
    )
    return whole


def word_piece() -> hf.Tokenizer:
    whole = hf.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    whole.normalizer = normalizers.BertNormalizer(lowercase=True)
    whole.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    whole.decoder = decoders.WordPiece()
    special = ["[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    whole.train_from_iterator([TEXT] * 3, trainer)
    whole.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return whole


def unigram() -> hf.Tokenizer:
    whole = hf.Tokenizer(models.Unigram())
    whole.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(right=False)])
    whole.pre_tokenizer = pre_tokenizers.Metaspace()
    whole.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<unk>", END], unk_token="<unk>", show_progress=False
    )
    whole.train_from_iterator([TEXT] * 3, trainer)
    return whole


def trained(whole: hf.Tokenizer, special: list[str], alphabet: list[str]) -> hf.Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=special,
        initial_alphabet=sorted(alphabet),
        show_progress=False,
    )
    whole.train_from_iterator([TEXT] * 3, trainer)
    return whole


KINDS: dict[str, Callable[[], hf.Tokenizer]] = {
    "gpt2": gpt2, "llama3": llama3, "llama2": llama2, "word piece": word_piece, "unigram": unigram,
}  # fmt: skip


def strings(seed: int) -> list[str]:
    """Words of the text, special tokens, spaces and letters of any script."""
    rng = random.Random(seed)
    pieces = [*TEXT.split(" "), " ", "  ", "\n", "\t", BEGIN, END, "[SEP]", "<0x41>", "'LL", "▁"]

    def piece() -> str:
        if rng.random() < 0.6:
            return rng.choice(pieces)
        code = rng.choice((0x7F, 0x2FF, 0xFFFF, 0x10FFFF))
        return chr(n) if not 0xD800 <= (n := rng.randrange(1, code)) < 0xE000 else "é"

    return ["".join(piece() for _ in range(rng.randrange(12))) for _ in range(COUNT)]


@pytest.mark.parametrize("name", KINDS)
def test_ids_of_random_strings_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    KINDS[name]().save(str(path))
    library, ours, texts = (
        hf.Tokenizer.from_file(str(path)),
        load_tokenizer(path),
        strings(len(name)),
    )
    expected = [list(one.ids) for one in library.encode_batch(texts)]
    assert [ours.encode(text) for text in texts] == expected
    library.encode_special_tokens = True
    plain = [list(one.ids) for one in library.encode_batch(texts, add_special_tokens=False)]
    assert [ours.encode(text, special=False) for text in texts] == plain
    assert expected != plain
    assert ours.encode(texts[0]) == expected[0]
