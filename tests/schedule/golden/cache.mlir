module {
  func.func @f(%arg0: memref<12x12xi32>, %arg1: memref<12x12xi32>) attributes {arg_names = ["A", "B"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    affine.for %arg2 = 0 to 6 {
      %alloc = memref.alloc() {cached = {array = "B", inside = {}, loop = "i"}, name = "B_cache"} : memref<12xi32>
      %alloc_0 = memref.alloc() {cached = {array = "A", inside = {}, loop = "i"}, name = "A_cache"} : memref<12xi32>
      affine.for %arg3 = 0 to 12 {
        %0 = affine.load %arg0[%arg2 * 2 + 1, %arg3] {from = "A"} : memref<12x12xi32>
        affine.store %0, %alloc_0[%arg3] {to = "A_cache"} : memref<12xi32>
      } {loop_name = "A1_init", pipeline_ii = 1 : ui32}
      affine.for %arg3 = 0 to 12 {
        %0 = affine.load %alloc_0[%arg3] {from = "A_cache"} : memref<12xi32>
        affine.store %0, %alloc[%arg3] {to = "B_cache"} : memref<12xi32>
      } {loop_name = "j"}
      affine.for %arg3 = 0 to 12 {
        %0 = affine.load %alloc[%arg3] {from = "B_cache"} : memref<12xi32>
        affine.store %0, %arg1[%arg2, %arg3] {to = "B"} : memref<12x12xi32>
      } {loop_name = "B1_back", pipeline_ii = 1 : ui32}
    } {dataflow, loop_name = "i", op_name = "S"}
    return
  }
}
