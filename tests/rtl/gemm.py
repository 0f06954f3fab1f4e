"""A scheduled gemm in core IR, any size, as the schedule would write it."""

from __future__ import annotations


def gemm_text(rows: int, columns: int, depth: int, lanes: int, *, partition: bool = True) -> str:
    """C = 1.25 C_in + 1.5 A B with a row buffer, the row unrolled by ``lanes`` and pipelined."""
    outer = -(-columns // lanes)
    matrix = f", affine_map<(d0, d1) -> (0, d1 mod {lanes}, d0, d1 floordiv {lanes})>"
    vector = f", affine_map<(d0) -> (d0 mod {lanes}, d0 floordiv {lanes})>"
    if not partition:
        matrix = vector = ""
    a, b = f"memref<{rows}x{depth}xf32>", f"memref<{depth}x{columns}xf32{matrix}>"
    c, row = f"memref<{rows}x{columns}xf32{matrix}>", f"memref<{columns}xf32{vector}>"
    lane = (
        f"affine.for %ji = 0 to min affine_map<(d0) -> ({lanes}, {columns} - d0 * {lanes})>(%jo) {{"
    )
    j = f"%jo * {lanes} + %ji"
    return f"""
module {{
  func.func @gemm(%A: {a}, %B: {b}, %Cin: {c}) -> {c} attributes {{arg_names = ["A", "B", "C_in"],
      arg_types = ["f32", "f32", "f32"], itypes = "___", otypes = "_", res_types = ["f32"]}} {{
    %alpha = arith.constant 1.5 : f32
    %beta = arith.constant 1.25 : f32
    %C = memref.alloc() {{name = "C"}} : {c} loc("gemm.py":3:5)
    affine.for %i = 0 to {rows} {{
      %row = memref.alloc() {{name = "C_row"}} : {row} loc("gemm.py":3:5)
      affine.for %jo = 0 to {outer} {{
        {lane}
          %c = affine.load %Cin[%i, {j}] {{from = "C_in"}} : {c} loc("gemm.py":4:13)
          %cb = arith.mulf %c, %beta : f32 loc("gemm.py":4:13)
          affine.store %cb, %row[{j}] {{to = "C_row"}} : {row} loc("gemm.py":4:5)
        }} {{loop_name = "j_init.inner", unroll = 0 : i32}}
      }} {{loop_name = "j_init", pipeline_ii = 1 : ui32}} loc("gemm.py":4:5)
      affine.for %k = 0 to {depth} {{
        affine.for %jo = 0 to {outer} {{
          {lane}
            %a = affine.load %A[%i, %k] {{from = "A"}} : {a} loc("gemm.py":5:20)
            %aa = arith.mulf %alpha, %a : f32 loc("gemm.py":5:20)
            %b = affine.load %B[%k, {j}] {{from = "B"}} : {b} loc("gemm.py":5:30)
            %p = arith.mulf %aa, %b : f32 loc("gemm.py":5:25)
            %c = affine.load %row[{j}] {{from = "C_row"}} : {row} loc("gemm.py":5:9)
            %s = arith.addf %c, %p : f32 loc("gemm.py":5:9)
            affine.store %s, %row[{j}] {{to = "C_row"}} : {row} loc("gemm.py":5:9)
          }} {{loop_name = "j.inner", unroll = 0 : i32}}
        }} {{loop_name = "j.outer", pipeline_ii = 1 : ui32}} loc("gemm.py":5:5)
      }} {{loop_name = "k"}} loc("gemm.py":5:5)
      affine.for %jo = 0 to {outer} {{
        {lane}
          %c = affine.load %row[{j}] {{from = "C_row"}} : {row} loc("gemm.py":6:9)
          affine.store %c, %C[%i, {j}] {{to = "C"}} : {c} loc("gemm.py":6:9)
        }} {{loop_name = "j_back.inner", unroll = 0 : i32}}
      }} {{loop_name = "j_back", pipeline_ii = 1 : ui32}} loc("gemm.py":6:5)
    }} {{loop_name = "i", op_name = "S_i_j_k_0"}} loc("gemm.py":4:5)
    return %C : {c}
  }}
}}"""
