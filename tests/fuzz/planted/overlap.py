"""Planted faults of what overlaps: iterations before an exit, runs of a pipeline, tasks, shared ports."""

from __future__ import annotations

from . import Fault

_RTL = ("jit",)

OVERLAP = [
    Fault(
        "guess_that_is_seen",
        "rtl overlap",
        "allo.backend.rtl.plan.exits",
        "if node.kind in EFFECTS and node is not found.node and node.number not in guessed",
        "if node.number < 0",
        "nothing is stored before it is known that the iteration runs",
        _RTL,
        "searches",
    ),
    Fault(
        "last_value_guessed",
        "rtl overlap",
        "allo.backend.rtl.plan.exits",
        "item.step = max(times)",
        "item.step = min(times)",
        "a register takes the value of the last iteration when that one is known",
        _RTL,
        "searches",
    ),
    Fault(
        "next_run_too_early",
        "rtl overlap",
        "allo.backend.rtl.plan.rewind",
        "wait = max(wait, first.time + 1 - second.time - distance * body.ii)",
        "wait = 0",
        "a pipeline's next run waits for what the last one stores",
        _RTL,
        "rounds",
    ),
    Fault(
        "tasks_out_of_order",
        "rtl overlap",
        "allo.dialects.streams.concurrency",
        "if access is None:",
        "if array >= 0:",
        "a task starts when one that it depends on is over",
        _RTL,
        "nests",
    ),
    Fault(
        "port_shared_by_both",
        "rtl overlap",
        "allo.backend.rtl.graph.conditions",
        "return all(_contradict(x, y) for x, y in product(a, b))",
        "return True",
        "accesses share a port only where their conditions exclude each other",
        _RTL,
        "hazards",
    ),
    Fault(
        "turn_of_one_more",
        "rtl overlap",
        "allo.backend.rtl.plan.turns.remainders",
        "modulus = gcd(modulus, factor * divisor, factor * deeper)",
        "modulus = gcd(modulus, factor * (divisor + 1), factor * deeper)",
        "what is known of two remainders is known up to multiples of their divisor",
        _RTL,
        "turns",
    ),
    Fault(
        "turn_of_any_iteration",
        "rtl overlap",
        "allo.backend.rtl.plan.share",
        "node, other, (time - start) // self._ii if self._ii else 0",
        "node, other, 0",
        "accesses of two iterations share a port where their banks differ in these",
        _RTL,
        "turns",
    ),
]
