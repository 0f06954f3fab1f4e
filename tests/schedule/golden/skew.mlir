#map = affine_map<(d0) -> (d0 * 2 + 1)>
#map1 = affine_map<(d0) -> (d0 * 2 + 9)>
module {
  func.func @seidel(%arg0: memref<10xi32>) attributes {arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {
    %c3_i64 = arith.constant 3 : i64
    affine.for %arg1 = 0 to 4 {
      affine.for %arg2 = #map(%arg1) to #map1(%arg1) {
        %0 = affine.load %arg0[%arg2 - %arg1 * 2 - 1] {from = "A"} : memref<10xi32>
        %1 = arith.extsi %0 : i32 to i65
        %2 = affine.load %arg0[%arg2 - %arg1 * 2] {from = "A"} : memref<10xi32>
        %3 = arith.extsi %2 : i32 to i64
        %4 = arith.muli %3, %c3_i64 : i64
        %5 = arith.extsi %4 : i64 to i65
        %6 = arith.addi %1, %5 : i65
        %7 = arith.extsi %6 : i65 to i66
        %8 = affine.load %arg0[%arg2 - %arg1 * 2 + 1] {from = "A"} : memref<10xi32>
        %9 = arith.extsi %8 : i32 to i66
        %10 = arith.addi %7, %9 : i66
        %11 = arith.trunci %10 : i66 to i32
        affine.store %11, %arg0[%arg2 - %arg1 * 2] {to = "A"} : memref<10xi32>
      } {loop_name = "i", op_name = "S_i_0"}
    } {loop_name = "t", op_name = "S_t_0"}
    return
  }
}
