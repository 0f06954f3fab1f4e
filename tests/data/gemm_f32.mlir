// The core IR of a scheduled gemm: j split by 8, k and j.outer reordered, C buffered in a row,
// main loop pipelined, j.inner unrolled, B, C and the row partitioned by 8.
#cyc = affine_map<(d0, d1) -> (0, d1 mod 8, d0, d1 floordiv 8)>
#row = affine_map<(d0) -> (d0 mod 8, d0 floordiv 8)>
module {
  func.func @gemm(%A: memref<6x10xf32>, %B: memref<10x16xf32, #cyc>) -> memref<6x16xf32, #cyc> attributes {arg_names = ["A", "B"], arg_types = ["f32", "f32"], itypes = "__", otypes = "_", res_types = ["f32"]} {
    %C = memref.alloc() {name = "C"} : memref<6x16xf32, #cyc> loc("gemm.py":3:5 to :20)
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%C : memref<6x16xf32, #cyc>) loc("gemm.py":3:5 to :20)
    affine.for %i = 0 to 6 {
      %row = memref.alloc() {name = "C_row"} : memref<16xf32, #row> loc("gemm.py":3:5 to :20)
      affine.for %jo = 0 to 2 {
        affine.for %ji = 0 to 8 {
          affine.store %zero, %row[%jo * 8 + %ji] {to = "C_row"} : memref<16xf32, #row>
        } {loop_name = "j_init.inner", unroll = 0 : i32}
      } {loop_name = "j_init", pipeline_ii = 1 : ui32} loc("gemm.py":4:5 to :30)
      affine.for %k = 0 to 10 {
        affine.for %jo = 0 to 2 {
          affine.for %ji = 0 to 8 {
            %a = affine.load %A[%i, %k] {from = "A"} : memref<6x10xf32> loc("gemm.py":5:20 to :27)
            %b = affine.load %B[%k, %jo * 8 + %ji] {from = "B"} : memref<10x16xf32, #cyc> loc("gemm.py":5:30 to :37)
            %p = arith.mulf %a, %b : f32 loc("gemm.py":5:20 to :37)
            %c = affine.load %row[%jo * 8 + %ji] {from = "C_row"} : memref<16xf32, #row> loc("gemm.py":5:9 to :16)
            %s = arith.addf %c, %p : f32 loc("gemm.py":5:9 to :37)
            affine.store %s, %row[%jo * 8 + %ji] {to = "C_row"} : memref<16xf32, #row> loc("gemm.py":5:9 to :37)
          } {loop_name = "j.inner", unroll = 0 : i32}
        } {loop_name = "j.outer", pipeline_ii = 1 : ui32} loc("gemm.py":4:5 to :30)
      } {loop_name = "k", reduction} loc("gemm.py":4:5 to :30)
      affine.for %jo = 0 to 2 {
        affine.for %ji = 0 to 8 {
          %c = affine.load %row[%jo * 8 + %ji] {from = "C_row"} : memref<16xf32, #row>
          affine.store %c, %C[%i, %jo * 8 + %ji] {to = "C"} : memref<6x16xf32, #cyc>
        } {loop_name = "j_back.inner", unroll = 0 : i32}
      } {loop_name = "j_back", pipeline_ii = 1 : ui32} loc("gemm.py":4:5 to :30)
    } {loop_name = "i", op_name = "S_i_j_k_0"} loc("gemm.py":4:5 to :30)
    return %C : memref<6x16xf32, #cyc>
  }
}
