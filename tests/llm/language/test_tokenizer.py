"""The byte-pair tokenizer: learnt, encoded, decoded, saved, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allo.designs.llm.language.merges import join_pair, learn_merges
from allo.designs.llm.language.speaker import FOLDER
from allo.designs.llm.language.tokenizer import (
    Tokenizer,
    TokenizerError,
    UnknownTokenError,
    byte_characters,
    load_tokenizer,
    spelled_words,
)

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


def test_merges_are_the_most_frequent_pairs():
    words = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
    # Counted by hand, ties to the later pair: es 9, est 9, lo 7, low 7, ne 6.
    merges = learn_merges(words, 5)
    assert merges[:2] == [("s", "t"), ("e", "st")]
    assert {("o", "w"), ("l", "ow")} == set(merges[2:4])
    assert learn_merges(["ab", "cd"], 9) == []


def test_a_pair_is_joined_from_the_left():
    assert join_pair(list("aaaba"), ("a", "a")) == ["aa", "a", "b", "a"]


def test_words_are_cut_as_gpt2_cuts_them():
    assert spelled_words("I'll go,  he said.\n\n") == [
        "I", "'ll", "Ġgo", ",", "Ġ", "Ġhe", "Ġsaid", ".", "ĊĊ"
    ]  # fmt: skip
    assert len(set(byte_characters())) == 256


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
    assert (again.vocabulary, again.merges) == (tokenizer.vocabulary, tokenizer.merges)
    assert again.special == ("<|endoftext|>",) and again.decode([0]) == "<|endoftext|>"
    tokens = again.encode(text)
    assert tokens == tokenizer.encode(text) and len(tokens) < len(text) // 2
    assert again.decode(tokens) == text


def test_varied_spellings_spell_the_same_text():
    tokenizer = load_tokenizer(SHIPPED)
    text = "It was a very fine morning indeed, and she was delighted. " * 3
    varied = [tokenizer.encode_varied(text, 0.2, seed) for seed in (1, 2)]
    assert varied[0] != varied[1]
    assert all(tokenizer.decode(tokens) == text for tokens in varied)
    assert tokenizer.encode_varied(text, 0.0, 1) == tokenizer.encode(text)
    assert tokenizer.encode_varied(text, 0.2, 1) == varied[0]


def test_an_unknown_token_is_refused():
    with pytest.raises(UnknownTokenError) as error:
        load_tokenizer(SHIPPED).decode([5, 1536])
    assert str(error.value) == (
        "Token 1536 is not in the vocabulary of 1536 tokens.\n"
        "help: decode with the tokenizer.json that belongs to the model."
    )


def test_a_byte_without_a_token_is_refused(tmp_path: Path):
    path = changed(tmp_path, lambda d: d["model"]["vocab"].pop("!"))
    with pytest.raises(UnknownTokenError, match="no token for '!' in the word '!'"):
        load_tokenizer(path).encode("Oh!")


def test_a_vocabulary_without_room_for_bytes_is_refused():
    with pytest.raises(TokenizerError, match="of 200 tokens does not hold the 256 bytes and 1"):
        Tokenizer.train("text", 200)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["model"].update(type="WordPiece"), "of type 'WordPiece', and only 'BPE'"),
        (lambda d: d.update(pre_tokenizer=None), "does not cut its words into bytes"),
        (lambda d: d["model"].pop("merges"), "has no vocabulary or no merges"),
        (lambda d: d["model"]["merges"].append("zz qq"), r"merge \('zz', 'qq'\) .* does not make"),
        (lambda d: d.pop("model"), "of type None"),
    ],
)
def test_other_tokenizers_are_refused(tmp_path: Path, change, message: str):
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(changed(tmp_path, change))


def test_merges_may_be_pairs_and_the_bytes_one_step_of_several(tmp_path: Path):
    def change(document):
        document["model"]["merges"] = [m.split(" ") for m in document["model"]["merges"]]
        steps = [{"type": "Split"}, {"type": "ByteLevel"}]
        document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}

    assert load_tokenizer(changed(tmp_path, change)).encode(ODD) == ODD_TOKENS


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(TokenizerError, match="There is no tokenizer"):
        load_tokenizer(path)
    path.write_bytes(SHIPPED.read_bytes()[:5000])
    with pytest.raises(TokenizerError, match="is truncated or damaged"):
        load_tokenizer(path)
    path.write_text("3")
    with pytest.raises(TokenizerError, match="is not a JSON object"):
        load_tokenizer(path)
