#map = affine_map<(d0, d1) -> (0, d1, d0, 0)>
#map1 = affine_map<(d0, d1) -> (0, d1 mod 2, d0, d1 floordiv 2)>
module {
  func.func @mm(%arg0: memref<4x8xi8, #map>, %arg1: memref<8x4xi8>) -> memref<4x4xi32, #map1> attributes {arg_names = ["A", "B"], arg_types = ["i8", "i8"], itypes = "ss", otypes = "s", res_types = ["i32"]} {
    %alloc = memref.alloc() {name = "C"} : memref<4x4xi32, #map1>
    %c0_i32 = arith.constant 0 : i32
    linalg.fill ins(%c0_i32 : i32) outs(%alloc : memref<4x4xi32, #map1>)
    affine.for %arg2 = 0 to 4 {
      affine.for %arg3 = 0 to 4 {
        affine.for %arg4 = 0 to 8 {
          %0 = affine.load %arg0[%arg2, %arg4] {from = "A"} : memref<4x8xi8, #map>
          %1 = affine.load %arg1[%arg4, %arg3] {from = "B"} : memref<8x4xi8>
          %2 = arith.extsi %0 : i8 to i16
          %3 = arith.extsi %1 : i8 to i16
          %4 = arith.muli %2, %3 : i16
          %5 = affine.load %alloc[%arg2, %arg3] {from = "C"} : memref<4x4xi32, #map1>
          %6 = arith.extsi %5 : i32 to i33
          %7 = arith.extsi %4 : i16 to i33
          %8 = arith.addi %6, %7 : i33
          %9 = arith.trunci %8 : i33 to i32
          affine.store %9, %alloc[%arg2, %arg3] {to = "C"} : memref<4x4xi32, #map1>
        } {loop_name = "k", pipeline_ii = 1 : ui32, reduction}
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_k_0"}
    return %alloc : memref<4x4xi32, #map1>
  }
  func.func @top(%arg0: memref<4x8xi8, #map>, %arg1: memref<8x4xi8>, %arg2: i7, %arg3: memref<4x4xi32>) -> i32 attributes {arg_names = ["A", "B", "n", "D"], arg_types = ["i8", "i8", "ui7", "i32"], itypes = "ssus", otypes = "s", res_types = ["i32"]} {
    %0 = call @mm(%arg0, %arg1) {name = "C"} : (memref<4x8xi8, #map>, memref<8x4xi8>) -> memref<4x4xi32, #map1>
    %alloc = memref.alloc() {name = "sum"} : memref<i32>
    %c0_i32 = arith.constant 0 : i32
    affine.store %c0_i32, %alloc[] {to = "sum"} : memref<i32>
    %1 = arith.extui %arg2 : i7 to i32
    affine.for %arg4 = 0 to 4 {
      affine.for %arg5 = 0 to 4 {
        %3 = affine.load %0[%arg4, %arg5] {from = "C"} : memref<4x4xi32, #map1>
        %4 = arith.muli %3, %1 : i32
        affine.store %4, %arg3[%arg4, %arg5] {to = "D"} : memref<4x4xi32>
        %5 = affine.load %alloc[] {from = "sum"} : memref<i32>
        %6 = arith.addi %5, %4 : i32
        affine.store %6, %alloc[] {to = "sum"} : memref<i32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    %2 = affine.load %alloc[] {from = "sum"} : memref<i32>
    return %2 : i32
  }
}
