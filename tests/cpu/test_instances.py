"""Kernel instances that differ only in constants are compiled once."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.backend.cpu.lowering.llvm import FAMILY
from allo.dialects.diagnostics import DeadlockError

from .kernels import attributes


def family(count: int, *, broken: int | None = None) -> str:
    """``top(A, B)``: kernel i puts A[i]·(i+3) + 0.5·i through FIFO i; sink i stores it at B[i, 1].

    Kernel ``broken`` puts nothing, and so is of another shape than the others.
    """
    a, b = f"memref<{count}xf32>", f"memref<{count}x2xf32>"
    parts, body = [], []
    source = attributes(["a", "p"], ["f32", "stream<f32, 1>"], [])
    sink = attributes(["b", "p"], ["f32", "stream<f32, 1>"], [])
    for i in range(count):
        put = "" if i == broken else '"allo.put"(%p, %z) : (index, f32) -> () loc("family.py":5:9)'
        parts.append(f"""
  func.func @scale_{i}(%a: {a}, %p: index) attributes {{{source}}} {{
    %v = affine.load %a[{i}] {{from = "a"}} : {a}
    %k = arith.constant {i + 3}.0 : f32
    %h = arith.constant {0.5 * i} : f32
    %w = arith.mulf %v, %k : f32
    %z = arith.addf %w, %h : f32
    {put}
    return
  }}
  func.func @sink_{i}(%b: {b}, %p: index) attributes {{{sink}}} {{
    %v = "allo.get"(%p) : (index) -> f32 loc("family.py":9:16)
    affine.store %v, %b[{i}, 1] {{to = "b"}} : {b}
    return
  }}""")
        settings = f'name = "s_{i}", dtype = "f32", depth = 1 : i32'
        body.append(f'%s{i} = "allo.stream"() {{{settings}}} : () -> index')
        body.append(f"call @scale_{i}(%A, %s{i}) : ({a}, index) -> ()")
        body.append(f"call @sink_{i}(%B, %s{i}) : ({b}, index) -> ()")
    lines = "\n    ".join(body)
    top = attributes(["A", "B"], ["f32", "f32"], [])
    return f"""module {{{"".join(parts)}
  func.func @top(%A: {a}, %B: {b}) attributes {{dataflow, region, {top}}} {{
    {lines}
    return
  }}
}}"""


def kernels_in(module: LLVMModule) -> int:
    text = str(module.intermediate_module)
    return text.count("func.func @scale_") + text.count("func.func @sink_")


@pytest.mark.parametrize(("count", "kept"), [(FAMILY - 1, 2 * (FAMILY - 1)), (FAMILY, 2), (40, 2)])
def test_a_family_becomes_one_function_each(count: int, kept: int):
    module = LLVMModule(family(count), "top")
    assert kernels_in(module) == kept
    a = np.random.default_rng(count).standard_normal(count, dtype=np.float32)
    b = np.zeros((count, 2), np.float32)
    module(a, b)
    i = np.arange(count, dtype=np.float32)
    np.testing.assert_array_equal(b[:, 1], a * (i + 3) + np.float32(0.5) * i)
    np.testing.assert_array_equal(b[:, 0], 0)


def test_a_merged_instance_keeps_its_name_in_messages():
    module = LLVMModule(family(20, broken=13), "top")
    assert kernels_in(module) == 3
    with pytest.raises(DeadlockError) as caught:
        module(np.zeros(20, np.float32), np.zeros((20, 2), np.float32))
    assert [note[0] for note in caught.value.notes] == [
        "sink_13 waits to get from FIFO s_13 (0 of 1 filled); it has no writer."
    ]


def test_functions_called_in_a_plain_kernel_are_merged_too():
    calls, parts = [], []
    given = attributes(["x"], ["i32"], ["i32"])
    for i in range(12):
        parts.append(f"""func.func @h_{i}(%x: i32) -> i32 attributes {{{given}}} {{
          %c = arith.constant {i * i - 5} : i32
          %s = arith.constant 2 : i32
          %y = arith.muli %x, %c : i32
          %z = arith.addi %y, %s : i32
          return %z : i32
        }}""")
        calls.append(f"%r{i} = call @h_{i}(%x) : (i32) -> i32")
        calls.append(f"affine.store %r{i}, %b[{i}] : memref<12xi32>")
    lines = "\n".join(calls)
    text = (
        "\n".join(parts)
        + f"""
    func.func @top(%x: i32, %b: memref<12xi32>) attributes {{{attributes(["x", "b"], ["i32", "i32"], [])}}} {{
      {lines}
      return
    }}"""
    )
    module = LLVMModule(text, "top")
    assert str(module.intermediate_module).count("func.func @h_") == 1
    b = np.zeros(12, np.int32)
    module(7, b)
    np.testing.assert_array_equal(b, [7 * (i * i - 5) + 2 for i in range(12)])


def test_instances_that_read_different_tables_stay_apart():
    calls, parts = [], []
    given = attributes(["b"], ["i32"], [])
    for i in range(FAMILY):
        values = [10 * i, 10 * i + 1, 10 * i + 2, 7]
        parts.append(f"""
        memref.global "private" constant @w_{i} : memref<4xi32> = dense<{values}>
        func.func @h_{i}(%b: memref<{FAMILY}x4xi32>) attributes {{{given}}} {{
          %w = memref.get_global @w_{i} : memref<4xi32>
          affine.for %k = 0 to 4 {{
            %v = affine.load %w[%k] : memref<4xi32>
            affine.store %v, %b[{i}, %k] : memref<{FAMILY}x4xi32>
          }}
          return
        }}""")
        calls.append(f"call @h_{i}(%b) : (memref<{FAMILY}x4xi32>) -> ()")
    lines = "\n".join(calls)
    parts.append(f"""
    func.func @top(%b: memref<{FAMILY}x4xi32>) attributes {{{given}}} {{
      {lines}
      return
    }}""")
    b = np.zeros((FAMILY, 4), np.int32)
    LLVMModule("\n".join(parts), "top")(b)
    np.testing.assert_array_equal(b, [[10 * i, 10 * i + 1, 10 * i + 2, 7] for i in range(FAMILY)])
