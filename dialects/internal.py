"""The last line of defence: what nobody foresaw is an :class:`InternalError` with a place, too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .diagnostics import AlloError, CompileTimeError, InternalError, SourcePlace

_PASSED = (MemoryError, ImportError, Warning)


@contextlib.contextmanager
def foreseen(
    what: str,
    place: SourcePlace | None = None,
    passed: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Make any exception of the block that is no :class:`AlloError` one, its cause kept.

    Args:
        what: what the block does, to open the sentence: ``"Compiling this statement"``.
        place: where in the user's Python; also given to an error that has none.
        passed: exceptions that pass as they are.
    """
    try:
        yield
    except AlloError as error:
        if error.place is None:
            error.place = place
        raise
    except (*_PASSED, *passed):
        raise
    except RecursionError as error:
        raise CompileTimeError(
            f"{what} goes deeper than Python's recursion.",
            place,
            help="write what is nested so deeply as several statements.",
        ) from error
    except OverflowError as error:
        raise CompileTimeError(
            f"{what} met a number too large: {error}.", place, help="give a smaller number."
        ) from error
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise InternalError(
            f"{what} failed in a way Allo did not foresee: {type(error).__name__}: {first}",
            place,
            help="this is a fault of Allo; please report it with the lines above.",
        ) from error
