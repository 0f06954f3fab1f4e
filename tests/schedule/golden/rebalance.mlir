#map = affine_map<(d0) -> (d0, 0)>
module {
  func.func @wide_floats(%arg0: memref<8x10xf32>, %arg1: memref<8x10xf32>, %arg2: memref<1xf32>) attributes {arg_names = ["x", "y", "z"], arg_types = ["f32", "f32", "f32"], itypes = "___", otypes = "", res_types = []} {
    %cst = arith.constant 1.500000e+00 : f32
    affine.for %arg3 = 0 to 8 {
      %alloc = memref.alloc() {name = "z_terms"} : memref<10xf32, #map>
      affine.for %arg4 = 0 to 10 {
        %21 = affine.load %arg0[%arg3, %arg4] {from = "x"} : memref<8x10xf32>
        %22 = affine.load %arg1[%arg3, %arg4] {from = "y"} : memref<8x10xf32>
        %23 = arith.mulf %21, %22 : f32
        %24 = affine.load %arg1[%arg3, 0] {from = "y"} : memref<8x10xf32>
        %25 = arith.subf %23, %24 : f32
        %26 = arith.subf %25, %cst : f32
        affine.store %26, %alloc[%arg4] {to = "z_terms"} : memref<10xf32, #map>
      } {loop_name = "k", op_name = "S_k_0"}
      %0 = affine.load %alloc[0] {from = "z_terms"} : memref<10xf32, #map>
      %1 = affine.load %alloc[1] {from = "z_terms"} : memref<10xf32, #map>
      %2 = affine.load %alloc[2] {from = "z_terms"} : memref<10xf32, #map>
      %3 = affine.load %alloc[3] {from = "z_terms"} : memref<10xf32, #map>
      %4 = affine.load %alloc[4] {from = "z_terms"} : memref<10xf32, #map>
      %5 = affine.load %alloc[5] {from = "z_terms"} : memref<10xf32, #map>
      %6 = affine.load %alloc[6] {from = "z_terms"} : memref<10xf32, #map>
      %7 = affine.load %alloc[7] {from = "z_terms"} : memref<10xf32, #map>
      %8 = affine.load %alloc[8] {from = "z_terms"} : memref<10xf32, #map>
      %9 = affine.load %alloc[9] {from = "z_terms"} : memref<10xf32, #map>
      %10 = arith.addf %0, %1 : f32
      %11 = arith.addf %2, %3 : f32
      %12 = arith.addf %4, %5 : f32
      %13 = arith.addf %6, %7 : f32
      %14 = arith.addf %8, %9 : f32
      %15 = arith.addf %10, %11 : f32
      %16 = arith.addf %12, %13 : f32
      %17 = arith.addf %15, %16 : f32
      %18 = arith.addf %17, %14 : f32
      %19 = affine.load %arg2[0] {from = "z"} : memref<1xf32>
      %20 = arith.addf %19, %18 : f32
      affine.store %20, %arg2[0] {to = "z"} : memref<1xf32>
    } {loop_name = "i", op_name = "S_i_0", pipeline_ii = 1 : ui32}
    return
  }
}
