module {
  func.func @kernel_0(%arg0: memref<2x2xi32>, %arg1: index, %arg2: index) attributes {arg_names = ["A", "i", "j"], arg_types = ["i32", "index", "index"], itypes = "sss", otypes = "", res_types = []} {
    %0 = memref.load %arg0[%arg1, %arg2] {from = "A"} : memref<2x2xi32>
    %1 = arith.addi %0, %0 : i32
    memref.store %1, %arg0[%arg1, %arg2] {to = "A"} : memref<2x2xi32>
    return
  }
  func.func @kernel_1(%arg0: memref<2x2xi32>, %arg1: index, %arg2: index) attributes {arg_names = ["A", "i", "j"], arg_types = ["i32", "index", "index"], itypes = "sss", otypes = "", res_types = []} {
    %0 = memref.load %arg0[%arg1, %arg2] {from = "A"} : memref<2x2xi32>
    %1 = arith.addi %0, %0 : i32
    memref.store %1, %arg0[%arg1, %arg2] {to = "A"} : memref<2x2xi32>
    return
  }
  func.func @top(%arg0: memref<2x2xi32>) attributes {arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {
    affine.for %arg1 = 0 to 2 {
      %c0 = arith.constant 0 : index
      func.call @kernel_0(%arg0, %c0, %arg1) : (memref<2x2xi32>, index, index) -> ()
    } {loop_name = "j", op_name = "PE_0", unfolded = "PE:0"}
    affine.for %arg1 = 0 to 2 {
      %c1 = arith.constant 1 : index
      func.call @kernel_1(%arg0, %c1, %arg1) : (memref<2x2xi32>, index, index) -> ()
    } {loop_name = "j", op_name = "PE_1", unfolded = "PE:1"}
    return
  }
}
