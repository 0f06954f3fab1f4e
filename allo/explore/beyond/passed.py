"""Vectors that pass from task to task: a row's sum goes on as soon as it is there.

``Ax[i] += …`` over a row, and ``y[i] = … Ax[i] …`` in a task behind: each sum is kept in a register while its
row is added up, and goes through a FIFO.
"""

from __future__ import annotations

from collections.abc import Iterator

from allo.schedule import Schedule
from allo.schedule.handles import LoopWrapper

from ..apply import Step, accepted
from ..model.kernel import Array, Kernel, Nest


def steps_of_passing(given: Schedule, kernel: Kernel, loops: dict[int, int]) -> Iterator[Step]:
    """Buffers and FIFOs for the local vectors that one task makes in its rows and another one takes.

    Args:
        given: the schedule of the kernel, on which each is tried by itself.
        loops: the loops that take a row in an iteration, by nest and place in its chain.
    """
    for key, array in sorted(kernel.arrays.items()):
        if not array.local or array.obstacle or array.banked or len(array.shape) != 1:
            continue
        users = [n for n in kernel.nests if any(a.array == key for a in n.accesses)]
        makers = [n for n in users if any(a.array == key and a.writes for a in n.accesses)]
        takers = [n for n in users if n not in makers and not n.children]
        makers = [n for n in makers if n.number in loops]
        if len(makers) != 1 or len(takers) != 1 or makers[0].task >= takers[0].task:
            continue
        steps = _steps(given, kernel, array, makers[0], loops[makers[0].number], takers[0])
        _, kept = accepted(given, steps)
        if kept and kept[-1].primitive == "to":
            yield from kept


def _steps(
    given: Schedule, kernel: Kernel, array: Array, maker: Nest, place: int, taker: Nest
) -> list[Step]:
    """A buffer for the sum of a row, and the FIFO to the task that takes it."""
    inside = next(
        (name for name in given.get_equivalent_variables(array.handle) if _is_of(name, maker)),
        array.handle,
    )
    row = LoopWrapper(maker.function, maker.band, maker.chain[place].name)
    to = taker.band if taker.function == kernel.top else taker.function
    return [
        Step("buffer_at", (inside, row), nest=maker.number),
        Step("to", (array.handle, to)),
    ]


def _is_of(name: str, nest: Nest) -> bool:
    return name.split(":")[0] == nest.function
