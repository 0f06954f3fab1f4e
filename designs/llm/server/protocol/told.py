"""Answers in the form of OpenAI's protocol: whole, and in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..request import Done, Event, Failed, Piece, Scored


@dataclass(slots=True)
class Choice:
    """One answer as far as it has come."""

    text: str = ""
    tokens: list[Scored] = field(default_factory=list)
    done: Done | None = None

    def take(self, event: Event) -> None:
        """Add what has come.

        Raises:
            EngineError: the engine failed.
        """
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, Done):
            self.done = event
            return
        self.text += event.text
        self.tokens += event.tokens


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of request is answered.

    Attributes:
        chat: whether the answer is a message.
        identity: of the request.
        created: seconds since 1970.
        scored: whether log-probabilities are asked for.
    """

    chat: bool
    identity: str
    model: str
    created: int
    scored: bool

    def whole(self, choices: Sequence[Choice]) -> dict[str, Any]:
        """An answer in one object."""
        return {
            **self._about("chat.completion" if self.chat else "text_completion"),
            "choices": [self._choice(number, choice) for number, choice in enumerate(choices)],
            "usage": usage(choices),
        }

    def first(self, number: int) -> dict[str, Any] | None:
        """What comes before the first piece of a choice."""
        return self._part(number, {"role": "assistant", "content": ""}) if self.chat else None

    def piece(self, number: int, event: Piece, before: int) -> dict[str, Any]:
        """A piece of a choice, in front of which there are characters of the answer."""
        scores = self._scores(event.tokens, before)
        return self._part(
            number, {"content": event.text} if self.chat else event.text, None, scores
        )

    def last(self, number: int, done: Done) -> dict[str, Any]:
        """What ends a choice."""
        return self._part(number, {} if self.chat else "", _reason(done))

    def used(self, choices: Sequence[Choice]) -> dict[str, Any]:
        """The numbers of tokens, behind all pieces."""
        return {**self._about(self._kind_of_part()), "choices": [], "usage": usage(choices)}

    def _kind_of_part(self) -> str:
        return "chat.completion.chunk" if self.chat else "text_completion"

    def _about(self, kind: str) -> dict[str, Any]:
        return {"id": self.identity, "object": kind, "created": self.created, "model": self.model}

    def _part(
        self, number: int, content: Any, reason: str | None = None, scores: Any = None
    ) -> dict[str, Any]:
        name = "delta" if self.chat else "text"
        choice = {"index": number, name: content, "logprobs": scores, "finish_reason": reason}
        return {**self._about(self._kind_of_part()), "choices": [choice]}

    def _choice(self, number: int, choice: Choice) -> dict[str, Any]:
        message = {"role": "assistant", "content": choice.text, "refusal": None}
        return {
            "index": number,
            **({"message": message} if self.chat else {"text": choice.text}),
            "logprobs": self._scores(choice.tokens, 0),
            "finish_reason": _reason(choice.done) if choice.done else None,
        }

    def _scores(self, tokens: Sequence[Scored], before: int) -> dict[str, Any] | None:
        if not self.scored:
            return None
        return _message_scores(tokens) if self.chat else _text_scores(tokens, before)


def usage(choices: Iterable[Choice]) -> dict[str, Any]:
    """The tokens of a request, and in ``allo`` the cycles of its steps where the engine counts them."""
    done = [choice.done for choice in choices if choice.done is not None]
    prompt, said = sum(each.prompt for each in done), sum(each.said for each in done)
    cycles = [each.cycles for each in done if each.cycles is not None]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": said,
        "total_tokens": prompt + said,
        "prompt_tokens_details": {"cached_tokens": sum(each.reused for each in done)},
        **({"allo": {"cycles": sum(cycles)}} if cycles else {}),
    }


def _reason(done: Done) -> str:
    """Why an answer ended, by the protocol's names, which know no cancelled ones."""
    return "length" if done.reason == "length" else "stop"


def _message_scores(tokens: Sequence[Scored]) -> dict[str, Any]:
    def entry(text: str, score: float) -> dict[str, Any]:
        return {"token": text, "logprob": score, "bytes": list(text.encode())}

    content = [
        {
            **entry(token.text, token.log_probability),
            "top_logprobs": [entry(text, score) for text, score in token.likeliest],
        }
        for token in tokens
    ]
    return {"content": content, "refusal": None}


def _text_scores(tokens: Sequence[Scored], before: int) -> dict[str, Any]:
    """The form of completions, whose offsets count characters of the answer."""
    offsets = []
    for token in tokens:
        offsets.append(before)
        before += len(token.text)
    return {
        "tokens": [token.text for token in tokens],
        "token_logprobs": [token.log_probability for token in tokens],
        "top_logprobs": [dict(token.likeliest) for token in tokens],
        "text_offset": offsets,
    }
