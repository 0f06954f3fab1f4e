#map = affine_map<(d0) -> (d0, 0)>
#set = affine_set<(d0, d1) : (d0 * -4 - d1 + 60 >= 0)>
module {
  func.func @odd_dot(%arg0: memref<61xf32>, %arg1: memref<61xf32>, %arg2: memref<1xf32>) attributes {arg_names = ["x", "y", "z"], arg_types = ["f32", "f32", "f32"], itypes = "___", otypes = "", res_types = []} {
    %alloc = memref.alloc() {name = "z_part"} : memref<4xf32, #map>
    %cst = arith.constant -0.000000e+00 : f32
    affine.store %cst, %alloc[0] {to = "z_part"} : memref<4xf32, #map>
    affine.store %cst, %alloc[1] {to = "z_part"} : memref<4xf32, #map>
    affine.store %cst, %alloc[2] {to = "z_part"} : memref<4xf32, #map>
    affine.store %cst, %alloc[3] {to = "z_part"} : memref<4xf32, #map>
    affine.for %arg3 = 0 to 16 {
      affine.for %arg4 = 0 to 4 {
        affine.if #set(%arg3, %arg4) {
          %9 = affine.load %alloc[%arg4] {from = "z_part"} : memref<4xf32, #map>
          %10 = affine.load %arg0[%arg3 * 4 + %arg4] {from = "x"} : memref<61xf32>
          %11 = affine.load %arg1[%arg3 * 4 + %arg4] {from = "y"} : memref<61xf32>
          %12 = arith.mulf %10, %11 : f32
          %13 = arith.addf %9, %12 : f32
          affine.store %13, %alloc[%arg4] {to = "z_part"} : memref<4xf32, #map>
        }
      } {loop_name = "k.inner"}
    } {loop_name = "k.outer", op_name = "S_k_0"}
    %0 = affine.load %alloc[0] {from = "z_part"} : memref<4xf32, #map>
    %1 = affine.load %alloc[1] {from = "z_part"} : memref<4xf32, #map>
    %2 = affine.load %alloc[2] {from = "z_part"} : memref<4xf32, #map>
    %3 = affine.load %alloc[3] {from = "z_part"} : memref<4xf32, #map>
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %2, %3 : f32
    %6 = arith.addf %4, %5 : f32
    %7 = affine.load %arg2[0] {from = "z"} : memref<1xf32>
    %8 = arith.addf %7, %6 : f32
    affine.store %8, %arg2[0] {to = "z"} : memref<1xf32>
    return
  }
}
