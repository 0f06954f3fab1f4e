"""Arrays on several masters, and masters of several arrays: equal to the CPU, as fast as their channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.interfaces import masters
from allo.backend.rtl.interfaces.buses import arbiter, gang
from allo.backend.sim import external_memory
from allo.designs.polybench.memory import load
from allo.designs.polybench.memory.shape import Shape
from allo.errors import AlloError, InterfaceError, OptionError
from allo.ir.types import int32

from .kernels import agree, values
from .planted import plant

N, M, L, W = 603, 1000, 64, 64
"""Elements; rows and columns of a fast design, and bits of the masters of slow ones."""
EACH = {
    "apart": ("hbm[0:4]", "hbm[4]", "hbm[5:7]", "hbm[7]"),
    "all on one": ("hbm[0]",) * 4,
    "all on four": ("hbm[0:4]",) * 4,
    "across": ("hbm[0:4]", "hbm[1]", "hbm[0:2]", "hbm[1:3]"),
}


def two_sums(A: int32[N], B: int32[N], C: int32[N], D: int32[N]):
    """Two arrays in, one out and one changed, each in order."""
    for i in range(N):
        C[i] = A[i] + B[i]
        D[i] = A[i] - B[i] + D[i]


def one_then_the_other(A: int32[N], B: int32[N], C: int32[N], D: int32[N]):
    """All of A and C before any of B and D: engines that keep the bus would never end."""
    for i in range(N):
        C[i] = A[i] + 3
    for j in range(N):
        D[j] = B[j] + 5


def total[K, L](A: int32[K], B: int32[K // L]):
    """A whole array, L neighbours in a cycle."""
    for i in range(K // L):
        t: int32 = 0
        for l in range(L):
            t += A[i * L + l]
        B[i] = t


def placed(kernel: Any, where: tuple[str, ...]) -> Any:
    schedule = allo.customize(kernel)
    for loop in "i" if kernel is two_sums else "ij":
        schedule.pipeline(loop)
    for name, channels in zip("ABCD", where, strict=True):
        schedule.place(getattr(schedule, name), channels)
    return schedule


def draw(rng: np.random.Generator) -> list[np.ndarray]:
    return [values(rng, int32, (N,)) for _ in "ABCD"]


def build(schedule: Any, *, copied: str = "", engine: str = "jit", stalls: float = 0.0) -> Any:
    asked = {
        name: {"kind": "m_axi", "width": W, "burst": 16, "copy": name in copied} for name in "ABCD"
    }
    return schedule.build(
        target="verilog", simulator=engine, stalls=stalls, configs={"interface": asked}
    )


@pytest.mark.parametrize("kernel", [two_sums, one_then_the_other], ids=lambda k: k.__name__)
@pytest.mark.parametrize("where", EACH)
def test_arrays_equal_those_of_the_cpu(kernel: Any, where: str) -> None:
    schedule = placed(kernel, EACH[where])
    module = build(schedule, stalls=0.3)
    assert all(array.beside for array in module.design.board.arrays)
    assert len(module.design.board.masters) == {"apart": 8, "all on one": 1}.get(where, 4)
    agree(schedule, module, draw)


def test_arrays_that_are_copied_share_masters_with_others() -> None:
    schedule = placed(two_sums, EACH["across"])
    module = build(schedule, copied="AC", stalls=0.3)
    assert [bool(array.beside) for array in module.design.board.arrays] == [
        False,
        True,
        False,
        True,
    ]
    agree(schedule, module, draw)


def test_both_engines_take_the_same_cycles() -> None:
    schedule = placed(two_sums, EACH["across"])
    cycles = [
        agree(schedule, build(schedule, engine=engine, stalls=0.3), draw, (1, 2))
        for engine in ("verilator", "jit")
    ]
    assert cycles[0] == cycles[1]


def summed(channels: str) -> tuple[Any, Any]:
    K = L * M
    schedule = allo.customize(total, instantiate=[K, L])
    schedule.pipeline("i")
    schedule.unroll("l")
    schedule.partition(schedule.A, partition_type=Partition.Cyclic, factor=L)
    schedule.place(schedule.A, channels)
    schedule.place(schedule.B, "hbm[8]")
    module = schedule.build(target="verilog", simulator="jit", clock_mhz=250)
    return module, lambda rng: [values(rng, int32, (K,)), values(rng, int32, (M,))]


def test_an_array_on_four_channels_passes_at_the_bandwidth_of_four() -> None:
    moved = L * M * 4
    for channels, count in (("hbm[0]", 1), ("hbm[0:4]", 4)):
        module, draw_them = summed(channels)
        A, B = draw_them(np.random.default_rng(3))
        module(A, B)
        assert np.array_equal(B, A.reshape(M, L).sum(axis=1, dtype=np.int32))
        assert module.design.board.masters[0].width == 512
        least = moved / (count * 14.4e9 / 250e6)
        assert least <= module.cycles < least / 0.9, (channels, module.cycles, least)
        reached = module.traffic.channels
        assert all(reached[f"hbm{n}"].bytes == moved // count for n in range(count))


def test_parts_lie_in_channels_of_dynamic_memory() -> None:
    schedule = placed(two_sums, EACH["all on four"])
    channels = external_memory("hbm2", clock_mhz=250, timing="dram")
    module = build(schedule)
    for count in (4, 1):
        lying = module.variant(memory=dict.fromkeys("ABCD", channels[:count]))
        agree(schedule, lying, draw, (1,))
        moved = [lying.traffic.channels[f"hbm2[{n}]"].bytes for n in range(count)]
        assert all(5 * 4 * N // count <= each <= 6 * 4 * N // count for each in moved), moved
    with pytest.raises(OptionError, match="A has 4 masters, and memory= gives it 3 channels"):
        module.variant(memory={"A": channels[:3]})(*draw(np.random.default_rng(1)))


FAULTS = {
    "words of two masters change places": (
        gang,
        'concat(text, [(each["data"], width) for each in found])',
        'concat(text, [(each["data"], width) for each in found[::-1]])',
        ("Gang",),
        "across",
    ),
    "a word is written twice where one master waits": (
        gang,
        '"valid": text.all_of(valid, *others) if others else valid,',
        '"valid": valid,',
        ("Gang",),
        "apart",
    ),
    "words go to another engine": (
        arbiter,
        'text.compare("eq", asked["out_data"], text.const(n, bits), bits)\n        )\n',
        'text.compare("ne", asked["out_data"], text.const(n, bits), bits)\n        )\n',
        ("read_arbiter",),
        "all on one",
    ),
    "a burst is cut by another": (
        arbiter,
        "room, text.invert(active), text.any_of",
        "room, text.any_of",
        ("write_arbiter",),
        "all on one",
    ),
    "a burst begins before all of it has come": (
        arbiter,
        'self.whole = text.all_of(some, addresses["out_valid"])',
        'self.whole = addresses["out_valid"]',
        ("write_arbiter",),
        "all on one",
    ),
    "an engine asks for more than it can keep": (
        masters,
        'return text.compare("ult", asked, text.const(lines - burst + 1, bits), bits)',
        "return text.const(1, 1)",
        ("reader_module",),
        "all on one",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, old, new, names, where = FAULTS[name]
    kernel = one_then_the_other if "engine asks" in name or "begins" in name else two_sums
    schedule = placed(kernel, EACH[where])
    plant(monkeypatch, module, old, new, *names)
    with pytest.raises((AlloError, AssertionError)):
        agree(schedule, build(schedule, stalls=0.0 if kernel is one_then_the_other else 0.3), draw)


@pytest.mark.parametrize(
    ("asked", "message", "remedy"),
    [
        ({"bundle": ["a", "a"]}, "The interface of A has bundle 'a' twice.", "different bundles"),
        ({"bundle": ["a", "b", "c"]}, "The interface of A has 3 bundles.", "1, 2, 4, 8"),
        ({"bundle": []}, "The interface of A has 0 bundles.", "1, 2, 4, 8"),
        ({"bundle": ["a", "b c"]}, "A has bundle 'b c', which cannot", "as in 'gmem0'"),
    ],
)
def test_bundles_that_an_array_cannot_have(asked: Any, message: str, remedy: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        allo.customize(two_sums).build(
            target="verilog", configs={"interface": {"A": {"kind": "m_axi", **asked}}}
        )
    assert message in caught.value.message and remedy in (caught.value.help or "")


def test_masters_side_by_side_have_one_width() -> None:
    asked = {
        "A": {"kind": "m_axi", "bundle": ["a", "b"]},
        "B": {"kind": "m_axi", "bundle": "b", "width": 64},
    }
    with pytest.raises(
        InterfaceError, match="B asks for width 64 in bundle b, which stands beside"
    ):
        allo.customize(two_sums).build(target="verilog", configs={"interface": asked})


def test_registers_of_parts_keep_clear_of_arguments() -> None:
    def copy(A: int32[64], A_part1: int32[64]):
        for i in range(64):
            A_part1[i] = A[i]

    module = allo.customize(copy).build(
        target="verilog",
        simulator="jit",
        configs={"interface": {"A": {"kind": "m_axi", "bundle": ["a", "b"]}, "A_part1": "m_axi"}},
    )
    names = [register.name for register in module.design.board.registers]
    assert names[:3] == ["A", "A_part1_", "A_part1"]
    A, B = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    module(A, B)
    assert np.array_equal(A, B)


def test_a_shared_master_has_one_burst_under_way_where_one_is_asked() -> None:
    schedule = allo.customize(two_sums)
    schedule.pipeline("i")
    one = {"kind": "m_axi", "bundle": "m", "burst": 4, "outstanding": 1, "copy": False}
    configs = {"interface": dict.fromkeys("ABCD", one)}
    module = schedule.build(target="verilog", simulator="jit", stalls=0.1, configs=configs)
    agree(schedule, module, draw)


def test_the_wrapper_is_not_what_keeps_the_clock_down() -> None:
    """Words that are no part of a line come from two channels: whether one is taken is soon known."""
    design = load("gesummv")
    masters = {
        name: {"kind": "m_axi", "bundle": [f"{name}{n}" for n in range(2)]}
        for name in design.ARRAYS
    }
    hardware = design.schedule((20,), Shape(1, 10)).build(
        target="verilog", simulator="jit", clock_mhz=300, configs={"interface": masters}
    )
    places = [part.place for part in hardware.report.critical_path]
    assert all("gesummv.py" in place for place in places), places
