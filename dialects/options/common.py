"""Kinds of values that options of targets and of functions have in common."""

from __future__ import annotations

from .kinds import Instance, Integer, Number

SIMULATORS = ("verilator", "jit")
LINKS = ("uart", "fifo245")
SECONDS = Number(0.001, 1e9, "seconds")
MEGAHERTZ = Number(0.001, 10_000, "MHz")
SEED = Integer(0, 2**63 - 1)
CYCLES = Integer(1, 2**62)
ONE_CHANNEL = Instance("a MemoryChannel", ("MemoryChannel",))
PROBABILITY = Number(0.0, 1.0, open=True)
