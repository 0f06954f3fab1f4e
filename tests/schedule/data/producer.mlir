// B = A + A; C = B * 3; D[i, j] = C[i, j] + C[i, 8 - j]: three nests, C read ahead by D.
module {
  func.func @producer(%A: memref<8x9xi32>, %D: memref<8x9xi32>) attributes {arg_names = ["A", "D"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    %three = arith.constant 3 : i32 loc("p.py":2:1)
    %B = memref.alloc() {name = "B"} : memref<8x9xi32> loc("p.py":3:5)
    %C = memref.alloc() {name = "C"} : memref<8x9xi32> loc("p.py":4:5)
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 9 {
        %a = affine.load %A[%i, %j] {from = "A"} : memref<8x9xi32> loc("p.py":6:19)
        %b = arith.addi %a, %a : i32 loc("p.py":6:19)
        affine.store %b, %B[%i, %j] {to = "B"} : memref<8x9xi32> loc("p.py":6:9)
      } {loop_name = "j"} loc("p.py":5:5)
    } {loop_name = "i", op_name = "B"} loc("p.py":5:5)
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 9 {
        %a = affine.load %B[%i, %j] {from = "B"} : memref<8x9xi32> loc("p.py":8:19)
        %b = arith.muli %a, %three : i32 loc("p.py":8:19)
        affine.store %b, %C[%i, %j] {to = "C"} : memref<8x9xi32> loc("p.py":8:9)
      } {loop_name = "j"} loc("p.py":7:5)
    } {loop_name = "i", op_name = "C"} loc("p.py":7:5)
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 9 {
        %a = affine.load %C[%i, %j] {from = "C"} : memref<8x9xi32> loc("p.py":10:19)
        %n = affine.load %C[%i, -%j + 8] {from = "C"} : memref<8x9xi32> loc("p.py":10:29)
        %b = arith.addi %a, %n : i32 loc("p.py":10:19)
        affine.store %b, %D[%i, %j] {to = "D"} : memref<8x9xi32> loc("p.py":10:9)
      } {loop_name = "j"} loc("p.py":9:5)
    } {loop_name = "i", op_name = "D"} loc("p.py":9:5)
    return loc("p.py":11:5)
  }
}
