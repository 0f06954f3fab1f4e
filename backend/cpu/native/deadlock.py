"""The exception for a dataflow region whose processes wait for each other."""

from __future__ import annotations

from allo.dialects import deadlock
from allo.dialects.diagnostics import DeadlockError

from ..lowering.program import Program
from .runtime import ProcessRecord, State


def deadlock_error(program: Program, records: list[ProcessRecord]) -> DeadlockError:
    """One note for every blocked process: where it waits, for which FIFO, and what the other end does."""
    blocked = [r for r in records if r.state in (State.PUTTING, State.GETTING)]
    alive = [r for r in records if r.call >= 0 and r.state is not State.FINISHED]
    return deadlock.deadlock_error(
        program.top,
        program.place,
        [(_describe(program, records, r), program.sites[r.site]) for r in blocked],
        max(len(alive), len(blocked)),
        [program.streams[r.stream].name for r in blocked if r.state is State.PUTTING],
    )


def _describe(program: Program, records: list[ProcessRecord], record: ProcessRecord) -> str:
    stream = program.streams[record.stream]
    waits = deadlock.waits_for(record.state is State.PUTTING, stream.name)
    return (
        f"{_name(program, records, record)} {waits} "
        f"({record.fill} of {record.depth} filled); {_other_end(program, records, record)}"
    )


def _name(program: Program, records: list[ProcessRecord], record: ProcessRecord) -> str:
    """The process's name, after those of the processes whose regions it runs in."""
    if record.call < 0:
        return program.top
    name = program.calls[record.call].name
    parent = records[record.parent]
    return name if parent.call < 0 else f"{_name(program, records, parent)}/{name}"


def _other_end(program: Program, records: list[ProcessRecord], record: ProcessRecord) -> str:
    stream = program.streams[record.stream]
    putting = record.state is State.PUTTING
    ends = stream.consumers if putting else stream.producers
    role = "reader" if putting else "writer"
    if not ends:
        return f"it has no {role}."
    for other in records:
        if other is record and len(ends) == 1 and other.call in ends:
            return f"its {role} is the same process."
        if other.region == record.fifo_region and other.call in ends:
            return f"its {role} {_name(program, records, other)} {_doing(program, other)}."
    if -1 in ends:
        return f"its {role} is the region itself."
    return f"its {role} {program.calls[ends[0]].name} is not running."


def _doing(program: Program, record: ProcessRecord) -> str:
    if record.state is State.FINISHED:
        return "has finished"
    if record.state is State.JOINING:
        return "waits for the kernels of its own region"
    if record.state is State.READY:
        return "is running"
    return deadlock.waits_for(record.state is State.PUTTING, program.streams[record.stream].name)
