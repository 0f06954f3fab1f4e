"""Found by scripts/fuzz, seed 30098055: wrong cpu: values differ.

call 0: A0[0, 0, 0]: -7.75 in place of 1.0 (2 of 2 differ), by the oracle
"""

PROGRAM = {
    "seed": 30098055,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "float32",
            "bits": 32,
            "frac": 0,
            "shape": [2, 1, 1],
            "fields": [],
            "values": "any",
        }
    ],
    "instantiate": [],
    "region": False,
    "runs": 1,
    "steps": [],
    "features": ["control", "guards", "runtime subscripts", "views"],
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

def kernel(A0: float32[2, 1, 1]):
    v3 = ~1 << 34
    A0[0 <= v3 < 2, 0, 0] = 1
"""
