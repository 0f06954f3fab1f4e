"""Found by scripts/fuzz, seed 30020179: wrong verilator: values differ.

call 0: result 0: 1 in place of -15, by the oracle
"""

# Schedule:
#     s.partition(buffer(kernel, A0), Cyclic, 0, 2)
PROGRAM = {
    "seed": 30020179,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "Int(1)",
            "bits": 1,
            "frac": 0,
            "shape": [
                6
            ],
            "fields": [],
            "values": "any"
        },
        {
            "name": "n0",
            "kind": "Int(4)",
            "bits": 4,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any"
        },
        {
            "name": "n1",
            "kind": "Int(16)",
            "bits": 16,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any"
        }
    ],
    "instantiate": [],
    "region": False,
    "runs": 1,
    "steps": [
        {
            "primitive": "partition",
            "args": [
                {
                    "buffer": [
                        "kernel",
                        "A0"
                    ]
                },
                {
                    "partition": "Cyclic"
                },
                0,
                2
            ],
            "kwargs": []
        }
    ],
    "features": [
        "control",
        "runtime subscripts",
        "short circuits",
        "ternaries"
    ],
    "exact": True,
    "deadlock": False
}

SOURCE = '''
import numpy as np
import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream

def kernel(A0: Int(1)[6], n0: Int(4), n1: Int(16)) -> Int(32):
    v2: Int(9) = n1
    for k3 in range(1):
        v4: Int(1) = A0[k3]
        n1 = v2 if n0 <= A0[min(v4, 5)] else A0[min(v4, 5)]
    return n1
'''
