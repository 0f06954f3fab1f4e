"""Planted faults of calls: the order of what stands beside them, shared memory, kept state."""

from __future__ import annotations

from . import Fault

_CPU = ("cpu",)
_RTL = ("jit",)

CALLS = [
    Fault(
        "read_behind_the_call",
        "frontend",
        "allo.frontend.elaborate.expressions.order",
        "if len(self.ctx.block) == self.mark or not reads_storage(value):",
        "if self.mark >= 0:",
        "what stands before a call is read before it",
        _CPU,
        "calls in expressions",
    ),
    Fault(
        "one_array_for_two",
        "frontend",
        "allo.frontend.elaborate.shared_parameters",
        "return any(one.name in group and other.name in group for group in ctx.shared_parameters)",
        "return False",
        "an array that is passed twice is read before it is stored",
        _CPU,
        "arrays passed twice",
    ),
    Fault(
        "a_state_a_caller",
        "rtl read",
        "allo.backend.rtl.read.shared_state",
        "if calls[name] and (len(users) > 1 or _is_repeated(name, calls)):",
        "if not functions:",
        "a function has one state, wherever it is called",
        _RTL,
        "stateful",
    ),
]
