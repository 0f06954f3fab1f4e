"""Found by scripts/fuzz, seed 30075793: wrong jit: values differ.

call 0: A0[1, 2]: -1 in place of 0 (1 of 16 differ), by the oracle
"""

# Schedule:
#     s.pipeline(loop(kernel, S_i3_0, i0), 1)
PROGRAM = {
    "seed": 30075793,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "Int(1)",
            "bits": 1,
            "frac": 0,
            "shape": [4, 4],
            "fields": [],
            "values": "any",
        }
    ],
    "instantiate": [],
    "region": False,
    "runs": 1,
    "steps": [
        {"primitive": "pipeline", "args": [{"loop": ["kernel", "S_i3_0", "i0"]}, 1], "kwargs": []}
    ],
    "features": [
        "bits",
        "casts",
        "control",
        "guards",
        "negative steps",
        "runtime subscripts",
        "short circuits",
        "slices",
        "ternaries",
        "while",
    ],
    "exact": True,
    "deadlock": False,
    "checked": False,
}

SOURCE = """
import numpy as np
import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream
Tin1 = Int

def kernel(A0: Int(1)[4, 4]) -> Int(1):
    v2: Int(1) = 1
    for i3 in range(4, 2, -1):
        A0[1, 0:3] = A0[1, 1] + 1
    return v2
"""
