// A producer that puts bursts of 4 into a FIFO of depth 2, and a consumer that takes a burst before it works on it.
module {
  func.func @producer_0(%a: memref<32xf32>, %pipe: index) attributes {arg_names = ["a", "pipe"], arg_types = ["f32", "stream<f32, 2>"], itypes = "__", otypes = "", res_types = []} {
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 4 {
        %v = affine.load %a[%i * 4 + %j] {from = "a"} : memref<32xf32>
        "allo.put"(%pipe, %v) : (index, f32) -> () loc("burst.py":9:13 to :30)
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @consumer_0(%b: memref<32xf32>, %pipe: index) attributes {arg_names = ["b", "pipe"], arg_types = ["f32", "stream<f32, 2>"], itypes = "__", otypes = "", res_types = []} {
    %buf = memref.alloc() {name = "buf"} : memref<4xf32>
    %one = arith.constant 1.0 : f32
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 4 {
        %v = "allo.get"(%pipe) : (index) -> f32 loc("burst.py":17:22 to :32)
        affine.store %v, %buf[%j] {to = "buf"} : memref<4xf32>
      } {loop_name = "j"}
      affine.for %j = 0 to 4 {
        %v = affine.load %buf[3 - %j] {from = "buf"} : memref<4xf32>
        %w = arith.addf %v, %one : f32
        affine.store %w, %b[%i * 4 + %j] {to = "b"} : memref<32xf32>
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    return
  }
  func.func @top(%A: memref<32xf32>, %B: memref<32xf32>) attributes {dataflow, region, arg_names = ["A", "B"], arg_types = ["f32", "f32"], itypes = "__", otypes = "", res_types = []} {
    %pipe = "allo.stream"() {name = "pipe", dtype = "f32", depth = 2 : i32} : () -> index loc("burst.py":4:5 to :28)
    call @producer_0(%A, %pipe) : (memref<32xf32>, index) -> () loc("burst.py":6:5 to :40)
    call @consumer_0(%B, %pipe) : (memref<32xf32>, index) -> () loc("burst.py":13:5 to :40)
    return
  }
}
