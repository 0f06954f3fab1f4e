// A[i, j] = A[i-1, j+1] + 1: the order of i and j matters. Then a matrix-vector product in integers.
module {
  func.func @stencil(%A: memref<8x8xi32>, %x: memref<8xi32>, %y: memref<8xi32>) attributes {arg_names = ["A", "x", "y"], arg_types = ["i32", "i32", "i32"], itypes = "sss", otypes = "", res_types = []} {
    %one = arith.constant 1 : i32 loc("stencil.py":2:1)
    affine.for %i = 1 to 8 {
      affine.for %j = 0 to 7 {
        %a = affine.load %A[%i - 1, %j + 1] {from = "A"} : memref<8x8xi32> loc("stencil.py":3:19 to :32)
        %b = arith.addi %a, %one : i32 loc("stencil.py":3:19 to :36)
        affine.store %b, %A[%i, %j] {to = "A"} : memref<8x8xi32> loc("stencil.py":3:9 to :36)
      } {loop_name = "j"} loc("stencil.py":2:5 to :40)
    } {loop_name = "i", op_name = "S_i_j_0"} loc("stencil.py":2:5 to :40)
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 8 {
        %m = affine.load %A[%i, %j] {from = "A"} : memref<8x8xi32> loc("stencil.py":5:17 to :24)
        %v = affine.load %x[%j] {from = "x"} : memref<8xi32> loc("stencil.py":5:27 to :31)
        %p = arith.muli %m, %v : i32 loc("stencil.py":5:17 to :31)
        %o = affine.load %y[%i] {from = "y"} : memref<8xi32> loc("stencil.py":5:9 to :13)
        %s = arith.addi %o, %p : i32 loc("stencil.py":5:9 to :31)
        affine.store %s, %y[%i] {to = "y"} : memref<8xi32> loc("stencil.py":5:9 to :31)
      } {loop_name = "j"} loc("stencil.py":4:5 to :40)
    } {loop_name = "i", op_name = "S_i_j_1"} loc("stencil.py":4:5 to :40)
    return
  }
}
