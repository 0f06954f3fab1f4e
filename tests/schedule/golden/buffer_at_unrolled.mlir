module {
  func.func @gemm(%arg0: memref<32x32xf32>, %arg1: memref<32x32xf32>) -> memref<32x32xf32> attributes {arg_names = ["A", "B"], arg_types = ["f32", "f32"], itypes = "__", otypes = "_", res_types = ["f32"]} {
    %alloc = memref.alloc() {name = "C"} : memref<32x32xf32>
    %cst = arith.constant 0.000000e+00 : f32
    affine.for %arg2 = 0 to 32 {
      %alloc_0 = memref.alloc() {name = "C_row"} : memref<32xf32>
      affine.for %arg3 = 0 to 4 {
        affine.for %arg4 = 0 to 8 {
          %cst_1 = arith.constant 0.000000e+00 : f32
          affine.store %cst_1, %alloc_0[%arg3 * 8 + %arg4] {to = "C_row"} : memref<32xf32>
        } {loop_name = "j_init.inner", unroll = 0 : i32}
      } {loop_name = "j_init", pipeline_ii = 1 : ui32}
      affine.for %arg3 = 0 to 32 {
        affine.for %arg4 = 0 to 4 {
          affine.for %arg5 = 0 to 8 {
            %0 = affine.load %arg0[%arg2, %arg3] {from = "A"} : memref<32x32xf32>
            %1 = affine.load %arg1[%arg3, %arg4 * 8 + %arg5] {from = "B"} : memref<32x32xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = affine.load %alloc_0[%arg4 * 8 + %arg5] {from = "C_row"} : memref<32xf32>
            %4 = arith.addf %3, %2 : f32
            affine.store %4, %alloc_0[%arg4 * 8 + %arg5] {to = "C_row"} : memref<32xf32>
          } {loop_name = "j.inner", unroll = 0 : i32}
        } {loop_name = "j.outer"}
      } {loop_name = "k"}
      affine.for %arg3 = 0 to 4 {
        affine.for %arg4 = 0 to 8 {
          %0 = affine.load %alloc_0[%arg3 * 8 + %arg4] {from = "C_row"} : memref<32xf32>
          affine.store %0, %alloc[%arg2, %arg3 * 8 + %arg4] {to = "C"} : memref<32x32xf32>
        } {loop_name = "j_back.inner", unroll = 0 : i32}
      } {loop_name = "j_back", pipeline_ii = 1 : ui32}
    } {loop_name = "i", op_name = "S_i_j_k_0"}
    return %alloc : memref<32x32xf32>
  }
}
