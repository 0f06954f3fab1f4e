"""The models of buses see each kind of fault: shown on wrappers whose hardware has one."""

from __future__ import annotations

import numpy as np
import pytest

from allo import Partition
from allo.backend.rtl.interfaces import control, masters, shell
from allo.backend.rtl.interfaces.buses import copies
from allo.errors import AlloError, DeadlockError, ProtocolError, SimulationError
from allo.ir.types import int16, int32

from .kernels import agree, build, doubled, values
from .planted import plant

EXTENT = 1500
ENGINES = ("reader_module", "writer_module")
CONTROL = ("control_module",)

FAULTS = {
    "a burst crosses a page": (
        masters,
        "text.slice(address, size, steps, ADDRESS)",
        "text.const(0, steps)",
        ENGINES,
        r"m_axi_gmem[01] A[RW] burst crosses a boundary of 4,096 bytes",
    ),
    "a valid falls before its ready": (
        masters,
        'flag(text, valid, issue, text.all_of(valid, f"%{channel}READY"))',
        "flag(text, valid, issue, valid)",
        ENGINES,
        "lowers A[RW]VALID before the other side was ready",
    ),
    "an address changes while it waits": (
        masters,
        'free = text.any_of(text.invert(valid), f"%{channel}READY")',
        "free = text.const(1, 1)",
        ENGINES,
        "changes what it offers while A[RW]VALID waits",
    ),
    "a word changes while it waits": (
        masters,
        'free = text.any_of(text.invert(word_valid), "%WREADY")',
        "free = text.const(1, 1)",
        ENGINES,
        "changes what it offers while WVALID waits",
    ),
    "WLAST on every word": (
        masters,
        '("WLAST", last, 1)',
        '("WLAST", text.const(1, 1), 1)',
        ENGINES,
        "has WLAST on another word than a burst's last",
    ),
    "WLAST missing": (
        masters,
        '("WLAST", last, 1)',
        '("WLAST", text.const(0, 1), 1)',
        ENGINES,
        "has WLAST on another word than a burst's last",
    ),
    "writes are not waited for": (
        masters,
        "text.all_of(unasked, none)",
        "unasked",
        ENGINES,
        "is done before its writes were answered|raises AWVALID while the design is idle",
    ),
    "too many bursts": (
        masters,
        'text.compare("ne", under_way, text.const(master.outstanding, many), many)',
        "text.const(1, 1)",
        ENGINES,
        "has more (reads|writes) under way than it may",
    ),
    "bytes behind the array": (
        copies,
        "text.mux(last, text.const((1 << tail) - 1, lanes), full, lanes) if tail else full",
        "full",
        ("Copies",),
        "writes address 0x[0-9a-f]+, where no argument lies that it stores",
    ),
    "an array is loaded twice as far": (
        copies,
        "beats = [-(-b.bytes // (master.width // 8)) for b in mine]",
        "beats = [-(-2 * b.bytes // (master.width // 8)) for b in mine]",
        ("Copies",),
        "(reads|writes) address 0x[0-9a-f]+, where no argument lies",
    ),
    "the size of a word": (
        shell,
        '"SIZE": (shift, 3)',
        '"SIZE": (0, 3)',
        ("_Shell",),
        "A[RW]SIZE is not the width of the bus",
    ),
    "the type of a burst": (
        shell,
        '"BURST": (1, 2)',
        '"BURST": (0, 2)',
        ("_Shell",),
        "A[RW]BURST is not INCR",
    ),
    "strobes of a register": (
        control,
        "enable=written(offset, lane), reset=0)",
        "enable=written(offset, 0), reset=0)",
        CONTROL,
        "for register [AB], where 0x|reads address 0x[0-9a-f]+, where no argument lies",
    ),
    "an answer without a request": (
        control,
        'text.output("BVALID", "i1", answer)',
        'text.output("BVALID", "i1", text.any_of(answer, data))',
        CONTROL,
        "s_axi_control answers a write that it has not taken",
    ),
    "an answer that is not held": (
        control,
        'flag(text, valid, taken, text.all_of(valid, "%RREADY"))',
        "flag(text, valid, taken, valid)",
        CONTROL,
        "s_axi_control lowers RVALID before the other side was ready",
    ),
    "done that reading does not clear": (
        control,
        'flag(text, seen, "%ap_done", reads(CONTROL))',
        'flag(text, seen, "%ap_done", text.const(0, 1))',
        CONTROL,
        "for the control register once it was read, where 0x4 must stand",
    ),
    "a valid during reset": (
        control,
        'text.output("RVALID", "i1", valid)',
        'text.output("RVALID", "i1", text.invert(valid))',
        CONTROL,
        "s_axi_control raises RVALID during reset",
    ),
}


