module {
  func.func @source_0(%arg0: memref<8xi32>, %arg1: index, %arg2: index) attributes {arg_names = ["a", "wide_0", "wide_1"], arg_types = ["i32", "stream<i32, 4>", "stream<i32, 4>"], itypes = "s__", otypes = "", res_types = []} {
    %c1_i33 = arith.constant 1 : i33
    affine.for %arg3 = 0 to 8 {
      %0 = affine.load %arg0[%arg3] {from = "a"} : memref<8xi32>
      "allo.put"(%arg1, %0) : (index, i32) -> ()
      %1 = affine.load %arg0[%arg3] {from = "a"} : memref<8xi32>
      %2 = arith.extsi %1 : i32 to i33
      %3 = arith.addi %2, %c1_i33 : i33
      %4 = arith.trunci %3 : i33 to i32
      "allo.put"(%arg2, %4) : (index, i32) -> ()
    } {loop_name = "i", op_name = "S_i_0"}
    return
  }
  func.func @sums_0(%arg0: index, %arg1: index, %arg2: index) attributes {arg_names = ["wide_0", "wide_1", "pipe"], arg_types = ["stream<i32, 4>", "stream<i32, 4>", "stream<i32, 16>"], itypes = "___", otypes = "", res_types = []} {
    affine.for %arg3 = 0 to 8 {
      %0 = "allo.get"(%arg0) : (index) -> i32
      %1 = "allo.get"(%arg1) : (index) -> i32
      %2 = arith.extsi %0 : i32 to i64
      %3 = arith.extsi %1 : i32 to i64
      %4 = arith.muli %2, %3 : i64
      %5 = arith.trunci %4 : i64 to i32
      "allo.put"(%arg2, %5) : (index, i32) -> ()
    } {loop_name = "i", op_name = "S_i_0"}
    return
  }
  func.func @sink_0(%arg0: memref<8xi32>, %arg1: index) attributes {arg_names = ["b", "pipe"], arg_types = ["i32", "stream<i32, 16>"], itypes = "s_", otypes = "", res_types = []} {
    affine.for %arg2 = 0 to 8 {
      %0 = "allo.get"(%arg1) : (index) -> i32
      affine.store %0, %arg0[%arg2] {to = "b"} : memref<8xi32>
    } {loop_name = "i", op_name = "S_i_0"}
    return
  }
  func.func @pairs(%arg0: memref<8xi32>, %arg1: memref<8xi32>) attributes {arg_names = ["A", "B"], arg_types = ["i32", "i32"], dataflow, itypes = "ss", otypes = "", region, res_types = []} {
    %0 = "allo.stream"() {depth = 3 : i32, dtype = "i32", name = "wide_0"} : () -> index
    %1 = "allo.stream"() {depth = 7 : i32, dtype = "i32", name = "wide_1"} : () -> index
    %2 = "allo.stream"() {depth = 2 : i32, dtype = "i32", name = "pipe"} : () -> index
    call @source_0(%arg0, %0, %1) : (memref<8xi32>, index, index) -> ()
    call @sums_0(%0, %1, %2) : (index, index, index) -> ()
    call @sink_0(%arg1, %2) : (memref<8xi32>, index) -> ()
    return
  }
}
