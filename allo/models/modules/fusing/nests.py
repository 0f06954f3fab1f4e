"""The nests of one function joined: in the store of another nest, or in its outer loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    induction_variable,
    is_affine_loop,
    root_of,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import constant_map
from allo.dialects.affine.substitute import replace_index
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.text.free_name import free_name
from allo.schedule.bands import Band, bands_of
from allo.schedule.handles import LoopWrapper
from allo.schedule.primitive import unrecorded

from ..state import ModelState
from .followers import follow, following


@dataclass(slots=True)
class Joined:
    """What became of the nests of a function.

    Attributes:
        done: a sentence for each nest that was joined with another.
        apart: a sentence for each that was not, with the reason.
    """

    done: list[str] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Link:
    """An array of the function that one nest writes and another, and nothing else, reads."""

    array: ir.Operation
    producer: Band
    consumer: Band


def join_nests(
    s: ModelState, function: ir.Operation, added: Sequence[ir.Operation] | None = None
) -> Joined:
    """Join each nest of a function with the one that makes what it reads, where dependences allow.

    A nest that computes each element from one element of another nest is computed where that element is
    stored; the array between them goes. Others that have equal outer loops become one nest with these
    loops, and the array between them shrinks to what one iteration needs.

    Args:
        s: the model's schedule.
        function: that holds the nests.
        added: join these with those before them, and no others.
    """
    joined = Joined()
    _fix_single_iterations(function)
    new = None if added is None else list(added)
    while _follow_one(s, function, new, joined) or _merge_one(s, function, new, joined):
        pass
    joined.apart = [
        f"nest {link.consumer.name} stays behind {link.producer.name}: {_apart(s, link)}"
        for link in _links(function, new)
    ]
    return joined


def _fix_single_iterations(function: ir.Operation) -> None:
    """Write the number in place of an iterator that has one value, so that subscripts show they are equal."""
    once = [op for op in walk(function) if is_affine_loop(op) and spec_of(op).trip_count() == 1]
    for op in once:  # their bounds are constants, so none of them is made anew
        bounds = spec_of(op).constant_bounds()
        if bounds is not None:
            replace_index(induction_variable(op), constant_map(bounds[0]))


def _links(function: ir.Operation, added: Sequence[ir.Operation] | None) -> list[_Link]:
    bands = [band for band in bands_of(function) if not band.hidden and is_affine_loop(band.root)]
    roots = {band.root: band for band in bands}
    found = []
    for op in function.regions[0].blocks[0].operations:
        array = op.operation
        if array.name != "memref.alloc":
            continue
        users = [use.owner.operation for use in array.result.uses]
        if any(user.name not in ("affine.load", "affine.store") for user in users):
            continue
        writing = {root_of(user) for user in users if user.name == "affine.store"}
        reading = {root_of(user) for user in users if user.name == "affine.load"}
        if len(writing) == len(reading) == 1 and writing != reading:
            first, second = roots.get(writing.pop()), roots.get(reading.pop())
            if first and second and _is_wanted(first, second, added):
                found.append(_Link(array, first, second))
    return found


def _is_wanted(first: Band, second: Band, added: Sequence[ir.Operation] | None) -> bool:
    return added is None or (second.root in added and first.root not in added)


def _follow_one(
    s: ModelState, function: ir.Operation, added: list[ir.Operation] | None, joined: Joined
) -> bool:
    for link in _links(function, added):
        found = following(s.module, link.array, link.consumer.root)
        if not isinstance(found, str):
            name = string_attribute(link.array, "name")
            joined.done.append(
                f"nest {link.consumer.name} is computed where {link.producer.name} stored {name}"
            )
            if added is not None:
                added.remove(link.consumer.root)
            follow(found)
            return True
    return False


def _merge_one(
    s: ModelState, function: ir.Operation, added: list[ir.Operation] | None, joined: Joined
) -> bool:
    for link in _links(function, added):
        loop = _merged(s, function, link)
        if loop:
            joined.done.append(
                f"nest {link.producer.name} is computed in loop {loop} of {link.consumer.name}"
            )
            return True
    return False


def _merged(s: ModelState, function: ir.Operation, link: _Link) -> str:
    """The innermost loop of the consumer in which the producer was computed; ``""`` for none."""
    for loop in reversed(_repeated(link.consumer)):
        inside = list(walk(link.producer.root))
        try:
            _compute_at(s, function, link, loop)
        except ScheduleError:
            continue
        _rename_loops(link.consumer.root, inside)
        return loop
    return ""


def _compute_at(s: ModelState, function: ir.Operation, link: _Link, loop: str) -> None:
    name = str(ir.StringAttr(function.attributes["sym_name"]).value)
    source = LoopWrapper(name, link.producer.name, link.producer.loops[0][0])
    unrecorded(s, "compute_at")(s, source, LoopWrapper(name, link.consumer.name, loop))


def _repeated(band: Band) -> list[str]:
    """The loops of a nest down to the first body that is more than a loop, from the first that repeats."""
    chain = [band.root]
    while len(inner := body_operations(chain[-1])) == 1 and is_affine_loop(inner[0]):
        chain.append(inner[0])
    names = {loop: name for name, loop in band.loops}
    counts = [spec_of(loop).trip_count() for loop in chain]
    first = next((k for k, count in enumerate(counts) if count != 1), len(chain))
    return [names[loop] for loop in chain[first:]]


def _rename_loops(root: ir.Operation, moved: list[ir.Operation]) -> None:
    """Give loops that came into a nest names that its own loops do not have."""
    taken = {string_attribute(root, "loop_name")}
    taken |= {string_attribute(op, "loop_name") for op in walk(root) if op not in moved}
    for op in walk(root):
        name = string_attribute(op, "loop_name")
        if op not in moved or name is None:
            continue
        free = free_name(name, taken)
        taken.add(free)
        op.attributes["loop_name"] = ir.StringAttr.get(free)


def _apart(s: ModelState, link: _Link) -> str:
    """Why two nests stay two."""
    found = following(s.module, link.array, link.consumer.root)
    return found if isinstance(found, str) else "their loops differ"
