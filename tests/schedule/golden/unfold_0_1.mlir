module {
  func.func @kernel_0_0(%arg0: memref<2x2xi32>, %arg1: index, %arg2: index) attributes {arg_names = ["A", "i", "j"], arg_types = ["i32", "index", "index"], itypes = "sss", otypes = "", res_types = []} {
    %0 = memref.load %arg0[%arg1, %arg2] {from = "A"} : memref<2x2xi32>
    %1 = arith.addi %0, %0 : i32
    memref.store %1, %arg0[%arg1, %arg2] {to = "A"} : memref<2x2xi32>
    return
  }
  func.func @kernel_0_1(%arg0: memref<2x2xi32>, %arg1: index, %arg2: index) attributes {arg_names = ["A", "i", "j"], arg_types = ["i32", "index", "index"], itypes = "sss", otypes = "", res_types = []} {
    %0 = memref.load %arg0[%arg1, %arg2] {from = "A"} : memref<2x2xi32>
    %1 = arith.addi %0, %0 : i32
    memref.store %1, %arg0[%arg1, %arg2] {to = "A"} : memref<2x2xi32>
    return
  }
  func.func @kernel_1_0(%arg0: memref<2x2xi32>, %arg1: index, %arg2: index) attributes {arg_names = ["A", "i", "j"], arg_types = ["i32", "index", "index"], itypes = "sss", otypes = "", res_types = []} {
    %0 = memref.load %arg0[%arg1, %arg2] {from = "A"} : memref<2x2xi32>
    %1 = arith.addi %0, %0 : i32
    memref.store %1, %arg0[%arg1, %arg2] {to = "A"} : memref<2x2xi32>
    return
  }
  func.func @kernel_1_1(%arg0: memref<2x2xi32>, %arg1: index, %arg2: index) attributes {arg_names = ["A", "i", "j"], arg_types = ["i32", "index", "index"], itypes = "sss", otypes = "", res_types = []} {
    %0 = memref.load %arg0[%arg1, %arg2] {from = "A"} : memref<2x2xi32>
    %1 = arith.addi %0, %0 : i32
    memref.store %1, %arg0[%arg1, %arg2] {to = "A"} : memref<2x2xi32>
    return
  }
  func.func @top(%arg0: memref<2x2xi32>) attributes {arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    call @kernel_0_0(%arg0, %c0_0, %c0) {unfolded = "PE:0,0"} : (memref<2x2xi32>, index, index) -> ()
    %c1 = arith.constant 1 : index
    %c0_1 = arith.constant 0 : index
    call @kernel_0_1(%arg0, %c0_1, %c1) {unfolded = "PE:0,1"} : (memref<2x2xi32>, index, index) -> ()
    %c0_2 = arith.constant 0 : index
    %c1_3 = arith.constant 1 : index
    call @kernel_1_0(%arg0, %c1_3, %c0_2) {unfolded = "PE:1,0"} : (memref<2x2xi32>, index, index) -> ()
    %c1_4 = arith.constant 1 : index
    %c1_5 = arith.constant 1 : index
    call @kernel_1_1(%arg0, %c1_5, %c1_4) {unfolded = "PE:1,1"} : (memref<2x2xi32>, index, index) -> ()
    return
  }
}
