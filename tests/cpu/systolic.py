"""Writes the core IR of a systolic int8 matrix product of any size.

``tests/data/dataflow_systolic_i8.mlir`` is the 8×8 one.
"""

from __future__ import annotations

from .kernels import attributes


def systolic_text(rows: int, cols: int, depth_k: int, fifo_depth: int = 2) -> str:
    """A region ``top(A: int8[rows, k], B: int8[k, cols], C: int32[rows, cols])``.

    Row i of A enters at the left of row i of the grid, column j of B at the top of column j; each
    of the rows·cols processing elements keeps one element of C; drains take what leaves the grid.
    """
    k = depth_k
    a, b, c = f"memref<{rows}x{k}xi8>", f"memref<{k}x{cols}xi8>", f"memref<{rows}x{cols}xi32>"
    stream = f"stream<i8, {fifo_depth}>"
    feed_a = attributes(["a", "row", "out"], ["i8", "index", stream], [])
    feed_b = attributes(["b", "col", "out"], ["i8", "index", stream], [])
    element = attributes(
        ["c", "i", "j", "a_in", "a_out", "b_in", "b_out"],
        ["i32", "index", "index", stream, stream, stream, stream],
        [],
    )
    drain = attributes(["end"], [stream], [])
    top = attributes(["A", "B", "C"], ["i8", "i8", "i32"], [])
    return f"""module {{
  func.func @feed_a(%a: {a}, %row: index, %out: index) attributes {{{feed_a}}} {{
    affine.for %k = 0 to {k} {{
      %v = memref.load %a[%row, %k] {{from = "a"}} : {a}
      "allo.put"(%out, %v) : (index, i8) -> () loc("systolic.py":10:13 to :30)
    }} {{loop_name = "k", op_name = "S_k_0"}}
    return
  }}
  func.func @feed_b(%b: {b}, %col: index, %out: index) attributes {{{feed_b}}} {{
    affine.for %k = 0 to {k} {{
      %v = memref.load %b[%k, %col] {{from = "b"}} : {b}
      "allo.put"(%out, %v) : (index, i8) -> () loc("systolic.py":16:13 to :30)
    }} {{loop_name = "k", op_name = "S_k_0"}}
    return
  }}
  func.func @pe(%c: {c}, %i: index, %j: index, %a_in: index, %a_out: index, %b_in: index, %b_out: index)
      attributes {{{element}}} {{
    %acc = memref.alloc() {{name = "acc"}} : memref<i32>
    %zero = arith.constant 0 : i32
    affine.store %zero, %acc[] {{to = "acc"}} : memref<i32>
    affine.for %k = 0 to {k} {{
      %a = "allo.get"(%a_in) : (index) -> i8 loc("systolic.py":24:21 to :36)
      %b = "allo.get"(%b_in) : (index) -> i8 loc("systolic.py":25:21 to :36)
      %ea = arith.extsi %a : i8 to i16
      %eb = arith.extsi %b : i8 to i16
      %p = arith.muli %ea, %eb : i16
      %w = arith.extsi %p : i16 to i32
      %s = affine.load %acc[] {{from = "acc"}} : memref<i32>
      %t = arith.addi %s, %w : i32
      affine.store %t, %acc[] {{to = "acc"}} : memref<i32>
      "allo.put"(%a_out, %a) : (index, i8) -> () loc("systolic.py":27:13 to :35)
      "allo.put"(%b_out, %b) : (index, i8) -> () loc("systolic.py":28:13 to :35)
    }} {{loop_name = "k", op_name = "S_k_0", pipeline_ii = 1 : ui32}}
    %r = affine.load %acc[] {{from = "acc"}} : memref<i32>
    memref.store %r, %c[%i, %j] {{to = "c"}} : {c}
    return
  }}
  func.func @drain(%end: index) attributes {{{drain}}} {{
    affine.for %k = 0 to {k} {{
      %v = "allo.get"(%end) : (index) -> i8 loc("systolic.py":33:13 to :28)
    }} {{loop_name = "k", op_name = "S_k_0"}}
    return
  }}
  func.func @top(%A: {a}, %B: {b}, %C: {c}) attributes {{dataflow, region, {top}}} {{
{_body(rows, cols, fifo_depth, a, b, c)}
    return
  }}
}}
"""


def _body(rows: int, cols: int, depth: int, a: str, b: str, c: str) -> str:
    lines = [f"%n{i} = arith.constant {i} : index" for i in range(max(rows, cols))]
    for name, height, width in (("fa", rows, cols + 1), ("fb", rows + 1, cols)):
        for i in range(height):
            for j in range(width):
                settings = f'name = "{name}_{i}_{j}", dtype = "i8", depth = {depth} : i32'
                lines.append(f'%{name}_{i}_{j} = "allo.stream"() {{{settings}}} : () -> index')
    for i in range(rows):
        lines.append(f"call @feed_a(%A, %n{i}, %fa_{i}_0) : ({a}, index, index) -> ()")
        lines.append(f"call @drain(%fa_{i}_{cols}) : (index) -> ()")
    for j in range(cols):
        lines.append(f"call @feed_b(%B, %n{j}, %fb_0_{j}) : ({b}, index, index) -> ()")
        lines.append(f"call @drain(%fb_{rows}_{j}) : (index) -> ()")
    for i in range(rows):
        for j in range(cols):
            streams = f"%fa_{i}_{j}, %fa_{i}_{j + 1}, %fb_{i}_{j}, %fb_{i + 1}_{j}"
            lines.append(
                f"call @pe(%C, %n{i}, %n{j}, {streams}) "
                f": ({c}, index, index, index, index, index, index) -> ()"
            )
    return "\n".join(f"    {line}" for line in lines)
