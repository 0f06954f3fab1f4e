module {
  func.func @blend(%arg0: memref<16xf32>, %arg1: memref<16xf32>, %arg2: memref<16xi32>) attributes {arg_names = ["x", "y", "z"], arg_types = ["f32", "f32", "i32"], itypes = "__s", otypes = "", res_types = []} {
    %cst = arith.constant 2.500000e+00 : f32
    affine.for %arg3 = 0 to 16 {
      %0 = affine.load %arg0[%arg3] {from = "x"} : memref<16xf32>
      %1 = arith.mulf %cst, %0 {bind = "fabric"} : f32
      %2 = affine.load %arg1[%arg3] {from = "y"} : memref<16xf32>
      %3 = arith.addf %1, %2 {bind = "dsp"} : f32
      %4 = affine.load %arg0[%arg3] {from = "x"} : memref<16xf32>
      %5 = affine.load %arg1[%arg3] {from = "y"} : memref<16xf32>
      %6 = arith.mulf %4, %5 {bind = "fabric"} : f32
      %7 = arith.subf %3, %6 {bind = "dsp"} : f32
      affine.store %7, %arg1[%arg3] {to = "y"} : memref<16xf32>
    } {loop_name = "i", op_name = "S_i_0"}
    affine.for %arg3 = 0 to 16 {
      %0 = affine.load %arg2[%arg3] {from = "z"} : memref<16xi32>
      %1 = arith.extsi %0 : i32 to i64
      %2 = affine.load %arg2[%arg3] {from = "z"} : memref<16xi32>
      %3 = arith.extsi %2 : i32 to i64
      %4 = arith.muli %1, %3 {bind = "fabric"} : i64
      %5 = arith.trunci %4 : i64 to i32
      affine.store %5, %arg2[%arg3] {to = "z"} : memref<16xi32>
    } {loop_name = "j", op_name = "S_j_1"}
    return
  }
}
