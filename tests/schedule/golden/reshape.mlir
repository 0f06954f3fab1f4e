module {
  func.func @stencil(%arg0: memref<2x4x8xi32>, %arg1: memref<8xi32>, %arg2: memref<8xi32>) attributes {arg_names = ["A", "x", "y"], arg_types = ["i32", "i32", "i32"], itypes = "sss", otypes = "", res_types = []} {
    %c1_i32 = arith.constant 1 : i32
    affine.for %arg3 = 1 to 8 {
      affine.for %arg4 = 0 to 7 {
        %0 = affine.load %arg0[(%arg3 - 1) floordiv 4, %arg3 - ((%arg3 - 1) floordiv 4) * 4 - 1, %arg4 + 1] {from = "A"} : memref<2x4x8xi32>
        %1 = arith.addi %0, %c1_i32 : i32
        affine.store %1, %arg0[%arg3 floordiv 4, %arg3 mod 4, %arg4] {to = "A"} : memref<2x4x8xi32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    affine.for %arg3 = 0 to 8 {
      affine.for %arg4 = 0 to 8 {
        %0 = affine.load %arg0[%arg3 floordiv 4, %arg3 mod 4, %arg4] {from = "A"} : memref<2x4x8xi32>
        %1 = affine.load %arg1[%arg4] {from = "x"} : memref<8xi32>
        %2 = arith.muli %0, %1 : i32
        %3 = affine.load %arg2[%arg3] {from = "y"} : memref<8xi32>
        %4 = arith.addi %3, %2 : i32
        affine.store %4, %arg2[%arg3] {to = "y"} : memref<8xi32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_1"}
    return
  }
}
