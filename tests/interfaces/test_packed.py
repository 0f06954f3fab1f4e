"""layout "packed": elements without bits between them, behind AXI4 masters and on a host."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.interfaces.beside import gearbox
from allo.boards import vendor
from allo.dialects.boundary.layouts import parse_layout
from allo.errors import AlloError, InterfaceError, LayoutError
from allo.ir.types import Fixed, Int, UInt, float32, int8, int32

from .kernels import agree, values
from .planted import plant

N = 211


def changed(T: Any, *, lanes: int = 1) -> Any:
    """B becomes A plus B, element by element."""

    def added(A: T[N], B: T[N]):
        for i in range(N):
            B[i] = A[i] + B[i]

    s = allo.customize(added)
    s.pipeline("i")
    for array in (s.A, s.B):
        s.layout(array, "packed")
    return s


def build(s: Any, simulator: str = "jit", stalls: float = 0.3, **fields: Any) -> Any:
    asked = {"kind": "m_axi"} | fields
    configs = {"interface": {"A": asked, "B": asked}}
    return s.build(target="verilog", simulator=simulator, stalls=stalls, configs=configs)


def drawn(*kinds: Any) -> Any:
    return lambda rng: [values(rng, kind, (N,)) for kind in kinds]


@pytest.mark.parametrize(
    "kind", [Int(4), Int(12), Fixed(10, 4), UInt(3), UInt(1), Int(24), Int(33)], ids=str
)
def test_packed_elements_equal_those_of_the_cpu_and_fewer_bytes_move(kind: Any) -> None:
    s = changed(kind)
    module = build(s, width=64)
    agree(s, module, drawn(kind, kind), (0, 1))
    size = -(-N * kind.bits // 8)
    assert [array.bytes for array in module.design.board.arrays] == [size, size]
    moved = module.traffic.channels["gmem1"].bytes  # read in whole words, and written by bytes
    assert 2 * size <= moved <= 2 * size + 8
    cell = max(8, 1 << (kind.bits - 1).bit_length())
    assert (
        f"B is packed: an element takes {kind.bits} bits in place of {cell}, the array {size:,} bytes in "
        f"place of {N * cell // 8:,}." in module.report.notes
    )


def test_both_engines_agree() -> None:
    cycles = []
    for engine in ("jit", "verilator"):
        s = changed(Int(12))
        cycles.append(agree(s, build(s, engine, burst=2), drawn(Int(12), Int(12)), (3,)))
    assert cycles[0] == cycles[1]


def test_caches_rows_and_several_masters() -> None:
    T = Int(12)

    def rows(A: T[16, 32], B: T[16, 32]):
        for i in range(16):
            for j in range(32):
                B[i, j] = A[i, 31 - j] + 1

    s = allo.customize(rows)
    s.layout(s.A, "packed")
    s.layout(s.B, "packed")
    s.place(s.A, "hbm[0:2]")
    s.place(s.B, "hbm[2]")
    s.cache(s.A, at="i", double_buffer=True)
    s.cache(s.B, at="i")
    module = s.build(target="verilog", simulator="jit", stalls=0.3)
    agree(s, module, lambda rng: [values(rng, T, (16, 32)) for _ in "AB"])
    assert all(array.bytes == 768 for array in module.design.board.arrays)
    mine, theirs = (drawn_rows(T) for _ in range(2))  # other targets have the elements as ever
    s.build(target="vitis_hls", mode="csim")(*mine)
    s.build()(*theirs)
    np.testing.assert_array_equal(mine[1], theirs[1])


@pytest.mark.parametrize("orders", [["transposed packed"], ["packed", "tiled(4, 16)"]], ids=str)
def test_elements_in_another_order_are_packed(orders: list[str]) -> None:
    T = Int(12)

    def columns(A: T[16, 32], x: int32[32]):
        for j in range(32):
            for i in range(16):
                x[j] += A[i, j]

    s = allo.customize(columns)
    for order in orders:
        s.layout(s.A, order)
    s.place(s.A, "hbm[0]")
    s.cache(s.A, at="j")
    s.pipeline("i")
    modules = [s.build(), s.build(target="vhls")]
    modules += [s.build(target="verilog", simulator="jit", stalls=0.3)]
    assert modules[-1].design.board.arrays[0].bytes == 768
    A = values(np.random.default_rng(7), T, (16, 32))
    for module in modules:
        x = np.ones(32, np.int32)
        module(A.copy(), x)
        np.testing.assert_array_equal(x, 1 + A.astype(np.int32).sum(0))
    assert parse_layout(f"{parse_layout(orders[0])}") == parse_layout(orders[0])


def drawn_rows(kind: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [values(rng, kind, (16, 32)) for _ in "AB"]


def gather(at: int32[16], A: Int(12)[N], B: int32[16]):
    for i in range(16):
        B[i] = A[at[i]]


def crooked(A: Int(12)[4, 5], B: Int(12)[4, 5]):
    for i in range(4):
        for j in range(3):
            B[i, j] = A[i, j]


def plain(A: float32[8], B: int8[8]):
    for i in range(8):
        B[i] = B[i] + 1


def test_what_cannot_be_packed_is_refused_by_name() -> None:
    s = allo.customize(gather)
    s.layout(s.A, "packed")
    with pytest.raises(
        InterfaceError, match="A is packed, and cannot pass while gather runs: data decide which"
    ) as caught:
        build(s)
    assert "s.cache it at a loop" in str(caught.value)
    s = allo.customize(crooked)
    s.layout(s.B, "packed")
    with pytest.raises(InterfaceError, match="a run of its stores begins or ends within a byte"):
        build(s)
    with pytest.raises(InterfaceError, match="its interface asks for a copy of it"):
        build(changed(Int(4)), copy=True)
    for name in "AB":
        s = allo.customize(plain)
        with pytest.raises(LayoutError, match="its elements have no bits between them"):
            s.layout(getattr(s, name), "packed")
    s = changed(Int(4))
    with pytest.raises(LayoutError, match="A cannot be 'packed': it is packed already"):
        s.layout(s.A, "packed")
    with pytest.raises(LayoutError, match="did you mean 'packed'|it is 'transposed', 'packed'"):
        s.layout(s.A, "paced")


def test_the_strobe_of_another_byte_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    old = "share = max(1, 8 // units.bits)"
    plant(monkeypatch, gearbox, old, f"{old}; parts = parts[::-1]", "packer_module")
    s = changed(Int(4))
    with pytest.raises((AssertionError, AlloError)):
        agree(s, build(s, width=64), drawn(Int(4), Int(4)))


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", [3, 12, 33])
def test_the_host_packs_and_unpacks(width: int, signed: bool) -> None:
    """As whole numbers of Python: bit k of the array is bit k of its bytes."""
    path = (vendor.__path__[0]) + "/hosts/driver.py"
    spec = importlib.util.spec_from_file_location("allo_packed_driver", path)
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    cell = max(8, 1 << (width - 1).bit_length())
    low, high = (-(1 << width - 1), 1 << width - 1) if signed else (0, 1 << width)
    elements = (
        np.random.default_rng(width)
        .integers(low, high, 21)
        .astype(f"{'iu'[not signed]}{cell // 8}")
    )
    argument = {
        "dtype": elements.dtype.str,
        "shape": [21],
        "width": width,
        "cell": cell,
        "signed": signed,
    }
    argument |= {"fraction": None, "packed": True, "name": "A"}
    data = driver.to_bytes(argument, elements)
    whole = sum((int(e) & (1 << width) - 1) << width * k for k, e in enumerate(elements))
    assert data == whole.to_bytes(-(-21 * width // 8), "little")
    np.testing.assert_array_equal(driver.from_bytes(argument, data), elements)
