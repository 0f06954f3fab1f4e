// A region whose two kernels each run a region of their own: inner streams blocks of 2x4 through a FIFO of depth 1, `add` scales by a scalar.
module {
  func.func @send_0(%x: memref<6x4xi16>, %blocks: index) attributes {arg_names = ["x", "blocks"], arg_types = ["i16", "stream<2x4xi16, 1>"], itypes = "s_", otypes = "", res_types = []} {
    affine.for %i = 0 to 3 {
      %block = memref.alloc() {name = "block"} : memref<2x4xi16>
      affine.for %r = 0 to 2 {
        affine.for %c = 0 to 4 {
          %v = affine.load %x[%i * 2 + %r, %c] {from = "x"} : memref<6x4xi16>
          affine.store %v, %block[%r, %c] {to = "block"} : memref<2x4xi16>
        } {loop_name = "c"}
      } {loop_name = "r"}
      "allo.put"(%blocks, %block) : (index, memref<2x4xi16>) -> () loc("nested.py":8:13 to :30)
    } {loop_name = "i", op_name = "S_i_0"}
    return
  }
  func.func @receive_0(%y: memref<6x4xi16>, %n: i16, %blocks: index) attributes {arg_names = ["y", "n", "blocks"], arg_types = ["i16", "i16", "stream<2x4xi16, 1>"], itypes = "ss_", otypes = "", res_types = []} {
    affine.for %i = 0 to 3 {
      %block = memref.alloc() {name = "block"} : memref<2x4xi16>
      "allo.get_block"(%blocks, %block) : (index, memref<2x4xi16>) -> () loc("nested.py":14:30 to :42)
      affine.for %r = 0 to 2 {
        affine.for %c = 0 to 4 {
          %v = affine.load %block[%r, %c] {from = "block"} : memref<2x4xi16>
          %w = arith.muli %v, %n : i16
          affine.store %w, %y[%i * 2 + %r, %c] {to = "y"} : memref<6x4xi16>
        } {loop_name = "c"}
      } {loop_name = "r"}
    } {loop_name = "i", op_name = "S_i_0"}
    return
  }
  func.func @inner(%x: memref<6x4xi16>, %y: memref<6x4xi16>, %n: i16) attributes {dataflow, region, arg_names = ["x", "y", "n"], arg_types = ["i16", "i16", "i16"], itypes = "sss", otypes = "", res_types = []} {
    %blocks = "allo.stream"() {name = "blocks", dtype = "2x4xi16", depth = 1 : i32} : () -> index loc("nested.py":4:5 to :40)
    call @receive_0(%y, %n, %blocks) : (memref<6x4xi16>, i16, index) -> () loc("nested.py":11:9 to :16)
    call @send_0(%x, %blocks) : (memref<6x4xi16>, index) -> () loc("nested.py":6:9 to :13)
    return
  } loc("nested.py":3:1 to :4)
  func.func @first_0(%a: memref<6x4xi16>, %b: memref<6x4xi16>, %go: index) attributes {arg_names = ["a", "b", "go"], arg_types = ["i16", "i16", "stream<ui1, 1>"], itypes = "ss_", otypes = "", res_types = []} {
    %three = arith.constant 3 : i16
    call @inner(%a, %b, %three) : (memref<6x4xi16>, memref<6x4xi16>, i16) -> ()
    %true = arith.constant true
    "allo.put"(%go, %true) : (index, i1) -> () loc("nested.py":24:9 to :20)
    return
  }
  func.func @second_0(%b: memref<6x4xi16>, %c: memref<6x4xi16>, %go: index) attributes {arg_names = ["b", "c", "go"], arg_types = ["i16", "i16", "stream<ui1, 1>"], itypes = "ss_", otypes = "", res_types = []} {
    %ok = "allo.get"(%go) : (index) -> i1 loc("nested.py":28:9 to :17)
    %five = arith.constant 5 : i16
    %zero = arith.constant 0 : i16
    %factor = arith.select %ok, %five, %zero : i16
    affine.for %t = 0 to 2 {
      func.call @inner(%b, %c, %factor) : (memref<6x4xi16>, memref<6x4xi16>, i16) -> ()
    } {loop_name = "t", op_name = "S_t_0"}
    return
  }
  func.func @outer(%A: memref<6x4xi16>, %B: memref<6x4xi16>, %C: memref<6x4xi16>) attributes {dataflow, region, arg_names = ["A", "B", "C"], arg_types = ["i16", "i16", "i16"], itypes = "sss", otypes = "", res_types = []} {
    %go = "allo.stream"() {name = "go", dtype = "ui1", depth = 1 : i32} : () -> index loc("nested.py":19:5 to :24)
    call @second_0(%B, %C, %go) : (memref<6x4xi16>, memref<6x4xi16>, index) -> () loc("nested.py":26:9 to :15)
    call @first_0(%A, %B, %go) : (memref<6x4xi16>, memref<6x4xi16>, index) -> () loc("nested.py":21:9 to :14)
    return
  } loc("nested.py":18:1 to :4)
}
