module {
  func.func @gemm(%A: memref<32x32xf32>, %B: memref<32x32xf32>) -> memref<32x32xf32> attributes {arg_names = ["A", "B"], arg_types = ["f32", "f32"], itypes = "__", otypes = "_", res_types = ["f32"]} {
    %C = memref.alloc() {name = "C"} : memref<32x32xf32> loc("gemm.py":3:5 to :20)
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%C : memref<32x32xf32>) loc("gemm.py":3:5 to :20)
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to 32 {
        affine.for %k = 0 to 32 {
            %a = affine.load %A[%i, %k] {from = "A"} : memref<32x32xf32> loc("gemm.py":5:20 to :27)
            %b = affine.load %B[%k, %j] {from = "B"} : memref<32x32xf32> loc("gemm.py":5:30 to :37)
            %p = arith.mulf %a, %b : f32 loc("gemm.py":5:20 to :37)
            %c = affine.load %C[%i, %j] {from = "C"} : memref<32x32xf32> loc("gemm.py":5:9 to :16)
            %s = arith.addf %c, %p : f32 loc("gemm.py":5:9 to :37)
            affine.store %s, %C[%i, %j] {to = "C"} : memref<32x32xf32> loc("gemm.py":5:9 to :37)
        } {loop_name = "k"} loc("gemm.py":4:5 to :30)
      } {loop_name = "j"} loc("gemm.py":4:5 to :30)
    } {loop_name = "i", op_name = "S_i_j_k_0"} loc("gemm.py":4:5 to :30)
    return %C : memref<32x32xf32>
  }
}
