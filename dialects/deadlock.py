"""The error for a dataflow region whose processes wait for each other, as every simulator words it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .diagnostics import DeadlockError, SourcePlace


@dataclass(frozen=True, slots=True)
class Tried:
    """What becomes of a deadlocked run when FIFOs grow that a process waits to put into.

    Attributes:
        ended: whether it ends; None where nobody knows.
        depths: the depths of those that have grown, by name.
        cycle: processes that wait for each other all the same, each for the next.
    """

    ended: bool | None = None
    depths: Mapping[str, int] = field(default_factory=dict)
    cycle: Sequence[str] = ()


UNTRIED = Tried()


def deadlock_error(
    top: str,
    place: SourcePlace | None,
    blocked: Sequence[tuple[str, SourcePlace | None]],
    unfinished: int,
    full: Iterable[str],
    *,
    tries: bool = False,
    tried: Tried = UNTRIED,
) -> DeadlockError:
    """One note for every blocked process.

    Args:
        blocked: what each of them waits for, and where.
        unfinished: how many processes have not finished.
        full: the FIFOs that a blocked process wants to put into.
        tries: whether some of them only try, again and again, and nothing passes.
        tried: what deeper FIFOs would do.
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
        help=_remedy(sorted(set(full)), tried),
        notes=tuple((text, at) if at else text for text, at in blocked),
    )


def _remedy(full: list[str], tried: Tried) -> str:
    if tried.depths and tried.ended:
        needs = " and ".join(
            f"FIFO {name} needs a depth of {n}" for name, n in tried.depths.items()
        )
        with_them = "with it" if len(tried.depths) == 1 else "with them"
        return f"{needs}: {with_them} this call ends. Or take from it earlier."
    if tried.cycle:
        ring = " for ".join([f"{tried.cycle[0]} waits", *tried.cycle[1:], tried.cycle[0]])
        return f"no depth of a FIFO helps: {ring}. Let one of them put before it gets."
    balance = "put as many elements into each FIFO as are taken from it."
    if tried.ended is False:
        return f"no depth of a FIFO helps: {balance}"
    return f"make {', '.join(full)} deeper, or take from it earlier." if full else balance


def waits_for(putting: bool, called: str, *, tries: bool = False) -> str:
    """What a blocked process does; ``called``: ``FIFO pipe``."""
    return f"{'tries' if tries else 'waits'} to {'put into' if putting else 'get from'} {called}"
