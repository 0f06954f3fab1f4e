// fork puts each value to `left` and `right`; total takes three of `left` before it puts one sum; join takes a sum, then three of `right`.
// At depth 1 of `right` this deadlocks, at depth 3 it runs.
module {
  func.func @fork_0(%a: memref<12xi32>, %left: index, %right: index) attributes {arg_names = ["a", "left", "right"], arg_types = ["i32", "stream<i32, 1>", "stream<i32, 3>"], itypes = "s__", otypes = "", res_types = []} {
    affine.for %i = 0 to 12 {
      %v = affine.load %a[%i] {from = "a"} : memref<12xi32>
      "allo.put"(%left, %v) : (index, i32) -> () loc("forkjoin.py":12:13 to :27)
      "allo.put"(%right, %v) : (index, i32) -> () loc("forkjoin.py":13:13 to :28)
    } {loop_name = "i", op_name = "S_i_0"}
    return
  }
  func.func @total_0(%left: index, %sums: index) attributes {arg_names = ["left", "sums"], arg_types = ["stream<i32, 1>", "stream<i32, 1>"], itypes = "__", otypes = "", res_types = []} {
    affine.for %i = 0 to 4 {
      %acc = memref.alloc() {name = "acc"} : memref<i32>
      %zero = arith.constant 0 : i32
      affine.store %zero, %acc[] {to = "acc"} : memref<i32>
      affine.for %j = 0 to 3 {
        %v = "allo.get"(%left) : (index) -> i32 loc("forkjoin.py":20:20 to :30)
        %t = affine.load %acc[] {from = "acc"} : memref<i32>
        %u = arith.addi %t, %v : i32
        affine.store %u, %acc[] {to = "acc"} : memref<i32>
      } {loop_name = "j"}
      %s = affine.load %acc[] {from = "acc"} : memref<i32>
      "allo.put"(%sums, %s) : (index, i32) -> () loc("forkjoin.py":21:13 to :26)
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @join_0(%b: memref<12xi32>, %sums: index, %right: index) attributes {arg_names = ["b", "sums", "right"], arg_types = ["i32", "stream<i32, 1>", "stream<i32, 3>"], itypes = "s__", otypes = "", res_types = []} {
    affine.for %i = 0 to 4 {
      %s = "allo.get"(%sums) : (index) -> i32 loc("forkjoin.py":26:23 to :33)
      affine.for %j = 0 to 3 {
        %v = "allo.get"(%right) : (index) -> i32 loc("forkjoin.py":28:30 to :41)
        %p = arith.muli %s, %v : i32
        affine.store %p, %b[%i * 3 + %j] {to = "b"} : memref<12xi32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @top(%A: memref<12xi32>, %B: memref<12xi32>) attributes {dataflow, region, arg_names = ["A", "B"], arg_types = ["i32", "i32"], itypes = "ss", otypes = "", res_types = []} {
    %left = "allo.stream"() {name = "left", dtype = "i32", depth = 1 : i32} : () -> index loc("forkjoin.py":4:5 to :26)
    %right = "allo.stream"() {name = "right", dtype = "i32", depth = 3 : i32} : () -> index loc("forkjoin.py":5:5 to :27)
    %sums = "allo.stream"() {name = "sums", dtype = "i32", depth = 1 : i32} : () -> index loc("forkjoin.py":6:5 to :26)
    call @fork_0(%A, %left, %right) : (memref<12xi32>, index, index) -> () loc("forkjoin.py":9:9 to :13)
    call @total_0(%left, %sums) : (index, index) -> () loc("forkjoin.py":17:9 to :14)
    call @join_0(%B, %sums, %right) : (memref<12xi32>, index, index) -> () loc("forkjoin.py":24:9 to :13)
    return
  } loc("forkjoin.py":3:1 to :4)
}
