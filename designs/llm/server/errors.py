"""What a server says of a request that it does not take."""

from __future__ import annotations

from allo.errors import AlloError


class RequestError(AlloError, ValueError):
    """A request that the server cannot answer.

    Attributes:
        parameter: the entry of the request that is wrong, or None.
        status: HTTP's.
        code: the name by which clients know the reason, or None.
    """

    status = 400
    code: str | None = None

    def __init__(self, message: str, *, parameter: str | None = None, help: str = "") -> None:
        super().__init__(message, help=help)
        self.parameter = parameter


class ContextLengthError(RequestError):
    """A prompt, or a prompt and its answer, that are longer than the model's context."""

    code = "context_length_exceeded"


class UnknownModelError(RequestError):
    """A model that this server does not have."""

    status = 404
    code = "model_not_found"


class BusyError(RequestError):
    """More requests wait than the server keeps; none is lost that it has taken."""

    status = 429
    code = "rate_limit_exceeded"


class EngineError(RequestError):
    """The engine failed in the middle of an answer."""

    status = 500
    code = "engine_error"
