#map = affine_map<(d0, d1) -> (0, d1, d0, 0)>
module {
  memref.global "private" @__stateful_inner_n_1_inst0 : memref<i32> = dense<0>
  memref.global "private" @__stateful_inner_n_1 : memref<i32> = dense<0>
  func.func @inner(%arg0: memref<8x8xi32, #map>) attributes {arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {
    %0 = memref.get_global @__stateful_inner_n_1_inst0 : memref<i32>
    affine.for %arg1 = 0 to 8 {
      affine.for %arg2 = 0 to 2 {
        affine.for %arg3 = 0 to 4 {
          %1 = affine.load %arg0[%arg1, %arg2 * 4 + %arg3] {from = "A"} : memref<8x8xi32, #map>
          %2 = affine.load %0[] {from = "n"} : memref<i32>
          %3 = arith.addi %1, %2 : i32
          affine.store %3, %arg0[%arg1, %arg2 * 4 + %arg3] {to = "A"} : memref<8x8xi32, #map>
          affine.store %3, %0[] {to = "n"} : memref<i32>
        } {loop_name = "j.inner", unroll = 0 : i32}
      } {loop_name = "j.outer", pipeline_ii = 1 : ui32}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @inner_b(%arg0: memref<8x8xi32>) attributes {arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {
    %0 = memref.get_global @__stateful_inner_n_1 : memref<i32>
    affine.for %arg1 = 0 to 8 {
      affine.for %arg2 = 0 to 8 {
        %1 = affine.load %arg0[%arg1, %arg2] {from = "A"} : memref<8x8xi32>
        %2 = affine.load %0[] {from = "n"} : memref<i32>
        %3 = arith.addi %1, %2 : i32
        affine.store %3, %arg0[%arg1, %arg2] {to = "A"} : memref<8x8xi32>
        affine.store %3, %0[] {to = "n"} : memref<i32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @top(%arg0: memref<8x8xi32, #map>, %arg1: memref<8x8xi32>) attributes {arg_names = ["X", "Y"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    call @inner(%arg0) : (memref<8x8xi32, #map>) -> ()
    call @inner_b(%arg1) : (memref<8x8xi32>) -> ()
    return
  }
}
