"""Found by scripts/fuzz, seed 20004555: wrong cpu: values differ.

call 0: B[1, 2]: -1 in place of 0 (1 of 15 differ), by the oracle
"""

PROGRAM = {
    "seed": 20004555,
    "top": "kernel",
    "arguments": [
        {
            "name": "B",
            "kind": "Int(1)",
            "bits": 1,
            "frac": 0,
            "shape": [5, 3],
            "fields": [],
            "values": "any",
        },
        {
            "name": "n",
            "kind": "Fixed(1, 1)",
            "bits": 1,
            "frac": 1,
            "shape": None,
            "fields": [],
            "values": "any",
        },
    ],
    "instantiate": [],
    "region": False,
    "runs": 1,
    "steps": [],
    "features": ["casts", "nests"],
    "exact": True,
    "deadlock": False,
}

SOURCE = """
import numpy as np
import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream

def kernel(B: Int(1)[5, 3], n: Fixed(1, 1)):
    for i in range(1, 7):
        for j in range(1, 4):
            B[1][2] ^= n >= B[j, i % 3]
"""
