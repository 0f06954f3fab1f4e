"""The text the character model learns: small stories, made by a grammar from a seed.

Nothing is downloaded. Sentences share people, places and things within a story, so that
a model with a context of a hundred characters has something to remember.
"""

from __future__ import annotations

import random

import numpy as np

ALPHABET = "\n abcdefghijklmnopqrstuvwxyz.,?!"
"""The vocabulary; a character's token is its place here."""

PEOPLE = "anna ben clara david ella frank greta hugo ida jonas kate leo mira nils olga paul".split()
PLACES = [
    "the old mill", "the harbour", "the market", "the forest", "a small garden", "the library",
    "the river", "the long bridge", "the workshop", "a quiet field", "the north gate", "the school",
]  # fmt: skip
THINGS = [
    "a red lamp", "a silver key", "an old map", "a wooden box", "a blue kite", "a broken clock",
    "a little boat", "a warm coat", "a paper bird", "a black stone", "a letter", "a copper coin",
]  # fmt: skip
MOODS = "happy tired proud quiet curious brave sad hungry calm lucky".split()
WEATHER = [
    "it was raining", "the sun was low", "snow fell all day", "the wind was strong",
    "the night was clear", "the morning was cold",
]  # fmt: skip
FRIENDS = ["friend", "sister", "brother", "teacher", "neighbour", "cousin"]


def _the(thing: str) -> str:
    return "the " + thing.split(" ", 1)[1]


def story(rng: random.Random) -> str:
    """One story of five to eight sentences, in lower case."""
    who, other = rng.sample(PEOPLE, 2)
    place, second = rng.sample(PLACES, 2)
    thing, gift = rng.sample(THINGS, 2)
    mood = rng.choice(MOODS)
    lines = [
        f"one day {who} went to {place}, and {rng.choice(WEATHER)}.",
        rng.choice(
            [
                f"{who} found {thing} near {place}.",
                f"in {place} there was {thing}.",
                f"{who} was looking for {thing}.",
            ]
        ),
        rng.choice(
            [
                f"then {other} came from {second}, a {rng.choice(FRIENDS)} of {who}.",
                f"{who} met {other} there, who was {mood}.",
                f"{other} was waiting at {second}.",
            ]
        ),
        f"what is that? said {other}.",
        rng.choice(
            [
                f"it is {thing}, said {who}. do you want it?",
                f"this is {thing}! said {who}.",
                f"i do not know, said {who}, but it looks like {thing}.",
            ]
        ),
        rng.choice(
            [
                f"{other} took {_the(thing)} and gave {who} {gift}.",
                f"so they carried {_the(thing)} to {second}.",
                f"{who} put {_the(thing)} into {_the(gift)}.",
            ]
        ),
    ]
    if rng.random() < 0.5:
        lines.append(f"after that {who} and {other} walked home from {place}.")
    if rng.random() < 0.7:
        lines.append(f"{who} was {mood}, and {other} was {mood} too.")
    return " ".join(lines) + "\n"


def make_text(characters: int, seed: int) -> str:
    """At least ``characters`` characters of stories; the same seed gives the same text."""
    rng = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < characters:
        parts.append(story(rng))
        length += len(parts[-1])
    return "".join(parts)


def encode(text: str) -> np.ndarray:
    """Tokens of a text, int32.

    Raises:
        ValueError: when a character is not in the alphabet.
    """
    unknown = sorted(set(text) - set(ALPHABET))
    if unknown:
        raise ValueError(
            f"The text has characters the model does not know: {unknown!r}; "
            f"it knows lower-case letters, space, newline and . , ? !"
        )
    return np.array([ALPHABET.index(c) for c in text], dtype=np.int32)


def decode(tokens: np.ndarray) -> str:
    """The text of a sequence of tokens."""
    return "".join(ALPHABET[int(t)] for t in tokens)
