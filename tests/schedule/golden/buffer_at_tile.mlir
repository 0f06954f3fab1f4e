module {
  func.func @gemm(%arg0: memref<32x32xf32>, %arg1: memref<32x32xf32>) -> memref<32x32xf32> attributes {arg_names = ["A", "B"], arg_types = ["f32", "f32"], itypes = "__", otypes = "_", res_types = ["f32"]} {
    %alloc = memref.alloc() {name = "C"} : memref<32x32xf32>
    %cst = arith.constant 0.000000e+00 : f32
    affine.for %arg2 = 0 to 8 {
      affine.for %arg3 = 0 to 4 {
        %alloc_0 = memref.alloc() {name = "C_row"} : memref<4x8xf32>
        affine.for %arg4 = 0 to 4 {
          affine.for %arg5 = 0 to 8 {
            %cst_1 = arith.constant 0.000000e+00 : f32
            affine.store %cst_1, %alloc_0[%arg4, %arg5] {to = "C_row"} : memref<4x8xf32>
          } {loop_name = "j.inner_init", pipeline_ii = 1 : ui32}
        } {loop_name = "i.inner_init"}
        affine.for %arg4 = 0 to 32 {
          affine.for %arg5 = 0 to 4 {
            affine.for %arg6 = 0 to 8 {
              %0 = affine.load %arg0[%arg2 * 4 + %arg5, %arg4] {from = "A"} : memref<32x32xf32>
              %1 = affine.load %arg1[%arg4, %arg3 * 8 + %arg6] {from = "B"} : memref<32x32xf32>
              %2 = arith.mulf %0, %1 : f32
              %3 = affine.load %alloc_0[%arg5, %arg6] {from = "C_row"} : memref<4x8xf32>
              %4 = arith.addf %3, %2 : f32
              affine.store %4, %alloc_0[%arg5, %arg6] {to = "C_row"} : memref<4x8xf32>
            } {loop_name = "j.inner"}
          } {loop_name = "i.inner"}
        } {loop_name = "k"}
        affine.for %arg4 = 0 to 4 {
          affine.for %arg5 = 0 to 8 {
            %0 = affine.load %alloc_0[%arg4, %arg5] {from = "C_row"} : memref<4x8xf32>
            affine.store %0, %alloc[%arg2 * 4 + %arg4, %arg3 * 8 + %arg5] {to = "C"} : memref<32x32xf32>
          } {loop_name = "j.inner_back", pipeline_ii = 1 : ui32}
        } {loop_name = "i.inner_back"}
      } {loop_name = "j.outer"}
    } {loop_name = "i.outer", op_name = "S_i_j_k_0"}
    return %alloc : memref<32x32xf32>
  }
}
