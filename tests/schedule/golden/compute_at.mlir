module {
  func.func @producer(%arg0: memref<8x9xi32>, %arg1: memref<8x9xi32>) attributes {arg_names = ["A", "D"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    %c3_i32 = arith.constant 3 : i32
    %alloc = memref.alloc() {name = "C"} : memref<8x9xi32>
    affine.for %arg2 = 0 to 8 {
      affine.for %arg3 = 0 to 9 {
        %alloc_0 = memref.alloc() {name = "B"} : memref<i32>
        %0 = affine.load %arg0[%arg2, %arg3] {from = "A"} : memref<8x9xi32>
        %1 = arith.addi %0, %0 : i32
        affine.store %1, %alloc_0[] {to = "B"} : memref<i32>
        %2 = affine.load %alloc_0[] {from = "B"} : memref<i32>
        %3 = arith.muli %2, %c3_i32 : i32
        affine.store %3, %alloc[%arg2, %arg3] {to = "C"} : memref<8x9xi32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "C"}
    affine.for %arg2 = 0 to 8 {
      affine.for %arg3 = 0 to 9 {
        %0 = affine.load %alloc[%arg2, %arg3] {from = "C"} : memref<8x9xi32>
        %1 = affine.load %alloc[%arg2, -%arg3 + 8] {from = "C"} : memref<8x9xi32>
        %2 = arith.addi %0, %1 : i32
        affine.store %2, %arg1[%arg2, %arg3] {to = "D"} : memref<8x9xi32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "D"}
    return
  }
}
