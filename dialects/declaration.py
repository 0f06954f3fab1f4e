"""The ``allo`` dialect, declared in IRDL: MLIR itself refuses an operation of ours that is ill-formed.

IRDL says which operations there are, how many operands and results each has and of which types, and
which attributes it must have. What it cannot say is in ``allo.dialects.verify``: that a value fits its
stream, that one attribute fits another. It cannot say either that an attribute may be absent, so
every attribute is always there; nor that the operands of one group have several types, so an
``allo.print`` prints one value.
"""

DECLARATION = """
irdl.dialect @allo {
  irdl.operation @stream {
    %handle = irdl.is index
    %name = irdl.base "#builtin.string"
    %dtype = irdl.base "#builtin.string"
    %depth = irdl.base "#builtin.integer"
    irdl.results(handle: %handle)
    irdl.attributes {"name" = %name, "dtype" = %dtype, "depth" = %depth}
  }
  irdl.operation @put {
    %handle = irdl.is index
    %element = irdl.any
    irdl.operands(stream: %handle, element: %element)
  }
  irdl.operation @get {
    %handle = irdl.is index
    %element = irdl.any
    irdl.operands(stream: %handle)
    irdl.results(element: %element)
  }
  irdl.operation @get_block {
    %handle = irdl.is index
    %array = irdl.base "!builtin.memref"
    irdl.operands(stream: %handle, into: %array)
  }
  irdl.operation @try_put {
    %handle = irdl.is index
    %element = irdl.any
    %done = irdl.is i1
    irdl.operands(stream: %handle, element: %element)
    irdl.results(done: %done)
  }
  irdl.operation @try_get {
    %handle = irdl.is index
    %element = irdl.any
    %done = irdl.is i1
    irdl.operands(stream: %handle)
    irdl.results(element: %element, done: %done)
  }
  irdl.operation @empty {
    %handle = irdl.is index
    %answer = irdl.is i1
    irdl.operands(stream: %handle)
    irdl.results(answer: %answer)
  }
  irdl.operation @full {
    %handle = irdl.is index
    %answer = irdl.is i1
    irdl.operands(stream: %handle)
    irdl.results(answer: %answer)
  }
  irdl.operation @check_bounds {
    %inside = irdl.is i1
    %word = irdl.is index
    %array = irdl.base "#builtin.string"
    %shape = irdl.base "#builtin.dense_array"
    irdl.operands(inside: %inside, words: variadic %word)
    irdl.attributes {"array" = %array, "shape" = %shape}
  }
  irdl.operation @check_dependence {
    %holds = irdl.is i1
    %word = irdl.is index
    %array = irdl.base "#builtin.string"
    %loop = irdl.base "#builtin.string"
    %kind = irdl.base "#builtin.string"
    %distance = irdl.base "#builtin.integer"
    %rank = irdl.base "#builtin.integer"
    irdl.operands(holds: %holds, words: variadic %word)
    irdl.attributes {
      "array" = %array, "loop" = %loop, "kind" = %kind, "distance" = %distance, "rank" = %rank
    }
  }
  irdl.operation @print {
    %value = irdl.any
    %before = irdl.base "#builtin.string"
    %after = irdl.base "#builtin.string"
    %dtype = irdl.base "#builtin.string"
    irdl.operands(value: optional %value)
    irdl.attributes {"before" = %before, "after" = %after, "dtype" = %dtype}
  }
  irdl.operation @assert {
    %holds = irdl.is i1
    %message = irdl.base "#builtin.string"
    irdl.operands(condition: %holds)
    irdl.attributes {"message" = %message}
  }
}
"""
"""One variable stands for one type or attribute, so every operand and attribute has its own."""
