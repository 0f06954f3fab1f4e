"""Requests of OpenAI's protocol, as sequences to continue."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...language.chat import ChatError, Message
from ..errors import RequestError, UnknownModelError
from ..request import Request
from ..served import Served
from .fields import Fields, wrong

MOST_CHOICES, MOST_LIKELIEST, MOST_STOPS = 16, 20, 4
DEFAULT_COUNT = 16
"""Tokens of a completion that says no number; a chat's answer is as long as the context allows."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one request asks for.

    Attributes:
        requests: a sequence for each choice, in the order of their numbers.
        stream: whether pieces are sent as they come.
        usage: whether the number of tokens follows the pieces.
    """

    requests: tuple[Request, ...]
    stream: bool
    usage: bool


def completion(body: Mapping[str, Any], served: Served) -> Asked:
    """A request to ``/v1/completions``.

    Raises:
        RequestError: an entry is wrong or unknown.
        UnknownModelError: it asks for another model.
    """
    fields = _fields(body, served)
    prompts = _prompts(fields.any("prompt"), served)
    count = fields.integer("max_tokens", DEFAULT_COUNT, 1, served.context)
    likeliest = fields.integer("logprobs", None, 0, MOST_LIKELIEST)
    for name in ("echo", "suffix"):
        fields.only(name, False, "")
    fields.only("best_of", 1)
    return _asked(fields, prompts, count, likeliest)


def chat(body: Mapping[str, Any], served: Served) -> Asked:
    """A request to ``/v1/chat/completions``.

    Raises:
        RequestError: an entry is wrong or unknown, or the model has no chat template.
        UnknownModelError: it asks for another model.
    """
    fields = _fields(body, served)
    if served.chat is None:
        raise RequestError(
            f"The model {served.name!r} has no chat template.",
            parameter="messages",
            help="ask /v1/completions to continue a text.",
        )
    messages = _messages(fields.any("messages"))
    try:
        text = served.chat.render(messages)
    except ChatError as error:
        raise RequestError(str(error), parameter="messages") from error
    limits = [fields.integer(name, None, 1, served.context) for name in _LIMITS]
    count = next((limit for limit in limits if limit is not None), None)
    scored = fields.boolean("logprobs")
    likeliest = fields.integer("top_logprobs", 0, 0, MOST_LIKELIEST)
    fields.only("response_format", {"type": "text"})
    fields.only("modalities", ["text"])
    fields.only("tools", [])
    fields.only("tool_choice", "none", "auto")
    prompt = tuple(served.tokenizer.encode(text, around=False))
    return _asked(fields, [prompt], count, likeliest if scored else None)


_LIMITS = ("max_completion_tokens", "max_tokens")


def _fields(body: Mapping[str, Any], served: Served) -> Fields:
    fields = Fields(body)
    name = fields.any("model")
    if not isinstance(name, str):
        raise wrong("model", name, f"the name of the model, {served.name!r}")
    check_model(name, served)
    return fields


def check_model(name: str, served: Served) -> None:
    """Refuse another model.

    Raises:
        UnknownModelError: naming both.
    """
    if name != served.name:
        raise UnknownModelError(
            f"There is no model {name!r} here.", parameter="model", help=f"ask for {served.name!r}."
        )


def _asked(
    fields: Fields, prompts: list[tuple[int, ...]], count: int | None, likeliest: int | None
) -> Asked:
    """What both kinds of requests have."""
    seed = fields.integer("seed", None, -(1 << 63), (1 << 63) - 1)
    request = Request(
        prompt=(),
        count=count,
        temperature=fields.number("temperature", 1.0, 0.0, 2.0),
        candidates=fields.integer("top_k", None, 1, 1 << 30),
        share=_share(fields),
        presence=fields.number("presence_penalty", 0.0, -2.0, 2.0),
        frequency=fields.number("frequency_penalty", 0.0, -2.0, 2.0),
        stops=_stops(fields.any("stop", [])),
        likeliest=likeliest,
    )
    choices = fields.integer("n", 1, 1, MOST_CHOICES) or 1
    fields.only("logit_bias", {})
    stream = fields.boolean("stream")
    options = Fields(fields.any("stream_options", {}))
    usage = options.boolean("include_usage")
    options.boolean("include_obfuscation")
    options.finish()
    fields.finish()
    # A seed says the same for every server that has the model; without one, each answer is another.
    first = random.SystemRandom().getrandbits(62) if seed is None else seed % (1 << 63)
    sequences = [
        replace(request, prompt=prompt, seed=first + choice)
        for prompt in prompts
        for choice in range(choices)
    ]
    return Asked(tuple(sequences), stream, usage)


def _share(fields: Fields) -> float:
    share = fields.number("top_p", 1.0, 0.0, 1.0)
    return share or 1e-12  # 0 leaves the likeliest token


def _stops(value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    good = isinstance(stops, list) and all(isinstance(stop, str) and stop for stop in stops)
    if not good or len(stops) > MOST_STOPS:
        raise wrong("stop", value, f"a text, or at most {MOST_STOPS} texts, none of them empty")
    return tuple(stops)


def _prompts(value: Any, served: Served) -> list[tuple[int, ...]]:
    """The prompts of a request: a text, texts, tokens, or lists of tokens."""
    several = value if isinstance(value, list) and not _are_tokens(value) else [value]
    if not several or len(several) > MOST_CHOICES:
        raise wrong("prompt", value, f"a text or a list of tokens, or up to {MOST_CHOICES} of them")
    return [_prompt(each, served) for each in several]


def _prompt(value: Any, served: Served) -> tuple[int, ...]:
    if isinstance(value, str):
        return tuple(served.tokenizer.encode(value))
    if not isinstance(value, list) or not _are_tokens(value):
        raise wrong("prompt", value, "a text or a list of tokens")
    end = len(served.tokenizer)
    for token in value:
        if not 0 <= token < end:
            raise wrong("prompt", token, f"tokens from 0 to {end - 1}")
    return tuple(value)


def _are_tokens(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(x, int) and not isinstance(x, bool) for x in value)


def _messages(value: Any) -> list[Message]:
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise wrong("messages", value, "a list of messages, each with a role and a content")
    return [{**message, "content": _content(message.get("content"))} for message in value]


def _content(content: Any) -> Any:
    """The text of a message, which may come in parts; what is no text is left for the template's check."""
    if not isinstance(content, list):
        return content
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text" or "text" not in part:
            raise RequestError(
                "A part of a message is no text.",
                parameter="messages",
                help='give parts as {"type": "text", "text": …}.',
            )
    return "".join(str(part["text"]) for part in content)
