"""Reads of a model in the in-process engine: one for each register, and never across a write of it."""

from __future__ import annotations

import re

import pytest

from allo.backend.rtl.circt import in_circt

HEAD = """
arc.model @top io !hw.modty<input x : i8, output y : i8> {
^bb0(%s: !arc.storage):
  %one = hw.constant 1 : i8
"""
NAMES = """
  %a{k} = arc.storage.get %s[0] : !arc.storage -> !arc.state<i8>
  %b{k} = arc.storage.get %s[1] : !arc.storage -> !arc.state<i8>
  %c{k} = arc.storage.get %s[2] : !arc.storage -> !arc.state<i1>
"""
BODIES = {
    "twice": (
        NAMES.format(k=0)
        + NAMES.format(k=1)
        + """
  %x = arc.state_read %a0 : <i8>
  %y = arc.state_read %a1 : <i8>
  %z = comb.add %x, %y : i8
  arc.state_write %b0 = %z : <i8>
""",
        ["read 0", "write 1"],
    ),
    "across another's write": (
        NAMES.format(k=0)
        + """
  %x = arc.state_read %a0 : <i8>
  arc.state_write %b0 = %x : <i8>
  %y = arc.state_read %a0 : <i8>
  arc.state_write %b0 = %y : <i8>
""",
        ["read 0", "write 1", "write 1"],
    ),
    "across its own write": (
        NAMES.format(k=0)
        + """
  %x = arc.state_read %a0 : <i8>
  %z = comb.add %x, %one : i8
  arc.state_write %a0 = %z : <i8>
  %y = arc.state_read %a0 : <i8>
  arc.state_write %b0 = %y : <i8>
""",
        ["read 0", "write 0", "read 0", "write 1"],
    ),
    "across a write under a condition": (
        NAMES.format(k=0)
        + """
  %c = arc.state_read %c0 : <i1>
  %x = arc.state_read %a0 : <i8>
  %z = comb.add %x, %one : i8
  scf.if %c {
    arc.state_write %a0 = %z : <i8>
  }
  %y = arc.state_read %a0 : <i8>
  arc.state_write %b0 = %y : <i8>
""",
        ["read 2", "read 0", "write 0", "read 0", "write 1"],
    ),
    "under conditions": (
        NAMES.format(k=0)
        + """
  %c = arc.state_read %c0 : <i1>
  scf.if %c {
    %x = arc.state_read %a0 : <i8>
    arc.state_write %b0 = %x : <i8>
  } else {
    %y = arc.state_read %a0 : <i8>
    %z = comb.add %y, %one : i8
    arc.state_write %b0 = %z : <i8>
  }
  %w = arc.state_read %a0 : <i8>
  arc.state_write %b0 = %w : <i8>
""",
        ["read 2", "read 0", "write 1", "write 1", "write 1"],
    ),
    "first under a condition": (
        NAMES.format(k=0)
        + """
  %c = arc.state_read %c0 : <i1>
  scf.if %c {
    %x = arc.state_read %b0 : <i8>
    arc.state_write %a0 = %x : <i8>
  }
  %y = arc.state_read %b0 : <i8>
  arc.state_write %a0 = %y : <i8>
  arc.state_write %b0 = %one : <i8>
""",
        ["read 2", "read 1", "write 0", "read 1", "write 0", "write 1"],
    ),
    "of a register under conditions": (
        NAMES.format(k=0)
        + """
  %c = arc.state_read %c0 : <i1>
  scf.if %c {
    %x = arc.state_read %b0 : <i8>
    arc.state_write %b0 = %one : <i8>
    %v = arc.state_read %b0 : <i8>
    %s1 = comb.add %x, %v : i8
    arc.state_write %a0 = %s1 : <i8>
  }
  %y = arc.state_read %b0 : <i8>
  arc.state_write %a0 = %y : <i8>
""",
        ["read 2", "read 1", "write 1", "read 1", "write 0", "read 1", "write 0"],
    ),
}


def merged(text: str) -> str:
    """Runs in the process of CIRCT: the model after its reads have been merged."""
    from allo.backend.rtl._circt import parse_hw, without_classes
    from allo.backend.sim.engines.arc.reads import merge_reads

    with without_classes():
        module = parse_hw(text)
        merge_reads(next(iter(module.body.operations)))
        module.operation.verify()
        return str(module)


@pytest.mark.parametrize("name", BODIES)
def test_a_read_is_made_once_between_two_writes(name: str) -> None:
    body, expected = BODIES[name]
    text = in_circt("tests.sim.test_merged_reads:merged", f"{HEAD}{body}}}\n")
    places = dict(re.findall(r"(%\w+) = arc\.storage\.get %\w+\[(\d+)\]", text))
    found = re.findall(r"arc\.state_(read|write) (%\w+)", text)
    assert [f"{kind} {places[state]}" for kind, state in found] == expected
    assert len(places) == 3
