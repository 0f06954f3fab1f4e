"""Whole kernels: calls, partitioned arrays, views, state, loops; and that they run at compiled speed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule, build
from allo.backend.cpu.lowering.prepare import drop_empty_loops
from allo.dialects.affine.loops import is_loop, walk
from allo.dialects.core.parse import parse_module
from allo.dialects.diagnostics import UnsupportedOpError
from allo.target import BuildRequest

from .kernels import attributes

DATA = Path(__file__).parents[1] / "data"


def test_gemm_with_partitioned_arrays_is_bit_exact():
    module = build(BuildRequest((DATA / "gemm_f32.mlir").read_text(), "gemm", "llvm"))
    rng = np.random.default_rng(1)
    for _ in range(20):
        a = rng.standard_normal((6, 10), dtype=np.float32)
        b = rng.standard_normal((10, 16), dtype=np.float32)
        want = np.zeros((6, 16), np.float32)
        for k in range(10):
            want += a[:, k : k + 1] * b[k : k + 1]
        np.testing.assert_array_equal(module(a, b).view(np.uint32), want.view(np.uint32))


def test_calls_and_scalars():
    module = LLVMModule((DATA / "calls_i8.mlir").read_text(), "top")
    rng = np.random.default_rng(2)
    for n in (0, 1, 127):
        a = rng.integers(-128, 128, (4, 8), dtype=np.int8)
        b = rng.integers(-128, 128, (8, 4), dtype=np.int8)
        d = np.full((4, 4), 99, np.int32)
        total = module(a, b, n, d)
        want = a.astype(np.int32) @ b.astype(np.int32) * n
        np.testing.assert_array_equal(d, want)
        assert total == want.sum()
    assert module.in_types == [("i8", (4, 8)), ("i8", (8, 4)), ("ui7", ()), ("i32", (4, 4))]
    assert module.out_types == [("i32", ())]


def test_a_large_local_array_in_a_loop_lives_on_the_heap():
    text = f"""func.func @f(%x: memref<8xf64>) attributes {{{attributes(["x"], ["f64"], [])}}} {{
      affine.for %i = 0 to 8 {{
        %big = memref.alloc() {{name = "big"}} : memref<100000xf64>
        %v = affine.load %x[%i] : memref<8xf64>
        linalg.fill ins(%v : f64) outs(%big : memref<100000xf64>)
        %last = affine.load %big[99999] : memref<100000xf64>
        %two = arith.addf %last, %v : f64
        affine.store %two, %x[%i] : memref<8xf64>
      }} {{loop_name = "i", op_name = "S_i_0"}}
      return
    }}"""
    module = LLVMModule(text, "f")
    assert "memref.dealloc" in str(module.intermediate_module)
    for _ in range(50):
        x = np.arange(8.0)
        module(x)
        np.testing.assert_array_equal(x, 2 * np.arange(8.0))


def test_a_stateful_variable_keeps_its_value():
    text = f"""module {{
      memref.global "private" @__stateful_f_n_0 : memref<i32> = dense<40>
      func.func @f() -> i32 attributes {{{attributes([], [], ["i32"])}}} {{
        %n = memref.get_global @__stateful_f_n_0 : memref<i32>
        %v = affine.load %n[] : memref<i32>
        %one = arith.constant 1 : i32
        %w = arith.addi %v, %one : i32
        affine.store %w, %n[] : memref<i32>
        return %w : i32
      }}
    }}"""
    module, other = LLVMModule(text, "f"), LLVMModule(text, "f")
    assert [module(), module(), other(), module()] == [41, 42, 41, 43]


def test_views_and_strided_copies():
    view = "memref<3x4xi16, strided<[16, 1], offset: 10>>"
    text = f"""func.func @f(%a: memref<6x8xi16>, %b: memref<3x4xi16>)
        attributes {{{attributes(["a", "b"], ["i16", "i16"], [])}}} {{
      %v = memref.subview %a[1, 2] [3, 4] [2, 1] : memref<6x8xi16> to {view}
      memref.copy %v, %b : {view} to memref<3x4xi16>
      return
    }}"""
    a = np.arange(48, dtype=np.int16).reshape(6, 8)
    b = np.zeros((3, 4), np.int16)
    LLVMModule(text, "f")(a, b)
    np.testing.assert_array_equal(b, a[1:6:2, 2:6])


def test_while_and_data_dependent_loops():
    text = f"""func.func @f(%n: i32) -> i32 attributes {{{attributes(["n"], ["i32"], ["i32"])}}} {{
      %x = memref.alloc() {{name = "x"}} : memref<i32>
      affine.store %n, %x[] : memref<i32>
      %s = memref.alloc() {{name = "s"}} : memref<i32>
      %zero = arith.constant 0 : i32
      affine.store %zero, %s[] : memref<i32>
      scf.while : () -> () {{
        %v = affine.load %x[] : memref<i32>
        %c = arith.cmpi sgt, %v, %zero : i32
        scf.condition(%c)
      }} do {{
        %v = affine.load %x[] : memref<i32>
        %t = affine.load %s[] : memref<i32>
        %u = arith.addi %t, %v : i32
        affine.store %u, %s[] : memref<i32>
        %two = arith.constant 2 : i32
        %w = arith.divsi %v, %two : i32
        affine.store %w, %x[] : memref<i32>
        scf.yield
      }}
      %r = affine.load %s[] : memref<i32>
      return %r : i32
    }}"""
    module = LLVMModule(text, "f")
    for n in (0, 1, 7, 1000, -3):
        want, x = 0, n
        while x > 0:
            want, x = want + x, x // 2
        assert module(n) == want


def test_an_unknown_operation_is_refused_with_its_line():
    text = f"""func.func @f(%n: i32) attributes {{{attributes(["n"], ["i32"], [])}}} {{
      %t = tensor.empty() : tensor<4xi32> loc("user.py":3:5)
      return
    }}"""
    with pytest.raises(
        UnsupportedOpError, match=r"^user\.py:3:5: .*does not support operation tensor\.empty"
    ):
        LLVMModule(text, "f")


def gemm_text(m: int, n: int, k: int) -> str:
    return f"""func.func @gemm(%A: memref<{m}x{k}xf32>, %B: memref<{k}x{n}xf32>, %C: memref<{m}x{n}xf32>)
        attributes {{{attributes(["A", "B", "C"], ["f32"] * 3, [])}}} {{
      affine.for %i = 0 to {m} {{
        affine.for %k = 0 to {k} {{
          affine.for %j = 0 to {n} {{
            %a = affine.load %A[%i, %k] : memref<{m}x{k}xf32>
            %b = affine.load %B[%k, %j] : memref<{k}x{n}xf32>
            %c = affine.load %C[%i, %j] : memref<{m}x{n}xf32>
            %p = arith.mulf %a, %b : f32
            %s = arith.addf %c, %p : f32
            affine.store %s, %C[%i, %j] : memref<{m}x{n}xf32>
          }}
        }}
      }}
      return
    }}"""


def test_a_larger_gemm():
    module = LLVMModule(gemm_text(256, 256, 256), "gemm")
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((256, 256), dtype=np.float32) for _ in range(2))
    c = np.zeros((256, 256), np.float32)
    module(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-3)


def test_partition_streams_and_memory_bindings_do_not_change_the_result():
    text = f"""#cyc = affine_map<(d0) -> (d0 mod 4, d0 floordiv 4)>
    module {{
      func.func @f(%a: memref<16xi32, #cyc, 3>, %b: memref<16xi32>)
          attributes {{dataflow, {attributes(["a", "b"], ["i32", "i32"], [])}}} {{
        %x = memref.alloc() {{name = "x"}} : memref<16xi32, "stream:4">
        affine.for %i = 0 to 16 {{
          %v = affine.load %a[%i] : memref<16xi32, #cyc, 3>
          affine.store %v, %x[%i] : memref<16xi32, "stream:4">
        }} {{loop_name = "i", pipeline_ii = 1 : ui32}}
        affine.for %i = 0 to 16 {{
          %v = affine.load %x[%i] : memref<16xi32, "stream:4">
          affine.store %v, %b[%i] : memref<16xi32>
        }} {{loop_name = "i", unroll = 0 : i32}}
        return
      }}
    }}"""
    a, b = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    LLVMModule(text, "f")(a, b)
    np.testing.assert_array_equal(b, a)


def test_stack_memory_in_a_long_loop_does_not_grow_the_stack():
    text = f"""func.func @f(%n: i32) -> i32 attributes {{{attributes(["n"], ["i32"], ["i32"])}}} {{
      %s = memref.alloc() {{name = "s"}} : memref<i32>
      affine.store %n, %s[] : memref<i32>
      affine.for %i = 0 to 1000000 {{
        %t = memref.alloca() {{name = "t"}} : memref<16xi32>
        %v = affine.load %s[] : memref<i32>
        %k = arith.constant 3 : i32
        %w = arith.muli %v, %k : i32
        %j = arith.remui %i, %c16 : index
        memref.store %w, %t[%j] : memref<16xi32>
        %r = memref.load %t[%j] : memref<16xi32>
        affine.store %r, %s[] : memref<i32>
      }}
      %r = affine.load %s[] : memref<i32>
      return %r : i32
    }}""".replace(
        "affine.for %i = 0 to 1", "%c16 = arith.constant 16 : index\n      affine.for %i = 0 to 1"
    )
    want = pow(3, 1000000, 1 << 32)
    assert LLVMModule(text, "f")(1) == want - ((want >> 31) << 32)


def test_loops_without_an_iteration_are_gone():
    # MLIR finds a minimum over the iterator of an empty loop redundant, and a bound without operands aborts.
    text = f"""func.func @f(%A: memref<4xi32>) attributes {{{attributes(["A"], ["i32"], [])}}} {{
      %c = arith.constant 7 : i32
      affine.for %i = 1 to 1 {{
        affine.for %j = 0 to min affine_map<(d0) -> (2, d0 + 2)>(%i) {{
          affine.store %c, %A[%j] : memref<4xi32>
        }} {{loop_name = "j"}}
      }} {{loop_name = "i"}}
      affine.for %k = 3 to -5 step 2 {{
        affine.store %c, %A[0] : memref<4xi32>
      }} {{loop_name = "k"}}
      affine.for %m = 2 to 3 {{
        affine.store %c, %A[%m] : memref<4xi32>
      }} {{loop_name = "m"}}
      return
    }}"""
    module = parse_module(text)
    drop_empty_loops(module)
    names = [op.attributes["loop_name"].value for op in walk(module.operation) if is_loop(op)]
    assert names == ["m"]
    array = np.zeros(4, np.int32)
    LLVMModule(text, "f")(array)
    assert array.tolist() == [0, 0, 7, 0]
