"""Entries of a request's JSON, each checked for its kind and its range."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import RequestError

IGNORED = frozenset(
    "user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention".split()
)
"""Entries of OpenAI's protocol that change no answer of a server that keeps no records."""


def read_body(raw: bytes) -> dict[str, Any]:
    """The object that a request's body holds.

    Raises:
        RequestError: it is no JSON, or no object.
    """
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise RequestError(
            f"The body of the request is no JSON ({error}).", help="send an object of JSON."
        ) from error
    if not isinstance(body, dict):
        raise RequestError("The body of the request is no object.", help="send an object of JSON.")
    return body


class Fields:
    """The entries of an object, of which each is read once, and none may be left.

    An entry that is null counts as absent.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._left = {
            name: value for name, value in body.items() if value is not None and name not in IGNORED
        }

    def any(self, name: str, default: Any = None) -> Any:
        """An entry as it is."""
        return self._left.pop(name, default)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """A number in a range, its ends included."""
        value = self.any(name, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not least <= value <= most
        ):
            raise wrong(name, value, f"a number from {least:g} to {most:g}")
        return float(value)

    def integer(self, name: str, default: int | None, least: int, most: int) -> int | None:
        """An integer in a range, its ends included."""
        value = self.any(name, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise wrong(name, value, f"an integer from {least} to {most}")
        return value

    def boolean(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self.any(name, default)
        if not isinstance(value, bool):
            raise wrong(name, value, "true or false")
        return value

    def only(self, name: str, *allowed: Any) -> None:
        """An entry that is there for other servers: any other value than these is refused."""
        value = self.any(name, allowed[0])
        if value not in allowed:
            raise RequestError(
                f"This server has no {name!r}, and the request has {value!r}.",
                parameter=name,
                help="leave it out.",
            )

    def finish(self) -> None:
        """Refuse entries that nothing has read."""
        for name in sorted(self._left):
            raise RequestError(
                f"The request has an entry {name!r}, which this server does not know.",
                parameter=name,
                help="leave it out, or look for its spelling in docs/llm/server.md.",
            )


def wrong(name: str, value: Any, wanted: str) -> RequestError:
    """The error of an entry of another kind."""
    return RequestError(
        f"The entry {name!r} of the request is {value!r}.", parameter=name, help=f"give {wanted}."
    )