def run(dtype, seeds: range, *, blocks: int = 1, pipelined: bool = False) -> None:
    """Runs of copies that fill a word of the bus in one step, or element by element out of several blocks."""
    schedule = doubled(dtype, EXTENT + 1)
    if pipelined:
        schedule.pipeline("i")
    for array in (schedule.A, schedule.B) if blocks > 1 else ():
        schedule.partition(array, dim=1, partition_type=Partition.Block, factor=blocks)
    narrow = {"kind": "m_axi", "width": 32, "outstanding": 2, "copy": True}
    module = build(schedule, {"A": narrow, "B": narrow}, stalls=0.4)

    def draw(rng):
        return [values(rng, dtype, (EXTENT + 1,)), values(rng, dtype, (EXTENT + 1,))]

    agree(schedule, module, draw, tuple(seeds))


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_rule_is_seen(name, monkeypatch) -> None:
    module, old, new, names, message = FAULTS[name]
    plant(monkeypatch, module, old, new, *names)
    with pytest.raises(ProtocolError, match=message) as caught:
        run(int16, range(1, 5))
    assert "a fault of the RTL compiler" in caught.value.help


def test_no_rule_is_broken_without_a_fault() -> None:
    assert run(int16, range(1, 5)) is None
    assert run(int16, range(1, 5), blocks=2) is None


def test_a_valid_that_waits_for_its_ready_hangs(monkeypatch) -> None:
    old = 'free = text.any_of(text.invert(valid), f"%{channel}READY")'
    plant(monkeypatch, masters, old, 'free = f"%{channel}READY"', *ENGINES)
    with pytest.raises(SimulationError, match="was not done after [0-9]+ cycles"):
        run(int32, range(1, 5))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('taken = text.all_of("%in_valid", free)', 'taken = text.all_of("%in_valid")'),
        ('taken = text.all_of("%in_valid", free, text.invert("%flush"))', 'taken = "%in_valid"'),
    ],
    ids=["widener", "narrower"],
)
def test_a_lost_element_is_seen(old, new, monkeypatch) -> None:
    from allo.backend.rtl.interfaces import converters

    plant(monkeypatch, converters, old, new, "widener_module", "narrower_module")
    with pytest.raises((AssertionError, AlloError)):
        run(int16, range(1, 5), blocks=2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('wanted.append(text.compare("eq", self._now[port], here, low))', "pass"),
        ("which = self._read[port]", "which = self._now.get(port, self._read[port])"),
    ],
    ids=["a store in every part", "the part of the next word"],
)
def test_a_wrong_part_of_a_bank_is_seen(old, new, monkeypatch) -> None:
    from allo.backend.rtl.interfaces import buffer

    plant(monkeypatch, buffer, old, new, "buffer_module")
    with pytest.raises((AssertionError, AlloError)):
        run(int16, range(1, 5), pipelined=True)


def test_a_run_that_stands_still_is_told_at_once(monkeypatch) -> None:
    old = 'taken = text.all_of("%valid", is_open, free)'
    plant(monkeypatch, masters, old, "taken = text.const(0, 1)", *ENGINES)
    schedule = doubled(int32, 8)
    asked = {"kind": "m_axi", "copy": True}
    module = build(schedule, {"A": asked, "B": asked}, stalls=0.0)
    with pytest.raises(SimulationError, match="stands still since cycle") as caught:
        module(np.zeros(8, np.int32), np.zeros(8, np.int32))
    assert not isinstance(caught.value, DeadlockError)
