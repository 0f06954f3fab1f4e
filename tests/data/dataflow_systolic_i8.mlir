// 8x8 int8 systolic matrix product, written by tests/cpu/systolic.py.
module {
  func.func @feed_a(%a: memref<8x8xi8>, %row: index, %out: index) attributes {arg_names = ["a", "row", "out"], arg_types = ["i8", "index", "stream<i8, 2>"], res_types = [], itypes = "s__", otypes = ""} {
    affine.for %k = 0 to 8 {
      %v = memref.load %a[%row, %k] {from = "a"} : memref<8x8xi8>
      "allo.put"(%out, %v) : (index, i8) -> () loc("systolic.py":10:13 to :30)
    } {loop_name = "k", op_name = "S_k_0"}
    return
  }
  func.func @feed_b(%b: memref<8x8xi8>, %col: index, %out: index) attributes {arg_names = ["b", "col", "out"], arg_types = ["i8", "index", "stream<i8, 2>"], res_types = [], itypes = "s__", otypes = ""} {
    affine.for %k = 0 to 8 {
      %v = memref.load %b[%k, %col] {from = "b"} : memref<8x8xi8>
      "allo.put"(%out, %v) : (index, i8) -> () loc("systolic.py":16:13 to :30)
    } {loop_name = "k", op_name = "S_k_0"}
    return
  }
  func.func @pe(%c: memref<8x8xi32>, %i: index, %j: index, %a_in: index, %a_out: index, %b_in: index, %b_out: index)
      attributes {arg_names = ["c", "i", "j", "a_in", "a_out", "b_in", "b_out"], arg_types = ["i32", "index", "index", "stream<i8, 2>", "stream<i8, 2>", "stream<i8, 2>", "stream<i8, 2>"], res_types = [], itypes = "s______", otypes = ""} {
    %acc = memref.alloc() {name = "acc"} : memref<i32>
    %zero = arith.constant 0 : i32
    affine.store %zero, %acc[] {to = "acc"} : memref<i32>
    affine.for %k = 0 to 8 {
      %a = "allo.get"(%a_in) : (index) -> i8 loc("systolic.py":24:21 to :36)
      %b = "allo.get"(%b_in) : (index) -> i8 loc("systolic.py":25:21 to :36)
      %ea = arith.extsi %a : i8 to i16
      %eb = arith.extsi %b : i8 to i16
      %p = arith.muli %ea, %eb : i16
      %w = arith.extsi %p : i16 to i32
      %s = affine.load %acc[] {from = "acc"} : memref<i32>
      %t = arith.addi %s, %w : i32
      affine.store %t, %acc[] {to = "acc"} : memref<i32>
      "allo.put"(%a_out, %a) : (index, i8) -> () loc("systolic.py":27:13 to :35)
      "allo.put"(%b_out, %b) : (index, i8) -> () loc("systolic.py":28:13 to :35)
    } {loop_name = "k", op_name = "S_k_0", pipeline_ii = 1 : ui32}
    %r = affine.load %acc[] {from = "acc"} : memref<i32>
    memref.store %r, %c[%i, %j] {to = "c"} : memref<8x8xi32>
    return
  }
  func.func @drain(%end: index) attributes {arg_names = ["end"], arg_types = ["stream<i8, 2>"], res_types = [], itypes = "_", otypes = ""} {
    affine.for %k = 0 to 8 {
      %v = "allo.get"(%end) : (index) -> i8 loc("systolic.py":33:13 to :28)
    } {loop_name = "k", op_name = "S_k_0"}
    return
  }
  func.func @top(%A: memref<8x8xi8>, %B: memref<8x8xi8>, %C: memref<8x8xi32>) attributes {dataflow, region, arg_names = ["A", "B", "C"], arg_types = ["i8", "i8", "i32"], res_types = [], itypes = "sss", otypes = ""} {
    %n0 = arith.constant 0 : index
    %n1 = arith.constant 1 : index
    %n2 = arith.constant 2 : index
    %n3 = arith.constant 3 : index
    %n4 = arith.constant 4 : index
    %n5 = arith.constant 5 : index
    %n6 = arith.constant 6 : index
    %n7 = arith.constant 7 : index
    %fa_0_0 = "allo.stream"() {name = "fa_0_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_1 = "allo.stream"() {name = "fa_0_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_2 = "allo.stream"() {name = "fa_0_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_3 = "allo.stream"() {name = "fa_0_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_4 = "allo.stream"() {name = "fa_0_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_5 = "allo.stream"() {name = "fa_0_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_6 = "allo.stream"() {name = "fa_0_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_7 = "allo.stream"() {name = "fa_0_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_0_8 = "allo.stream"() {name = "fa_0_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_0 = "allo.stream"() {name = "fa_1_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_1 = "allo.stream"() {name = "fa_1_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_2 = "allo.stream"() {name = "fa_1_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_3 = "allo.stream"() {name = "fa_1_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_4 = "allo.stream"() {name = "fa_1_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_5 = "allo.stream"() {name = "fa_1_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_6 = "allo.stream"() {name = "fa_1_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_7 = "allo.stream"() {name = "fa_1_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_1_8 = "allo.stream"() {name = "fa_1_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_0 = "allo.stream"() {name = "fa_2_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_1 = "allo.stream"() {name = "fa_2_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_2 = "allo.stream"() {name = "fa_2_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_3 = "allo.stream"() {name = "fa_2_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_4 = "allo.stream"() {name = "fa_2_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_5 = "allo.stream"() {name = "fa_2_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_6 = "allo.stream"() {name = "fa_2_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_7 = "allo.stream"() {name = "fa_2_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_2_8 = "allo.stream"() {name = "fa_2_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_0 = "allo.stream"() {name = "fa_3_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_1 = "allo.stream"() {name = "fa_3_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_2 = "allo.stream"() {name = "fa_3_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_3 = "allo.stream"() {name = "fa_3_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_4 = "allo.stream"() {name = "fa_3_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_5 = "allo.stream"() {name = "fa_3_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_6 = "allo.stream"() {name = "fa_3_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_7 = "allo.stream"() {name = "fa_3_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_3_8 = "allo.stream"() {name = "fa_3_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_0 = "allo.stream"() {name = "fa_4_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_1 = "allo.stream"() {name = "fa_4_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_2 = "allo.stream"() {name = "fa_4_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_3 = "allo.stream"() {name = "fa_4_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_4 = "allo.stream"() {name = "fa_4_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_5 = "allo.stream"() {name = "fa_4_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_6 = "allo.stream"() {name = "fa_4_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_7 = "allo.stream"() {name = "fa_4_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_4_8 = "allo.stream"() {name = "fa_4_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_0 = "allo.stream"() {name = "fa_5_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_1 = "allo.stream"() {name = "fa_5_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_2 = "allo.stream"() {name = "fa_5_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_3 = "allo.stream"() {name = "fa_5_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_4 = "allo.stream"() {name = "fa_5_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_5 = "allo.stream"() {name = "fa_5_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_6 = "allo.stream"() {name = "fa_5_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_7 = "allo.stream"() {name = "fa_5_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_5_8 = "allo.stream"() {name = "fa_5_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_0 = "allo.stream"() {name = "fa_6_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_1 = "allo.stream"() {name = "fa_6_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_2 = "allo.stream"() {name = "fa_6_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_3 = "allo.stream"() {name = "fa_6_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_4 = "allo.stream"() {name = "fa_6_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_5 = "allo.stream"() {name = "fa_6_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_6 = "allo.stream"() {name = "fa_6_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_7 = "allo.stream"() {name = "fa_6_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_6_8 = "allo.stream"() {name = "fa_6_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_0 = "allo.stream"() {name = "fa_7_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_1 = "allo.stream"() {name = "fa_7_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_2 = "allo.stream"() {name = "fa_7_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_3 = "allo.stream"() {name = "fa_7_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_4 = "allo.stream"() {name = "fa_7_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_5 = "allo.stream"() {name = "fa_7_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_6 = "allo.stream"() {name = "fa_7_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_7 = "allo.stream"() {name = "fa_7_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fa_7_8 = "allo.stream"() {name = "fa_7_8", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_0 = "allo.stream"() {name = "fb_0_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_1 = "allo.stream"() {name = "fb_0_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_2 = "allo.stream"() {name = "fb_0_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_3 = "allo.stream"() {name = "fb_0_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_4 = "allo.stream"() {name = "fb_0_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_5 = "allo.stream"() {name = "fb_0_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_6 = "allo.stream"() {name = "fb_0_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_0_7 = "allo.stream"() {name = "fb_0_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_0 = "allo.stream"() {name = "fb_1_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_1 = "allo.stream"() {name = "fb_1_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_2 = "allo.stream"() {name = "fb_1_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_3 = "allo.stream"() {name = "fb_1_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_4 = "allo.stream"() {name = "fb_1_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_5 = "allo.stream"() {name = "fb_1_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_6 = "allo.stream"() {name = "fb_1_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_1_7 = "allo.stream"() {name = "fb_1_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_0 = "allo.stream"() {name = "fb_2_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_1 = "allo.stream"() {name = "fb_2_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_2 = "allo.stream"() {name = "fb_2_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_3 = "allo.stream"() {name = "fb_2_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_4 = "allo.stream"() {name = "fb_2_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_5 = "allo.stream"() {name = "fb_2_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_6 = "allo.stream"() {name = "fb_2_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_2_7 = "allo.stream"() {name = "fb_2_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_0 = "allo.stream"() {name = "fb_3_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_1 = "allo.stream"() {name = "fb_3_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_2 = "allo.stream"() {name = "fb_3_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_3 = "allo.stream"() {name = "fb_3_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_4 = "allo.stream"() {name = "fb_3_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_5 = "allo.stream"() {name = "fb_3_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_6 = "allo.stream"() {name = "fb_3_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_3_7 = "allo.stream"() {name = "fb_3_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_0 = "allo.stream"() {name = "fb_4_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_1 = "allo.stream"() {name = "fb_4_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_2 = "allo.stream"() {name = "fb_4_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_3 = "allo.stream"() {name = "fb_4_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_4 = "allo.stream"() {name = "fb_4_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_5 = "allo.stream"() {name = "fb_4_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_6 = "allo.stream"() {name = "fb_4_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_4_7 = "allo.stream"() {name = "fb_4_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_0 = "allo.stream"() {name = "fb_5_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_1 = "allo.stream"() {name = "fb_5_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_2 = "allo.stream"() {name = "fb_5_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_3 = "allo.stream"() {name = "fb_5_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_4 = "allo.stream"() {name = "fb_5_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_5 = "allo.stream"() {name = "fb_5_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_6 = "allo.stream"() {name = "fb_5_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_5_7 = "allo.stream"() {name = "fb_5_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_0 = "allo.stream"() {name = "fb_6_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_1 = "allo.stream"() {name = "fb_6_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_2 = "allo.stream"() {name = "fb_6_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_3 = "allo.stream"() {name = "fb_6_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_4 = "allo.stream"() {name = "fb_6_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_5 = "allo.stream"() {name = "fb_6_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_6 = "allo.stream"() {name = "fb_6_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_6_7 = "allo.stream"() {name = "fb_6_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_0 = "allo.stream"() {name = "fb_7_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_1 = "allo.stream"() {name = "fb_7_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_2 = "allo.stream"() {name = "fb_7_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_3 = "allo.stream"() {name = "fb_7_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_4 = "allo.stream"() {name = "fb_7_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_5 = "allo.stream"() {name = "fb_7_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_6 = "allo.stream"() {name = "fb_7_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_7_7 = "allo.stream"() {name = "fb_7_7", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_0 = "allo.stream"() {name = "fb_8_0", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_1 = "allo.stream"() {name = "fb_8_1", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_2 = "allo.stream"() {name = "fb_8_2", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_3 = "allo.stream"() {name = "fb_8_3", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_4 = "allo.stream"() {name = "fb_8_4", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_5 = "allo.stream"() {name = "fb_8_5", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_6 = "allo.stream"() {name = "fb_8_6", dtype = "i8", depth = 2 : i32} : () -> index
    %fb_8_7 = "allo.stream"() {name = "fb_8_7", dtype = "i8", depth = 2 : i32} : () -> index
    call @feed_a(%A, %n0, %fa_0_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_0_8) : (index) -> ()
    call @feed_a(%A, %n1, %fa_1_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_1_8) : (index) -> ()
    call @feed_a(%A, %n2, %fa_2_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_2_8) : (index) -> ()
    call @feed_a(%A, %n3, %fa_3_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_3_8) : (index) -> ()
    call @feed_a(%A, %n4, %fa_4_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_4_8) : (index) -> ()
    call @feed_a(%A, %n5, %fa_5_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_5_8) : (index) -> ()
    call @feed_a(%A, %n6, %fa_6_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_6_8) : (index) -> ()
    call @feed_a(%A, %n7, %fa_7_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fa_7_8) : (index) -> ()
    call @feed_b(%B, %n0, %fb_0_0) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_0) : (index) -> ()
    call @feed_b(%B, %n1, %fb_0_1) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_1) : (index) -> ()
    call @feed_b(%B, %n2, %fb_0_2) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_2) : (index) -> ()
    call @feed_b(%B, %n3, %fb_0_3) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_3) : (index) -> ()
    call @feed_b(%B, %n4, %fb_0_4) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_4) : (index) -> ()
    call @feed_b(%B, %n5, %fb_0_5) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_5) : (index) -> ()
    call @feed_b(%B, %n6, %fb_0_6) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_6) : (index) -> ()
    call @feed_b(%B, %n7, %fb_0_7) : (memref<8x8xi8>, index, index) -> ()
    call @drain(%fb_8_7) : (index) -> ()
    call @pe(%C, %n0, %n0, %fa_0_0, %fa_0_1, %fb_0_0, %fb_1_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n0, %n1, %fa_0_1, %fa_0_2, %fb_0_1, %fb_1_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n0, %n2, %fa_0_2, %fa_0_3, %fb_0_2, %fb_1_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n0, %n3, %fa_0_3, %fa_0_4, %fb_0_3, %fb_1_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n0, %n4, %fa_0_4, %fa_0_5, %fb_0_4, %fb_1_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n0, %n5, %fa_0_5, %fa_0_6, %fb_0_5, %fb_1_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n0, %n6, %fa_0_6, %fa_0_7, %fb_0_6, %fb_1_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n0, %n7, %fa_0_7, %fa_0_8, %fb_0_7, %fb_1_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n0, %fa_1_0, %fa_1_1, %fb_1_0, %fb_2_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n1, %fa_1_1, %fa_1_2, %fb_1_1, %fb_2_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n2, %fa_1_2, %fa_1_3, %fb_1_2, %fb_2_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n3, %fa_1_3, %fa_1_4, %fb_1_3, %fb_2_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n4, %fa_1_4, %fa_1_5, %fb_1_4, %fb_2_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n5, %fa_1_5, %fa_1_6, %fb_1_5, %fb_2_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n6, %fa_1_6, %fa_1_7, %fb_1_6, %fb_2_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n1, %n7, %fa_1_7, %fa_1_8, %fb_1_7, %fb_2_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n0, %fa_2_0, %fa_2_1, %fb_2_0, %fb_3_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n1, %fa_2_1, %fa_2_2, %fb_2_1, %fb_3_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n2, %fa_2_2, %fa_2_3, %fb_2_2, %fb_3_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n3, %fa_2_3, %fa_2_4, %fb_2_3, %fb_3_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n4, %fa_2_4, %fa_2_5, %fb_2_4, %fb_3_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n5, %fa_2_5, %fa_2_6, %fb_2_5, %fb_3_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n6, %fa_2_6, %fa_2_7, %fb_2_6, %fb_3_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n2, %n7, %fa_2_7, %fa_2_8, %fb_2_7, %fb_3_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n0, %fa_3_0, %fa_3_1, %fb_3_0, %fb_4_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n1, %fa_3_1, %fa_3_2, %fb_3_1, %fb_4_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n2, %fa_3_2, %fa_3_3, %fb_3_2, %fb_4_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n3, %fa_3_3, %fa_3_4, %fb_3_3, %fb_4_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n4, %fa_3_4, %fa_3_5, %fb_3_4, %fb_4_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n5, %fa_3_5, %fa_3_6, %fb_3_5, %fb_4_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n6, %fa_3_6, %fa_3_7, %fb_3_6, %fb_4_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n3, %n7, %fa_3_7, %fa_3_8, %fb_3_7, %fb_4_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n0, %fa_4_0, %fa_4_1, %fb_4_0, %fb_5_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n1, %fa_4_1, %fa_4_2, %fb_4_1, %fb_5_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n2, %fa_4_2, %fa_4_3, %fb_4_2, %fb_5_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n3, %fa_4_3, %fa_4_4, %fb_4_3, %fb_5_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n4, %fa_4_4, %fa_4_5, %fb_4_4, %fb_5_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n5, %fa_4_5, %fa_4_6, %fb_4_5, %fb_5_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n6, %fa_4_6, %fa_4_7, %fb_4_6, %fb_5_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n4, %n7, %fa_4_7, %fa_4_8, %fb_4_7, %fb_5_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n0, %fa_5_0, %fa_5_1, %fb_5_0, %fb_6_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n1, %fa_5_1, %fa_5_2, %fb_5_1, %fb_6_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n2, %fa_5_2, %fa_5_3, %fb_5_2, %fb_6_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n3, %fa_5_3, %fa_5_4, %fb_5_3, %fb_6_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n4, %fa_5_4, %fa_5_5, %fb_5_4, %fb_6_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n5, %fa_5_5, %fa_5_6, %fb_5_5, %fb_6_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n6, %fa_5_6, %fa_5_7, %fb_5_6, %fb_6_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n5, %n7, %fa_5_7, %fa_5_8, %fb_5_7, %fb_6_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n0, %fa_6_0, %fa_6_1, %fb_6_0, %fb_7_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n1, %fa_6_1, %fa_6_2, %fb_6_1, %fb_7_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n2, %fa_6_2, %fa_6_3, %fb_6_2, %fb_7_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n3, %fa_6_3, %fa_6_4, %fb_6_3, %fb_7_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n4, %fa_6_4, %fa_6_5, %fb_6_4, %fb_7_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n5, %fa_6_5, %fa_6_6, %fb_6_5, %fb_7_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n6, %fa_6_6, %fa_6_7, %fb_6_6, %fb_7_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n6, %n7, %fa_6_7, %fa_6_8, %fb_6_7, %fb_7_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n0, %fa_7_0, %fa_7_1, %fb_7_0, %fb_8_0) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n1, %fa_7_1, %fa_7_2, %fb_7_1, %fb_8_1) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n2, %fa_7_2, %fa_7_3, %fb_7_2, %fb_8_2) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n3, %fa_7_3, %fa_7_4, %fb_7_3, %fb_8_3) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n4, %fa_7_4, %fa_7_5, %fb_7_4, %fb_8_4) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n5, %fa_7_5, %fa_7_6, %fb_7_5, %fb_8_5) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n6, %fa_7_6, %fa_7_7, %fb_7_6, %fb_8_6) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    call @pe(%C, %n7, %n7, %fa_7_7, %fa_7_8, %fb_7_7, %fb_8_7) : (memref<8x8xi32>, index, index, index, index, index, index) -> ()
    return
  }
}
