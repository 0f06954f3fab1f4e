"""Found by scripts/fuzz, seed 20001452: wrong cpu: values differ.

call 1: r0['y'][1]: 0.0 in place of 1.8367099231598242e-40 (1 of 3 differ), by the oracle
"""

PROGRAM = {
    "seed": 20001452,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "UInt(63)",
            "bits": 63,
            "frac": 0,
            "shape": [9],
            "fields": [],
            "values": "any",
        },
        {
            "name": "A1",
            "kind": "Int(129)",
            "bits": 129,
            "frac": 0,
            "shape": [5],
            "fields": [],
            "values": "any",
        },
        {
            "name": "n0",
            "kind": "bfloat16",
            "bits": 16,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any",
        },
        {
            "name": "r0",
            "kind": "struct",
            "bits": 0,
            "frac": 0,
            "shape": [3],
            "fields": [["x", "float16", 16], ["y", "float64", 64], ["z", "float32", 32]],
            "values": "any",
        },
    ],
    "instantiate": [],
    "region": False,
    "runs": 3,
    "steps": [],
    "features": ["bit stores", "bits", "casts", "control", "stateful", "structs"],
    "exact": True,
    "deadlock": False,
}

SOURCE = """
import numpy as np
import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream
S0 = Struct({'x': float16, 'y': float64, 'z': float32})

def kernel(A0: UInt(63)[9], A1: Int(129)[5], n0: bfloat16, r0: S0[3]) -> float32:
    q1: UInt(17) @ Stateful = 0
    q1 += 1
    r0[-2] = {'x': 1000.0 * A1[2], 'y': q1 * n0, 'z': A0[6] >> 13}
    return A0[8][30]
"""
