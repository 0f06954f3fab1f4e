"""The byte-pair tokenizer: learnt, encoded, decoded, saved, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import tokenizers

from allo.designs.llm.language.speaker import FOLDER
from allo.designs.llm.language.tokenizer import (
    Tokenizer,
    TokenizerError,
    UnknownTokenError,
    load_tokenizer,
)
from allo.errors import ToolMissingError
from scripts.language_model.prepare import encode_varied

SHIPPED = FOLDER / "tokenizer.json"
ODD = "Ein Stück – naïve 12,5 £  x_y\t\n\n  'tis we'll I'm ... ok?! 日本 ² a1b2_c"
# What Hugging Face's library `tokenizers` (0.23.2) makes of ODD with the shipped file.
ODD_TOKENS = [
    69, 259, 387, 116, 195, 188, 717, 32, 226, 128, 147, 284, 97, 195, 175, 309, 32, 49, 50, 44, 53,
    32, 194, 163, 32, 32, 120, 95, 121, 9, 10, 10, 32, 1498, 116, 274, 347, 39, 287, 301, 39, 109, 32,
    46, 46, 46, 263, 107, 63, 33, 32, 230, 151, 165, 230, 156, 172, 32, 194, 178, 258, 49, 98, 50, 95,
    99,
]  # fmt: skip


def changed(tmp_path: Path, change) -> Path:
    document = json.loads(SHIPPED.read_text(encoding="utf-8"))
    change(document)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_the_shipped_tokenizer_agrees_with_the_library():
    tokenizer = load_tokenizer(SHIPPED)
    assert len(tokenizer) == 1536
    assert tokenizer.encode(ODD) == ODD_TOKENS
    assert tokenizer.decode(ODD_TOKENS) == ODD


def test_what_is_learnt_is_saved_and_loaded(tmp_path: Path):
    text = "She sells sea shells by the sea shore; the shells she sells are sea shells, surely."
    tokenizer = Tokenizer.train(text, 280)
    tokenizer.save(tmp_path / "t.json")
    again = load_tokenizer(tmp_path / "t.json")
    assert again.whole.to_str() == tokenizer.whole.to_str() and 257 < len(again) <= 280
    assert again.decode([0]) == "<|endoftext|>" and again.encode("<|endoftext|>") == [0]
    assert 0 not in again.encode("<|endoftext|>", special=False)
    assert again.encode("<|endoftext|>") == [0]
    tokens = again.encode(text)
    assert tokens == tokenizer.encode(text) and len(tokens) < len(text) // 2
    assert again.decode(tokens) == text


def test_varied_spellings_spell_the_same_text():
    tokenizer = load_tokenizer(SHIPPED)
    text = "It was a very fine morning indeed, and she was delighted. " * 3
    varied = [encode_varied(tokenizer, text, 0.2, seed) for seed in (1, 2)]
    assert varied[0] != varied[1]
    assert all(tokenizer.decode(tokens) == text for tokens in varied)
    assert encode_varied(tokenizer, text, 0.0, 1) == tokenizer.encode(text)
    assert encode_varied(tokenizer, text, 0.2, 1) == varied[0]


def test_an_unknown_token_is_refused():
    with pytest.raises(UnknownTokenError) as error:
        load_tokenizer(SHIPPED).decode([5, 1536])
    assert str(error.value) == (
        "Token 1536 is not in the vocabulary of 1536 tokens.\n"
        "help: decode with the tokenizer.json that belongs to the model."
    )


def test_a_byte_without_a_token_is_refused(tmp_path: Path):
    def change(document):
        document["model"]["vocab"].pop("!")
        document["model"]["merges"] = []

    with pytest.raises(TokenizerError, match="has no token for '!' and none for what is unknown"):
        load_tokenizer(changed(tmp_path, change))


def test_a_vocabulary_without_room_for_bytes_is_refused():
    with pytest.raises(TokenizerError, match="of 200 tokens does not hold the 256 bytes and 1"):
        Tokenizer.train("text", 200)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["model"].update(type="Syllables"), "unknown kind"),
        (lambda d: d["model"].pop("merges"), "Missing vocab/merges"),
        (lambda d: d["model"]["merges"].append("zz qq"), "Token `zz` out of vocabulary"),
        (lambda d: d.pop("model"), "Model missing"),
    ],
)
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, change, message: str):
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(changed(tmp_path, change))


def test_other_kinds_of_tokenizers_are_read(tmp_path: Path):
    whole = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({"[UNK]": 0, "deep": 1, "##er": 2}, unk_token="[UNK]")
    )
    whole.normalizer = tokenizers.normalizers.Lowercase()
    whole.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    whole.decoder = tokenizers.decoders.WordPiece()
    whole.save(str(tmp_path / "t.json"))
    found = load_tokenizer(tmp_path / "t.json")
    assert found.encode("Deeper deep sea") == [1, 2, 1, 0]
    assert found.decode([1, 2, 1]) == "deeper deep"


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(
        ToolMissingError, match=r"'tokenizers' cannot be imported(.|\n)*allo\[llm\]"
    ):
        load_tokenizer(SHIPPED)


def test_merges_may_be_pairs_and_the_bytes_one_step_of_several(tmp_path: Path):
    def change(document):
        document["model"]["merges"] = [m.split(" ") for m in document["model"]["merges"]]
        split = {
            "type": "Split",
            "pattern": {"Regex": "\\n+"},
            "behavior": "Isolated",
            "invert": False,
        }
        steps = [split, document["pre_tokenizer"]]
        document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}

    assert load_tokenizer(changed(tmp_path, change)).encode(ODD) == ODD_TOKENS


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(TokenizerError, match="There is no tokenizer"):
        load_tokenizer(path)
    path.write_bytes(SHIPPED.read_bytes()[:5000])
    with pytest.raises(TokenizerError, match="is truncated, damaged or of"):
        load_tokenizer(path)
    path.write_text("3")
    with pytest.raises(TokenizerError, match="expected struct Tokenizer"):
        load_tokenizer(path)
