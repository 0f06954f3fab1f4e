"""Every integer operation at many widths against Python's integers, undefined operands included."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.dialects.boundary.storage import decode, encode
from allo.dialects.types import parse_type

from .kernels import elementwise

WIDTHS = (1, 2, 3, 7, 8, 9, 16, 24, 32, 33, 63, 64, 65, 100, 128, 129, 200, 256, 511, 512)
COUNT = 200

Binary = Callable[[int, int, int], int]


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - ((value >> (bits - 1)) << bits)


def quotient(a: int, b: int) -> int:
    """Toward zero; by zero all ones."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * quotient(a, b)


def by_value(f: Callable[[int, int], int]) -> Binary:
    """A model on signed values."""
    return lambda a, b, w: f(signed(a, w), signed(b, w))


def by_bits(f: Callable[[int, int], int]) -> Binary:
    return lambda a, b, w: f(a, b)


MODELS: dict[str, Binary] = {
    "addi": by_bits(lambda a, b: a + b),
    "subi": by_bits(lambda a, b: a - b),
    "muli": by_bits(lambda a, b: a * b),
    "andi": by_bits(lambda a, b: a & b),
    "ori": by_bits(lambda a, b: a | b),
    "xori": by_bits(lambda a, b: a ^ b),
    "divui": by_bits(quotient),
    "remui": by_bits(remainder),
    "divsi": by_value(quotient),
    "remsi": by_value(remainder),
    "floordivsi": by_value(lambda a, b: -1 if b == 0 else a // b),
    "ceildivsi": by_value(lambda a, b: -1 if b == 0 else -(-a // b)),
    "ceildivui": by_bits(lambda a, b: -1 if b == 0 else -(-a // b)),
    "minsi": by_value(min),
    "maxsi": by_value(max),
    "minui": by_bits(min),
    "maxui": by_bits(max),
    "shli": lambda a, b, w: a << b if b < w else 0,
    "shrui": lambda a, b, w: a >> b if b < w else 0,
    "shrsi": lambda a, b, w: signed(a, w) >> min(b, w - 1),
}
COMPARISONS: dict[str, Binary] = {
    "eq": by_bits(lambda a, b: a == b),
    "slt": by_value(lambda a, b: a < b),
    "sge": by_value(lambda a, b: a >= b),
    "ult": by_bits(lambda a, b: a < b),
    "ugt": by_bits(lambda a, b: a > b),
}


def operands(bits: int, seed: int) -> tuple[list[int], list[int]]:
    rng = random.Random(seed)
    top = 1 << bits
    edges = sorted({v % top for v in (0, 1, 2, -1, -2, top // 2, top // 2 - 1, bits, bits - 1)})
    pairs = [(a, b) for a in edges for b in edges]
    while len(pairs) < COUNT:
        a = rng.getrandbits(bits)
        b = rng.choice((rng.getrandbits(bits), rng.getrandbits(rng.randint(1, bits))))
        pairs.append((a, b))
    pairs = pairs[:COUNT]
    return [a for a, _ in pairs], [b for _, b in pairs]


def cells(values: list[int], declared: str) -> np.ndarray:
    dtype = parse_type(declared)
    return decode(encode(np.array(values, object), dtype), dtype)


@pytest.mark.parametrize("bits", WIDTHS)
def test_every_operation_equals_big_integers(bits: int):
    declared = f"ui{bits}"
    outputs = {op: (declared, f"%{op} = arith.{op} %a, %b : i{bits}") for op in MODELS}
    outputs |= {
        f"c_{p}": ("ui1", f"%c_{p} = arith.cmpi {p}, %a, %b : i{bits}") for p in COMPARISONS
    }
    a, b = operands(bits, bits)
    module = LLVMModule(elementwise({"a": declared, "b": declared}, outputs, COUNT), "f")
    results = {name: cells([0] * COUNT, spec[0]) for name, spec in outputs.items()}
    module(cells(a, declared), cells(b, declared), *results.values())
    for name, got in results.items():
        model = MODELS.get(name) or COMPARISONS[name[2:]]
        width = bits if name in MODELS else 1
        want = [int(model(x, y, bits)) & ((1 << width) - 1) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(got, cells(want, outputs[name][0]), err_msg=f"{name} i{bits}")


@pytest.mark.parametrize("bits", WIDTHS)
def test_signed_results_come_back_signed(bits: int):
    declared = f"i{bits}"
    values, _ = operands(bits, 3 * bits)
    outputs = {"n": (declared, f"%n = arith.subi %z, %a : i{bits}")}
    module = LLVMModule(elementwise({"a": declared, "z": declared}, outputs, COUNT), "f")
    result = cells([0] * COUNT, declared)
    module(cells(values, declared), cells([0] * COUNT, declared), result)
    np.testing.assert_array_equal(result, cells([signed(-v, bits) for v in values], declared))


@pytest.mark.parametrize(("narrow", "wide"), [(1, 7), (7, 9), (8, 65), (33, 200), (64, 512)])
def test_width_changes(narrow: int, wide: int):
    n, w = f"i{narrow}", f"i{wide}"
    outputs = {
        "s": (f"ui{wide}", f"%s = arith.extsi %a : {n} to {w}"),
        "u": (f"ui{wide}", f"%u = arith.extui %a : {n} to {w}"),
        "t": (f"ui{narrow}", f"%t = arith.trunci %b : {w} to {n}"),
    }
    a, b = operands(narrow, 1)[0], operands(wide, 2)[0]
    module = LLVMModule(elementwise({"a": f"ui{narrow}", "b": f"ui{wide}"}, outputs, COUNT), "f")
    results = {k: cells([0] * COUNT, spec[0]) for k, spec in outputs.items()}
    module(cells(a, f"ui{narrow}"), cells(b, f"ui{wide}"), *results.values())
    np.testing.assert_array_equal(results["s"], cells([signed(v, narrow) for v in a], f"ui{wide}"))
    np.testing.assert_array_equal(results["u"], cells(a, f"ui{wide}"))
    np.testing.assert_array_equal(results["t"], cells(b, f"ui{narrow}"))


def test_division_by_a_constant_keeps_its_plain_form():
    code = "%c3 = arith.constant 3 : i32\n%q = arith.divsi %a, %c3 : i32"
    module = LLVMModule(elementwise({"a": "i32"}, {"q": ("i32", code)}, 8), "f")
    assert "select" not in str(module.intermediate_module)
    a = np.array([-7, 7, 0, -1, 2**31 - 1, -(2**31), 3, -3], np.int32)
    q = np.zeros(8, np.int32)
    module(a, q)
    np.testing.assert_array_equal(q, [quotient(int(v), 3) for v in a])


WIDE_LOCALS = """
func.func @f(%a: memref<200xi130>) attributes {{arg_names = ["a"], arg_types = ["{name}"],
    itypes = "s", otypes = "", res_types = []}} {{
  %first = memref.alloc() {{name = "first"}} : memref<200x{kind}>
  %second = memref.alloc() {{name = "second"}} : memref<200x{kind}>
  affine.for %i = 0 to 200 {{
    %v = affine.load %a[%i] : memref<200x{kind}>
    affine.store %v, %second[%i] : memref<200x{kind}>
  }}
  affine.for %i = 0 to 200 {{
    %v = affine.load %a[199 - %i] : memref<200x{kind}>
    affine.store %v, %first[%i] : memref<200x{kind}>
  }}
  affine.for %i = 0 to 200 {{
    %v = affine.load %first[%i] : memref<200x{kind}>
    %w = affine.load %second[%i] : memref<200x{kind}>
    %s = arith.addi %v, %w : {kind}
    affine.store %s, %a[%i] : memref<200x{kind}>
  }}
  return
}}"""


@pytest.mark.parametrize("bits", (70, 128, 129, 130, 250, 260))
def test_wide_arrays_on_the_heap_have_room_for_their_cells(bits: int):
    """LLVM folded their size before it knew how far apart the elements lie."""
    text = WIDE_LOCALS.replace("i130", "{kind}").format(name=f"i{bits}", kind=f"i{bits}")
    module = LLVMModule(text, "f", opt_level=0)
    values = [(k * 0x9E3779B97F4A7C15F39CC0605CEDC835) % (1 << bits - 2) for k in range(200)]
    a = np.array(values, object)
    module(a)
    assert a.tolist() == [values[k] + values[199 - k] for k in range(200)]


GLOBAL = """
memref.global "private" @kept : memref<5x{kind}> = dense<0>
func.func @f(%a: memref<5x{kind}>) attributes {{arg_names = ["a"], arg_types = ["{kind}"],
    itypes = "s", otypes = "", res_types = []}} {{
  %g = memref.get_global @kept : memref<5x{kind}>
  affine.for %i = 0 to 5 {{
    %v = affine.load %a[%i] : memref<5x{kind}>
    affine.store %v, %g[%i] : memref<5x{kind}>
  }}
  %x = affine.load %g[1] : memref<5x{kind}>
  %y = affine.load %g[3] : memref<5x{kind}>
  affine.store %x, %a[3] : memref<5x{kind}>
  affine.store %y, %a[1] : memref<5x{kind}>
  return
}}"""


@pytest.mark.parametrize("bits", (33, 65, 100, 129, 200))
def test_elements_of_wide_globals_lie_where_loops_and_constants_find_them(bits: int):
    """LLVM folded the address of ``g[1]`` with an element size of its own."""
    module = LLVMModule(GLOBAL.format(kind=f"i{bits}"), "f", opt_level=0)
    a = np.array([11, -7, 5, (1 << bits - 1) - 1, 4], object)
    module(a)
    assert a.tolist() == [11, (1 << bits - 1) - 1, 5, -7, 4]
