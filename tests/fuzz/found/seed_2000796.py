"""Found by scripts/fuzz, seed 2000796: wrong cpu: values differ.

call 0: result 0: 0 in place of 11, by the oracle
"""

PROGRAM = {
    "seed": 2000796,
    "top": "kernel",
    "arguments": [
        {
            "name": "n0",
            "kind": "Int(8)",
            "bits": 8,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any",
        }
    ],
    "instantiate": [],
    "region": False,
    "runs": 1,
    "steps": [],
    "features": [
        "bit stores",
        "casts",
        "control",
        "guards",
        "runtime subscripts",
        "short circuits",
        "slices",
        "stateful",
        "ternaries",
    ],
    "exact": True,
    "deadlock": False,
}

SOURCE = """
import numpy as np
import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream

def kernel(n0: Int(8)) -> Int(8):
    q1: Int(65)[3] @ Stateful = 0
    q1[1:2] = n0
    return q1[1]
"""
