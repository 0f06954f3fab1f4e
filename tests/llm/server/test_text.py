"""Text as it grows: whole characters, and what might end an answer is held back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from allo.designs.llm.server.text import GrowingText

from .engines import speaker_tokenizer

TOKENIZER = speaker_tokenizer()


@settings(max_examples=60)
@given(st.text(max_size=30), st.text(max_size=6))
def test_pieces_are_the_text(text: str, before: str):
    prompt = TOKENIZER.encode(before, special=False)
    growing = GrowingText(TOKENIZER, prompt, ())
    pieces = [growing.add(token) for token in TOKENIZER.encode(text, special=False)]
    assert "".join(pieces) + growing.finish() == text
    assert not any("\ufffd" in piece for piece in pieces) or "\ufffd" in text


@settings(max_examples=60)
@given(st.text("ab ", max_size=30), st.lists(st.text("ab ", min_size=1, max_size=4), max_size=3))
def test_nothing_of_a_stop_is_said(text: str, stops: list[str]):
    growing, said = GrowingText(TOKENIZER, [], stops), ""
    for token in TOKENIZER.encode(text, special=False):
        said += growing.add(token)
        if growing.stopped:
            break
    else:
        said += growing.finish()
    places = [text.find(stop) for stop in stops if stop in text]
    assert growing.stopped == bool(places)
    if not places:
        assert said == text
    else:
        assert text.startswith(said) and not any(stop in said for stop in stops)


def test_the_bytes_of_one_character_come_together():
    tokens = TOKENIZER.encode("\u2603", special=False)
    assert len(tokens) == 3
    growing = GrowingText(TOKENIZER, [], ())
    assert [growing.add(token) for token in tokens] == ["", "", "\u2603"]
    broken = GrowingText(TOKENIZER, [], ())
    assert broken.add(tokens[0]) + broken.finish() == "\ufffd"
