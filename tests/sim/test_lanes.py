"""Lanes of the in-process engine as loops: what a function does to the state is the same as without loops."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from allo.backend.rtl._circt import parse_hw, run_hw_passes
from allo.backend.rtl.circt import in_circt
from allo.backend.sim.engines.arc.lanes import roll, runs
from allo.backend.sim.engines.arc.recipe import TO_LLVM
from allo.backend.sim.engines.native import NativeModule
from tests.sim.test_long_models import rows

BYTES = 4096
LANES = 24
NAME = "lane_work"


class Function:
    """The text of a function of a state, in arc's dialect."""

    def __init__(self) -> None:
        self.reads: list[str] = []
        self.writes: list[str] = []
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _place(self, offset: int, kind: str) -> str:
        name = self._fresh()
        self.reads.append(f"{name} = arc.storage.get %s[{offset}] : !arc.storage -> !arc.{kind}")
        return name

    def op(self, text: str) -> str:
        name = self._fresh()
        self.reads.append(f"{name} = {text}")
        return name

    def read(self, offset: int, bits: int = 32) -> str:
        return self.op(f"arc.state_read {self._place(offset, f'state<i{bits}>')} : <i{bits}>")

    def write(self, offset: int, value: str, bits: int = 32) -> None:
        place = self._place(offset, f"state<i{bits}>")
        self.writes.append(f"arc.state_write {place} = {value} : <i{bits}>")

    def memory(self, offset: int) -> str:
        return self._place(offset, "memory<4 x i32, i2>")

    def text(self) -> str:
        lines = [f"func.func private @{NAME}(%s: !arc.storage) {{", *self.reads, *self.writes]
        return "\n  ".join(lines) + "\n  return\n}\n"


def independent(f: Function, _: random.Random) -> None:
    for lane in range(LANES):
        f.write(
            2000 + 4 * lane, f.op(f"comb.add {f.read(4 * lane)}, {f.read(512 + 8 * lane)} : i32")
        )


def downward(f: Function, _: random.Random) -> None:
    """A shift register: each takes what the one in front of it held."""
    for lane in range(1, LANES):
        f.write(4 * lane, f.read(4 * lane - 4))


def upward(f: Function, _: random.Random) -> None:
    for lane in range(LANES):
        f.write(4 * lane, f.read(4 * lane + 4))


def both_ways(f: Function, _: random.Random) -> None:
    """Each takes from both neighbours: there is no order of lanes."""
    for lane in range(1, LANES):
        f.write(4 * lane, f.op(f"comb.add {f.read(4 * lane - 4)}, {f.read(4 * lane + 4)} : i32"))


def in_chain(f: Function, _: random.Random) -> None:
    """Three registers a lane, each of which takes the one before it."""
    for lane in range(LANES):
        for register in range(3):
            value = f.read(400 * register + 4 * lane)
            f.write(400 * register + 400 + 4 * lane, f.op(f"comb.mul {value}, {value} : i32"))


def in_circles(f: Function, _: random.Random) -> None:
    """Two registers a lane, each of which takes the other one of the next lane."""
    for lane in range(LANES):
        f.write(4 * lane, f.read(404 + 4 * lane))
        f.write(400 + 4 * lane, f.read(4 + 4 * lane))


def under_one_value(f: Function, _: random.Random) -> None:
    """A value for all lanes, and a write of what it is made of."""
    shared = f.op(f"comb.extract {f.read(0)} from 3 : (i32) -> i1")
    for lane in range(LANES):
        own = f.read(404 + 4 * lane)
        f.write(404 + 4 * lane, f.op(f"comb.mux {shared}, {f.read(8 * lane)}, {own} : i32"))
    f.write(0, f.read(404))


def with_two_writes(f: Function, _: random.Random) -> None:
    """Lanes whose value goes to two places, of one width each."""
    for lane in range(LANES):
        total = f.op(f"comb.add {f.read(4 * lane)}, {f.read(204 + 4 * lane)} : i32")
        f.write(4 * lane, total)
        f.write(1200 + lane, f.op(f"comb.extract {total} from 2 : (i32) -> i8"), 8)


def with_memories(f: Function, _: random.Random) -> None:
    for lane in range(LANES):
        memory = f.memory(16 * lane)
        at = f.read(1000 + lane, 2)
        found = f.op(f"arc.memory_read {memory}[{at}] : <4 x i32, i2>")
        f.write(1200 + 4 * lane, found)
        value = f.read(1204 + 4 * lane)
        f.writes.append(f"arc.memory_write {memory}[{at}], {value} : <4 x i32, i2>")


