// Two instances of one kernel with a state, and a top that calls both.
module {
  memref.global "private" @__stateful_inner_n_1 : memref<i32> = dense<0>
  func.func @inner(%A: memref<8x8xi32>) attributes {arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {
    %n = memref.get_global @__stateful_inner_n_1 : memref<i32>
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 8 {
        %a = affine.load %A[%i, %j] {from = "A"} : memref<8x8xi32>
        %c = affine.load %n[] {from = "n"} : memref<i32>
        %b = arith.addi %a, %c : i32
        affine.store %b, %A[%i, %j] {to = "A"} : memref<8x8xi32>
        affine.store %b, %n[] {to = "n"} : memref<i32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @inner_b(%A: memref<8x8xi32>) attributes {arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {
    %n = memref.get_global @__stateful_inner_n_1 : memref<i32>
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 8 {
        %a = affine.load %A[%i, %j] {from = "A"} : memref<8x8xi32>
        %c = affine.load %n[] {from = "n"} : memref<i32>
        %b = arith.addi %a, %c : i32
        affine.store %b, %A[%i, %j] {to = "A"} : memref<8x8xi32>
        affine.store %b, %n[] {to = "n"} : memref<i32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @top(%X: memref<8x8xi32>, %Y: memref<8x8xi32>) attributes {arg_names = ["X", "Y"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    call @inner(%X) : (memref<8x8xi32>) -> ()
    call @inner_b(%Y) : (memref<8x8xi32>) -> ()
    return
  }
}
