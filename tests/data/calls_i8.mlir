// Two functions: an int8 matrix product accumulated in int32, and a top that calls it and scales by a scalar argument.
module {
  func.func @mm(%A: memref<4x8xi8>, %B: memref<8x4xi8>) -> memref<4x4xi32> attributes {arg_names = ["A", "B"], arg_types = ["i8", "i8"], itypes = "ss", otypes = "s", res_types = ["i32"]} {
    %C = memref.alloc() {name = "C"} : memref<4x4xi32>
    %zero = arith.constant 0 : i32
    linalg.fill ins(%zero : i32) outs(%C : memref<4x4xi32>)
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 4 {
        affine.for %k = 0 to 8 {
          %a = affine.load %A[%i, %k] {from = "A"} : memref<4x8xi8> loc("mm.py":5:20 to :27)
          %b = affine.load %B[%k, %j] {from = "B"} : memref<8x4xi8> loc("mm.py":5:30 to :37)
          %ea = arith.extsi %a : i8 to i16
          %eb = arith.extsi %b : i8 to i16
          %p = arith.muli %ea, %eb : i16 loc("mm.py":5:20 to :37)
          %c = affine.load %C[%i, %j] {from = "C"} : memref<4x4xi32>
          %ec = arith.extsi %c : i32 to i33
          %ep = arith.extsi %p : i16 to i33
          %s = arith.addi %ec, %ep : i33 loc("mm.py":5:9 to :37)
          %t = arith.trunci %s : i33 to i32
          affine.store %t, %C[%i, %j] {to = "C"} : memref<4x4xi32> loc("mm.py":5:9 to :37)
        } {loop_name = "k", pipeline_ii = 1 : ui32, reduction}
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_k_0"}
    return %C : memref<4x4xi32>
  }
  func.func @top(%A: memref<4x8xi8>, %B: memref<8x4xi8>, %n: i7, %D: memref<4x4xi32>) -> i32 attributes {arg_names = ["A", "B", "n", "D"], arg_types = ["i8", "i8", "ui7", "i32"], itypes = "ssus", otypes = "s", res_types = ["i32"]} {
    %C = call @mm(%A, %B) {name = "C"} : (memref<4x8xi8>, memref<8x4xi8>) -> memref<4x4xi32>
    %sum = memref.alloc() {name = "sum"} : memref<i32>
    %zero = arith.constant 0 : i32
    affine.store %zero, %sum[] {to = "sum"} : memref<i32>
    %w = arith.extui %n : i7 to i32
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 4 {
        %c = affine.load %C[%i, %j] {from = "C"} : memref<4x4xi32>
        %m = arith.muli %c, %w : i32
        affine.store %m, %D[%i, %j] {to = "D"} : memref<4x4xi32>
        %s0 = affine.load %sum[] {from = "sum"} : memref<i32>
        %s1 = arith.addi %s0, %m : i32
        affine.store %s1, %sum[] {to = "sum"} : memref<i32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    %r = affine.load %sum[] {from = "sum"} : memref<i32>
    return %r : i32
  }
}