def at_random(f: Function, rng: random.Random) -> None:
    """Lanes of some shapes over places that other lanes write, in any order."""
    kinds = [(rng.choice(["add", "xor", "mul"]), rng.randrange(3)) for _ in range(3)]
    bases = [rng.randrange(40) * 4 for _ in range(6)]
    taken: set[int] = set()
    for lane in range(LANES):
        for (name, shift), base, first, second in zip(
            kinds, bases, bases[1:], bases[2:], strict=False
        ):
            a = f.read(first + 4 * (lane + shift))
            b = f.read(second + rng.choice([4, 4, 4, 4, 8]) * lane)
            place = base + 4 * lane
            if place not in taken:
                taken.add(place)
                f.write(place, f.op(f"comb.{name} {a}, {b} : i32"))


FORMS: dict[str, Callable[[Function, random.Random], None]] = {
    form.__name__: form
    for form in (
        independent,
        downward,
        upward,
        both_ways,
        in_chain,
        in_circles,
        under_one_value,
        with_two_writes,
        with_memories,
    )
}
ROLLED = {"both_ways": False}


def text_of(form: Callable[[Function, random.Random], None], seed: int = 0) -> str:
    function = Function()
    form(function, random.Random(seed))
    return function.text()


def lowered(text: str, *, rolled: bool) -> tuple[str, int]:
    """A function in the llvm dialect, and how many loops it has."""
    module = parse_hw(text)
    loops = roll.roll_lanes(module) if rolled else []
    module.operation.verify()
    run_hw_passes(module, TO_LLVM, verify=False)
    module.operation.verify()
    return roll.define_loops(module, loops), len(loops)


def lowered_with_fault(text: str, fault: str) -> tuple[str, int]:
    """:func:`lowered` with a planted fault in how lanes are put in order."""
    kept = getattr(runs, fault)
    wrong = {"_reads_first": lambda run: True, "_ordered": lambda found: kept(found)[::-1]}
    setattr(runs, fault, wrong[fault])
    try:
        return lowered(text, rolled=True)
    finally:
        setattr(runs, fault, kept)


def after(text: str) -> bytes:
    """The state behind a function, from a random one."""
    memory = np.zeros(BYTES + 64, np.uint8)
    state = memory[-memory.ctypes.data % 64 :][:BYTES]
    state[:] = np.random.default_rng(5).integers(0, 256, BYTES, dtype=np.uint8)
    state[1000:1100] &= 3  # what reads a part of a byte finds zeros in the rest
    NativeModule(text, 1).function(NAME)(state.ctypes.data)
    return state.tobytes()


def in_both_forms(text: str) -> tuple[bytes, bytes, int]:
    here = "tests.sim.test_lanes:lowered"
    plain, _ = in_circt(f"{here}_plain", text)
    loops, number = in_circt(f"{here}_rolled", text)
    return after(plain), after(loops), number


def lowered_plain(text: str) -> tuple[str, int]:
    return lowered(text, rolled=False)


def lowered_rolled(text: str) -> tuple[str, int]:
    return lowered(text, rolled=True)


@pytest.mark.parametrize("form", FORMS)
def test_loops_do_what_the_lanes_did(form):
    plain, rolled, loops = in_both_forms(text_of(FORMS[form]))
    assert bool(loops) == ROLLED.get(form, True)
    assert plain == rolled


@pytest.mark.parametrize("seed", range(40))
def test_lanes_over_places_that_others_write(seed):
    plain, rolled, _ = in_both_forms(text_of(at_random, seed))
    assert plain == rolled


@pytest.mark.parametrize(
    ("form", "fault"),
    [("downward", "_reads_first"), ("both_ways", "_reads_first"), ("in_chain", "_ordered")],
)
def test_a_wrong_order_is_seen(form, fault):
    text = text_of(FORMS[form])
    plain, _ = in_circt("tests.sim.test_lanes:lowered_plain", text)
    wrong, loops = in_circt("tests.sim.test_lanes:lowered_with_fault", text, fault)
    assert loops
    assert after(plain) != after(wrong)


def test_twice_as_many_lanes_are_no_more_code():
    texts = [
        in_circt(
            "allo.backend.sim.engines.arc.lower:lower_text",
            mod.design.top,
            mod.design.native_hw_text,
        ).text
        for mod in (rows(n).build(target="verilog", simulator="jit") for n in (144, 288))
    ]
    assert texts[1].count("\n") < 1.3 * texts[0].count("\n")
