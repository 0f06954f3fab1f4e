"""The published passes: input and output buffers, argument access, pipelining."""

from __future__ import annotations

import allo.passes
from allo.dialects._mlir import ir, make_context

from .harness import function, module

ADD = module(
    function(
        "matrix_add",
        "%a: memref<4x4xf32>",
        """
    %b = memref.alloc() {name = "B"} : memref<4x4xf32>
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 4 {
        %v = affine.load %a[%i, %j] : memref<4x4xf32>
        %w = arith.addf %v, %v : f32
        affine.store %w, %b[%i, %j] : memref<4x4xf32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return %b : memref<4x4xf32>""",
        ["f32"],
        "-> memref<4x4xf32>",
        ["f32"],
    )
)
ACCESS = module(
    function(
        "inner",
        "%x: memref<4xi32>,%y: memref<4xi32>",
        "memref.copy %x, %y : memref<4xi32> to memref<4xi32>\nreturn",
        ["i32", "i32"],
    ),
    function(
        "top",
        "%p: memref<4xi32>,%q: memref<4xi32>,%r: memref<4xi32>,%n: index",
        """
    %v = memref.load %r[%n] : memref<4xi32>
    affine.store %v, %r[0] : memref<4xi32>
    call @inner(%p, %q) : (memref<4xi32>, memref<4xi32>) -> ()
    return""",
        ["i32", "i32", "i32", "index"],
    ),
)


def test_flat_buffers():
    parsed = ir.Module.parse(ADD, make_context())
    allo.passes.generate_input_output_buffers(parsed, "matrix_add", flatten=True)
    assert parsed.operation.verify()
    text = str(parsed)
    for line in (
        "func.func @matrix_add(%arg0: memref<16xf32>) -> memref<16xf32>",
        "func.func @load_buf0(%arg0: memref<16xf32>, %arg1: memref<4x4xf32>)",
        "func.func @store_res1(%arg0: memref<4x4xf32>, %arg1: memref<16xf32>)",
        '%alloc = memref.alloc() {name = "buf0"} : memref<4x4xf32>',
        "call @load_buf0(%arg0, %alloc) : (memref<16xf32>, memref<4x4xf32>) -> ()",
        '%alloc_0 = memref.alloc() {name = "res1"} : memref<16xf32>',
        "call @store_res1(%alloc_1, %alloc_0) : (memref<4x4xf32>, memref<16xf32>) -> ()",
        "return %alloc_0 : memref<16xf32>",
    ):
        assert line in text


def test_buffers_of_the_same_shape():
    parsed = ir.Module.parse(ADD, make_context())
    allo.passes.generate_input_output_buffers(parsed, "matrix_add")
    text = str(parsed)
    assert "func.func @load_buf0(%arg0: memref<4x4xf32>, %arg1: memref<4x4xf32>)" in text
    assert '%alloc_0 = memref.alloc() {name = "res1"} : memref<4x4xf32>' in text


def test_argument_access_follows_calls():
    parsed = ir.Module.parse(ACCESS, make_context())
    assert allo.passes.analyze_arg_load_store(parsed) == {
        "inner": ["in", "out"],
        "top": ["in", "out", "both", "in"],
    }
    top = parsed.body.operations[1]
    assert allo.passes.analyze_arg_load_store_in_func(top) == ["in", "out", "both", "in"]


def test_innermost_loops_are_pipelined():
    parsed = ir.Module.parse(ADD, make_context())
    allo.passes.df_pipeline(parsed, initiation_interval=2, rewind=True)
    assert '{loop_name = "j", pipeline_ii = 2 : ui32, rewind}' in str(parsed)
    assert str(parsed).count("pipeline_ii") == 1
