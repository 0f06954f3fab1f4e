"""The error for a dataflow region whose processes wait for each other, as every simulator words it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .diagnostics import DeadlockError, SourcePlace


def deadlock_error(
    top: str,
    place: SourcePlace | None,
    blocked: Sequence[tuple[str, SourcePlace | None]],
    unfinished: int,
    full: Iterable[str],
    *,
    tries: bool = False,
) -> DeadlockError:
    """One note for every blocked process.

    Args:
        blocked: what each of them waits for, and where.
        unfinished: how many processes have not finished.
        full: the FIFOs that a blocked process wants to put into.
        tries: whether some of them only try, again and again, and nothing passes.
    """
    if tries:
        return DeadlockError(
            f"{top} makes no progress: {unfinished} "
            f"{'process has' if unfinished == 1 else 'processes have'} not finished, and for very "
            "many tries nothing has passed through a FIFO.",
            place,
            help="end a loop that tries after a number of tries, or tell it by a stream to stop.",
            notes=tuple((text, at) if at else text for text, at in blocked),
        )
    waiting = "1 process waits" if len(blocked) == 1 else f"{len(blocked)} processes wait"
    return DeadlockError(
        f"{top} deadlocks: {waiting} and none of the {unfinished} "
        "that have not finished can go on.",
        place,
        help=_remedy(sorted(set(full))),
        notes=tuple((text, at) if at else text for text, at in blocked),
    )


def _remedy(full: list[str]) -> str:
    if full:
        return f"make {', '.join(full)} deeper, or take from it earlier."
    return "put as many elements into each FIFO as are taken from it."


def waits_for(putting: bool, called: str, *, tries: bool = False) -> str:
    """What a blocked process does; ``called``: ``FIFO pipe``."""
    return f"{'tries' if tries else 'waits'} to {'put into' if putting else 'get from'} {called}"
