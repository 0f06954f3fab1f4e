#map = affine_map<(d0, d1) -> (d0, 0, 0, d1)>
#map1 = affine_map<(d0, d1) -> (d0, d1, 0, 0)>
#set = affine_set<(d0) : (d0 - 2 >= 0)>
module {
  func.func @blur(%arg0: memref<10x10xi32>, %arg1: memref<8x8xi32>) attributes {arg_names = ["A", "B"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    %alloc = memref.alloc() {name = "S_y_x_reuse_0"} : memref<3x10xi32, #map>
    affine.for %arg2 = 0 to 10 {
      %alloc_0 = memref.alloc() {name = "S_y_x_reuse_1"} : memref<3x3xi32, #map1>
      affine.for %arg3 = 0 to 10 {
        %0 = affine.load %alloc[1, %arg3] {from = "S_y_x_reuse_0"} : memref<3x10xi32, #map>
        affine.store %0, %alloc[0, %arg3] {to = "S_y_x_reuse_0"} : memref<3x10xi32, #map>
        %1 = affine.load %alloc[2, %arg3] {from = "S_y_x_reuse_0"} : memref<3x10xi32, #map>
        affine.store %1, %alloc[1, %arg3] {to = "S_y_x_reuse_0"} : memref<3x10xi32, #map>
        %2 = affine.load %arg0[%arg2, %arg3] {from = "A"} : memref<10x10xi32>
        affine.store %2, %alloc[2, %arg3] {to = "S_y_x_reuse_0"} : memref<3x10xi32, #map>
        affine.if #set(%arg2) {
          affine.for %arg4 = 0 to 3 {
            %3 = affine.load %alloc_0[1, %arg4] {from = "S_y_x_reuse_1"} : memref<3x3xi32, #map1>
            affine.store %3, %alloc_0[0, %arg4] {to = "S_y_x_reuse_1"} : memref<3x3xi32, #map1>
            %4 = affine.load %alloc_0[2, %arg4] {from = "S_y_x_reuse_1"} : memref<3x3xi32, #map1>
            affine.store %4, %alloc_0[1, %arg4] {to = "S_y_x_reuse_1"} : memref<3x3xi32, #map1>
            %5 = affine.load %alloc[%arg4, %arg3] {from = "S_y_x_reuse_0"} : memref<3x10xi32, #map>
            affine.store %5, %alloc_0[2, %arg4] {to = "S_y_x_reuse_1"} : memref<3x3xi32, #map1>
          } {loop_name = "x_reuse_0", pipeline_ii = 1 : ui32}
          affine.if #set(%arg3) {
            affine.for %arg4 = 0 to 3 {
              affine.for %arg5 = 0 to 3 {
                %3 = affine.load %alloc_0[%arg5, %arg4] {from = "S_y_x_reuse_1"} : memref<3x3xi32, #map1>
                %4 = affine.load %arg1[%arg2 - 2, %arg3 - 2] {from = "B"} : memref<8x8xi32>
                %5 = arith.addi %4, %3 : i32
                affine.store %5, %arg1[%arg2 - 2, %arg3 - 2] {to = "B"} : memref<8x8xi32>
              } {loop_name = "c", reduction}
            } {loop_name = "r", reduction}
          }
        }
      } {loop_name = "x", pipeline_ii = 1 : ui32}
    } {loop_name = "y", op_name = "S_y_x"}
    return
  }
}
