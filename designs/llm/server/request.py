"""What is asked of a model, as tokens and numbers, and what comes back while it answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """One sequence to continue.

    Attributes:
        prompt: the tokens that the model takes in first.
        count: tokens of the answer at most; None for as many as the context holds.
        temperature: logits are divided by it before chance decides; 0 takes the likeliest token.
        candidates: the likeliest tokens among which chance decides; None for all.
        share: of the probability, which the candidates that chance decides among have together.
        seed: of the random numbers; the same seed gives the same answer, whatever else the server does.
        presence, frequency: taken from the logit of a token that the answer has, once, and for each time.
        stops: texts that end the answer, and are not part of it.
        likeliest: of how many likeliest tokens log-probabilities are given beside the chosen one's; None
            for no log-probabilities.
    """

    prompt: tuple[int, ...]
    count: int | None = None
    temperature: float = 1.0
    candidates: int | None = None
    share: float = 1.0
    seed: int = 0
    presence: float = 0.0
    frequency: float = 0.0
    stops: tuple[str, ...] = ()
    likeliest: int | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A token of an answer: its text, the logarithm of its probability, and those of the likeliest tokens."""

    text: str
    log_probability: float
    likeliest: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """More of an answer's text, and the tokens behind it where log-probabilities are asked for."""

    text: str
    tokens: tuple[Scored, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """An answer has ended.

    Attributes:
        reason: ``"stop"`` at a token or text that ends it, ``"length"`` at its count, ``"cancelled"``.
        prompt, said, reused: tokens of the prompt, of the answer, and of the prompt those whose keys and
            values a sequence before had left.
        cycles: of the clock, of all steps; None where nothing counts them.
    """

    reason: str
    prompt: int
    said: int
    reused: int
    cycles: int | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine ended an answer."""

    error: Exception


Event = Piece | Done | Failed
