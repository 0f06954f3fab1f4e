"""The passes from hardware to code, in their order."""

from __future__ import annotations

# Instances must go first: what is left of them would silently count as external.
FLATTEN = ("hw-flatten-modules",)
# comb's canonical forms are made for bodies of hw modules, where order does not count. In an arc model
# it does, and they would leave uses before definitions: so they come first.
ARC_PASSES = (
    "canonicalize",
    "convert-to-arcs",
    "arc-split-loops",
    "arc-lower-state",
    "arc-inline",
    "arc-lower-arcs-to-funcs",
    "arc.model(arc-allocate-state)",
    "arc-lower-clocks-to-funcs",
)
"""From hardware without memories and enables to functions over a block of state."""
TO_STATE = (
    "hw.module(lower-seq-fifo,lower-seq-hlmem,lower-seq-shiftreg,lower-seq-compreg-ce)",
    "lower-seq-firmem",
    "arc-infer-memories{tap-ports=false}",
    *ARC_PASSES,
)
TO_LLVM = ("cse", "lower-arc-to-llvm", "canonicalize", "cse")
