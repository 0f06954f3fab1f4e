// A 3x3 sum over a 10x10 image.
module {
  func.func @blur(%A: memref<10x10xi32>, %B: memref<8x8xi32>) attributes {arg_names = ["A", "B"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    affine.for %y = 0 to 8 {
      affine.for %x = 0 to 8 {
        affine.for %r = 0 to 3 {
          affine.for %c = 0 to 3 {
            %a = affine.load %A[%y + %r, %x + %c] {from = "A"} : memref<10x10xi32> loc("b.py":5:20)
            %b = affine.load %B[%y, %x] {from = "B"} : memref<8x8xi32> loc("b.py":5:9)
            %s = arith.addi %b, %a : i32 loc("b.py":5:9)
            affine.store %s, %B[%y, %x] {to = "B"} : memref<8x8xi32> loc("b.py":5:9)
          } {loop_name = "c", reduction} loc("b.py":4:9)
        } {loop_name = "r", reduction} loc("b.py":4:9)
      } {loop_name = "x"} loc("b.py":3:5)
    } {loop_name = "y", op_name = "S_y_x"} loc("b.py":3:5)
    return loc("b.py":6:5)
  }
}
