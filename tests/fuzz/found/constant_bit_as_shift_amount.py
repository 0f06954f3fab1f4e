"""Found by scripts/fuzz, seed 30020435: wrong cpu: values differ.

call 0: A2[1, 1]: -70 in place of 11 (1 of 24 differ), by the oracle
"""

PROGRAM = {
    "seed": 30020435,
    "top": "kernel",
    "arguments": [
        {
            "name": "A2",
            "kind": "Int(8)",
            "bits": 8,
            "frac": 0,
            "shape": [4, 6],
            "fields": [],
            "values": "any",
        },
        {
            "name": "n0",
            "kind": "Int(8)",
            "bits": 8,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any",
        },
    ],
    "instantiate": [],
    "region": False,
    "runs": 1,
    "steps": [],
    "features": [
        "bits",
        "break and continue",
        "casts",
        "control",
        "guards",
        "negative steps",
        "runtime bounds",
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
Tin1 = Int(1)

def kernel(A2: Int(8)[4, 6], n0: Int(8)) -> Int(1):
    n0 <<= Tin1(1)
    for k4 in range(1, n0):
        A2[1, 1] = k4
    return 1
"""
