"""Integer operators against plain Python integers, as netlists, and their text against CIRCT."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest

from allo.backend.rtl._circt import parse_hw
from allo.backend.rtl.compile import compile_design
from allo.backend.rtl.netlist.modules import Module, unit_ports
from allo.backend.rtl.operators import (
    Operator,
    OperatorLibrary,
    register_operator,
    supported_operations,
)
from allo.backend.rtl.operators.request import Builder, Drawing, Request, combinational
from allo.dialects.diagnostics import BuildError, UnsupportedOpError

from . import oracle
from .harness import CompiledUnit, netlist_of, run_operator

BINARY = [
    "addi",
    "subi",
    "muli",
    "andi",
    "ori",
    "xori",
    "shli",
    "shrui",
    "shrsi",
    "minsi",
    "minui",
    "maxsi",
    "maxui",
    "divsi",
    "divui",
    "remsi",
    "remui",
    "floordivsi",
    "ceildivsi",
    "ceildivui",
]
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
WIDTHS = (1, 3, 8, 17, 32, 33, 64, 100)


def samples(width: int, count: int, seed: int) -> list[tuple[int, int]]:
    """Corner values in all pairs, small shift amounts, and random pairs of random lengths."""
    rng = random.Random(seed)
    top = (1 << width) - 1
    corners = {0, 1, top, top >> 1, 1 << (width - 1), width & top, (width - 1) & top}
    pairs = list(itertools.product(sorted(corners), repeat=2))
    for _ in range(count):
        a, b = (rng.getrandbits(width) >> rng.randrange(width) for _ in range(2))
        pairs.append((a ^ top if rng.random() < 0.5 else a, b ^ top if rng.random() < 0.3 else b))
    return pairs


@pytest.mark.parametrize("op", BINARY)
def test_binary_operator_equals_python(op: str) -> None:
    for width in WIDTHS:
        kind = f"i{width}"
        net = netlist_of(OperatorLibrary(), f"arith.{op}", (kind, kind), kind)
        for a, b in samples(width, 40, width):
            assert net(a, b) == oracle.binary(op, a, b, width), (op, width, a, b)


@pytest.mark.parametrize("op", BINARY)
def test_three_bit_operator_equals_python_on_all_pairs(op: str) -> None:
    net = netlist_of(OperatorLibrary("ecp5", 50.0), f"arith.{op}", ("i3", "i3"), "i3")
    for a, b in itertools.product(range(8), repeat=2):
        assert net(a, b) == oracle.binary(op, a, b, 3), (op, a, b)


@pytest.mark.parametrize("op", ["muli", "shli", "shrui", "shrsi", *BINARY[-7:]])
def test_constant_operand_changes_the_hardware_and_not_the_result(op: str) -> None:
    for width, constant in itertools.product((8, 33), (0, 1, 2, 7, 8, 64, 200)):
        kind = f"i{width}"
        attributes = {"constants": (None, constant)}
        net = netlist_of(OperatorLibrary(), f"arith.{op}", (kind, kind), kind, attributes)
        for a, _ in samples(width, 20, constant):
            assert net(a, constant) == oracle.binary(op, a, constant, width), (op, width, a)


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
@pytest.mark.parametrize("width", [16, 32, 64, 96])
def test_product_of_extended_operands(width: int, device: str) -> None:
    library, kind = OperatorLibrary(device), f"i{width}"
    rng = random.Random(width)
    choices = [("s", 8), ("u", 8), ("s", 27), ("u", 18), ("s", 40), ("u", 60), None]
    for left, right in itertools.product(choices, repeat=2):
        extended = (left, right)
        net = netlist_of(library, "arith.muli", (kind, kind), kind, {"extended": extended})
        for _ in range(12):
            operands = [_extended_sample(rng, form, width) for form in extended]
            assert net(*operands) == oracle.binary("muli", *operands, width), (extended, operands)


def _extended_sample(rng: random.Random, form: tuple[str, int] | None, width: int) -> int:
    letter, bits = form or ("u", width)
    bits = min(bits, width)
    value = rng.choice([0, 1, (1 << bits) - 1, 1 << bits - 1, rng.getrandbits(bits)])
    return (oracle.signed(value, bits) if letter == "s" else value) & (1 << width) - 1


def test_narrow_operands_make_a_product_small() -> None:
    library = OperatorLibrary("xcup", 250.0)
    wide = library.find("arith.muli", ("i32", "i32"), "i32")
    narrow = library.find("arith.muli", ("i32", "i32"), "i32", {"extended": (("s", 8), ("s", 8))})
    assert (wide.resources.dsp, narrow.resources.dsp) == (3, 1)
    assert narrow.latency == 0 < wide.latency
    assert narrow.name == "mul_i32_s8_s8"


@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparison_equals_python(predicate: str) -> None:
    for width in WIDTHS:
        kind = f"i{width}"
        by_name = netlist_of(
            OperatorLibrary(), "arith.cmpi", (kind, kind), "i1", {"predicate": predicate}
        )
        number = {"predicate": PREDICATES.index(predicate)}
        by_number = netlist_of(OperatorLibrary(), "arith.cmpi", (kind, kind), "i1", number)
        for a, b in samples(width, 30, width):
            expected = oracle.compare(predicate, a, b, width)
            assert by_name(a, b) == by_number(a, b) == expected, (width, a, b)


@pytest.mark.parametrize("width", [1, 2, 7, 8, 31, 64, 65])
def test_bit_counts_and_absolute_value(width: int) -> None:
    kind, top = f"i{width}", (1 << width) - 1
    library = OperatorLibrary()
    nets = {
        op: netlist_of(library, f"math.{op}", (kind,), kind)
        for op in ("ctlz", "cttz", "ctpop", "absi")
    }
    for a in {pair[0] for pair in samples(width, 60, width)}:
        text = f"{a:0{width}b}"
        assert nets["ctlz"](a) == (width - len(text.lstrip("0"))) & top
        assert nets["cttz"](a) == (width - len(text.rstrip("0"))) & top
        assert nets["ctpop"](a) == text.count("1") & top
        assert nets["absi"](a) == abs(oracle.signed(a, width)) & top


def test_casts_keep_sign_or_fill_zeros() -> None:
    library = OperatorLibrary()
    cases = {
        ("arith.extsi", "i4", "i9"): 0b111111010,
        ("arith.extui", "i4", "i9"): 0b000001010,
        ("arith.index_cast", "i4", "index"): 0xFFFFFFFFFFFFFFFA,
        ("arith.index_castui", "i4", "index"): 0xA,
        ("arith.trunci", "i4", "i3"): 0b010,
    }
    for (op, source, target), expected in cases.items():
        assert netlist_of(library, op, (source,), target)(0b1010) == expected
    assert netlist_of(library, "arith.index_cast", ("index",), "i40")(1 << 31) == 1 << 31
    assert netlist_of(library, "arith.index_cast", ("index",), "i80")(1 << 63) == 0x1FFFF << 63
    assert netlist_of(library, "arith.bitcast", ("f32",), "i32")(0x3F800000) == 0x3F800000


def test_select_takes_any_type() -> None:
    library = OperatorLibrary()
    select = library.find("arith.select", ("i1", "f64", "f64"), "f64")
    assert (select.latency, select.operand_widths, select.result_width) == (0, (1, 64, 64), 64)
    assert run_operator(select, (1, 5, 9)) == 5
    assert run_operator(select, (0, 5, 9)) == 9


@pytest.mark.parametrize("device,clock", [("xcup", 300.0), ("xc7", 100.0), ("ecp5", 80.0)])
def test_every_operator_parses_in_circt(device: str, clock: float) -> None:
    library = OperatorLibrary(device, clock)
    for op, width in itertools.product(BINARY, (1, 32, 72)):
        kind = f"i{width}"
        operator = library.find(f"arith.{op}", (kind, kind), kind)
        parse_hw(_module(operator))


def _module(operator: Operator) -> str:
    if operator.unit_module is not None:
        return operator.unit_module("rtl").text()
    assert operator.emit is not None
    counter = itertools.count()
    made, result = operator.emit(["%a", "%b"], lambda: f"%t{next(counter)}")
    inputs = list(zip("ab", operator.operand_widths, strict=True))
    return Module("m", unit_ports(inputs, operator.result_width, result), made).text()


def test_faster_clock_gives_deeper_units() -> None:
    slow, fast = OperatorLibrary("xcup", 100.0), OperatorLibrary("xcup", 400.0)
    kinds = ("i64", "i64")
    for op in ("arith.muli", "arith.divui"):
        assert slow.find(op, kinds, "i64").latency < fast.find(op, kinds, "i64").latency
    wide = ("i512", "i512")
    assert fast.find("arith.addi", wide, "i512").latency > 0


def test_same_request_gives_the_same_operator() -> None:
    library = OperatorLibrary()
    first = library.find("arith.muli", ("i64", "i64"), "i64")
    assert library.find("arith.muli", ("i64", "i64"), "i64") is first


def test_unknown_operation_names_the_nearest() -> None:
    with pytest.raises(UnsupportedOpError) as caught:
        OperatorLibrary().find("arith.addiu", ("i8", "i8"), "i8")
    assert str(caught.value).startswith(
        "There is no hardware operator for 'arith.addiu'.\nhelp: did"
    )
    assert "'arith.addi'" in str(caught.value)
    assert "arith.addi" in supported_operations()


def test_unsupported_type_is_named() -> None:
    with pytest.raises(UnsupportedOpError, match=r"'arith\.addi' from \(f80, f80\) to f80\."):
        OperatorLibrary().find("arith.addi", ("f80", "f80"), "f80")


def test_unknown_device_lists_the_families() -> None:
    with pytest.raises(BuildError) as caught:
        OperatorLibrary("xcupp")
    assert str(caught.value) == (
        "There is no device family 'xcupp'.\n"
        "help: did you mean 'xcup'? known families: xcup, xc7, ecp5, ice40, "
        "ice40_hx8k, gowin, gowin_gw1n9, gatemate, generic."
    )


@pytest.mark.parametrize("clock", [0.0, -5.0, float("nan")])
def test_clock_must_be_positive(clock: float) -> None:
    with pytest.raises(BuildError) as caught:
        OperatorLibrary("xcup", clock)
    assert str(caught.value) == (
        f"The clock must be a positive number of megahertz, not {clock}.\nhelp: 200 is the default."
    )


@pytest.mark.parametrize("predicate", ["sbt", "olt", 10, "xx"])
def test_unknown_predicate_is_refused(predicate: str | int) -> None:
    with pytest.raises(UnsupportedOpError, match="predicate"):
        OperatorLibrary().find("arith.cmpi", ("i8", "i8"), "i1", {"predicate": predicate})


def test_comparison_without_predicate_is_refused() -> None:
    for kind in ("i8", "f32"):
        op = "arith.cmpi" if kind == "i8" else "arith.cmpf"
        with pytest.raises(UnsupportedOpError, match="predicate"):
            OperatorLibrary().find(op, (kind, kind), "i1")


def test_compiler_passes_the_extension_of_operands_on() -> None:
    text = """
    func.func @k(%A: memref<8xi8>, %C: memref<8xi32>)
        attributes {arg_names = ["A", "C"], arg_types = ["i8", "i32"], itypes = "ss", otypes = "",
                    res_types = []} {
      affine.for %i = 0 to 8 {
        %a = affine.load %A[%i] {from = "A"} : memref<8xi8>
        %w = arith.extsi %a : i8 to i32
        %p = arith.muli %w, %w : i32
        affine.store %p, %C[%i] {to = "C"} : memref<8xi32>
      } {loop_name = "i", op_name = "S_i_0", pipeline_ii = 1 : ui32}
      return
    }"""
    hardware = compile_design(text, "k").hw_text
    assert re.search(r"comb\.mul .* : i16", hardware)
    assert not re.search(r"comb\.mul .* : i(17|2.|3.)", hardware)


@pytest.mark.parametrize("text", ["rtl", "native"])
@pytest.mark.parametrize("extended", [None, (("s", 33), ("u", 18)), (("u", 35), ("s", 20))])
@pytest.mark.parametrize("width", [32, 54, 64])
def test_products_as_units(width: int, extended: tuple | None, text: str) -> None:
    """A product in registers is the same cut for a device and as one operation."""
    if width == 32:
        extended = None
    kind, full = f"i{width}", (1 << width) - 1
    attributes = {"extended": extended} if extended else {}
    operator = OperatorLibrary(clock_mhz=400.0).find("arith.muli", (kind, kind), kind, attributes)
    rng = random.Random(width)
    columns = []
    for letter, bits in extended or (("u", width), ("u", width)):
        numbers = [rng.getrandbits(bits) for _ in range(4000)] + [0, 1, (1 << bits) - 1]
        low = 1 << (bits - 1)
        columns.append([(n ^ low) - low if letter == "s" else n for n in numbers])
    a, b = (np.array([n & full for n in column], dtype=np.uint64) for column in columns)
    expected = [x * y & full for x, y in zip(*columns, strict=True)]
    assert operator.latency
    np.testing.assert_array_equal(
        CompiledUnit(operator, text)(a, b), np.array(expected, dtype=np.uint64)
    )


def test_libraries_share_operators_until_a_builder_is_registered() -> None:
    """One process draws an operator once for a device and clock; a new builder is asked first."""
    asked: list[str] = []

    def builder(name: str) -> Builder:
        def build(request: Request) -> Operator:
            asked.append(name)
            return combinational(request, Drawing(name, lambda a, b: a ^ b))

        return build

    def found(clock: float = 200.0) -> str:
        return OperatorLibrary("xcup", clock).find("test.shared", ("i8", "i8"), "i8").name

    register_operator("test.shared", builder("old"))
    assert [found(), found(), found(100.0), found()] == ["old"] * 4
    assert asked == ["old", "old"]
    register_operator("test.shared", builder("new"))
    assert [found(), found()] == ["new"] * 2
    assert asked == ["old", "old", "new"]
