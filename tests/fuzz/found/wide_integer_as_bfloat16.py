"""Found by scripts/fuzz, seed 61003249: error csim run: ToolFailedError: Compiling the kernel for csim by g++ failed with status N.

ToolFailedError: Compiling the kernel for csim by g++ failed with status 1.
"""

PROGRAM = {
    "seed": 61003249,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "UInt(2)",
            "bits": 2,
            "frac": 0,
            "shape": [4, 2, 4],
            "fields": [],
            "values": "any",
        },
        {
            "name": "A1",
            "kind": "bfloat16",
            "bits": 16,
            "frac": 0,
            "shape": [3],
            "fields": [],
            "values": "any",
        },
        {
            "name": "n0",
            "kind": "UInt(32)",
            "bits": 32,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any",
        },
    ],
    "instantiate": [],
    "region": False,
    "runs": 3,
    "steps": [],
    "features": ["bit stores", "bits", "control", "guards", "runtime subscripts", "stateful"],
    "exact": True,
    "deadlock": False,
    "checked": False,
    "reassociated": False,
    "restarted": False,
    "copied": False,
    "edited": "",
    "options": {},
}

SOURCE = """
import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream

def kernel(A0: UInt(2)[4, 2, 4], A1: bfloat16[3], n0: UInt(32)) -> UInt(15):
    q1: float16 @ Stateful = 0
    q1 += 1
    v2: UInt(32) = n0
    L3: Int(130)[3, 3] = -1
    v4: UInt(128) = L3[(n0 if 0 <= n0 < 3 else 0), min(v2, 2)][88:125] % 7
    L3[-3, (v2 if 0 <= v2 < 3 else 2)][64:113] = L3[(n0 if 0 <= n0 < 3 else 0), max(0, min(L3[2, 2], 2))] > v2
    for o5, o6 in allo.grid(3, 3):
        A1[o5 % 3] += L3[o5, o6]
    return A0[0, min(n0, 1), 0][0:1]
"""
