"""The targets that a kernel of the frontend's tests is built for."""

from __future__ import annotations

import allo

TARGETS = ["cpu", "csim", "jit", "interpret"]


def built(kernel, target):
    """A kernel, ready to be called."""
    if target == "interpret":
        return allo.interpret(kernel)
    s = allo.customize(kernel)
    if target == "cpu":
        return s.build()
    if target == "csim":
        return s.build(target="vhls", mode="csim")
    return s.build(target="verilog", simulator="jit", max_cycles=100000)
