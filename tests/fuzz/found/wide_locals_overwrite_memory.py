"""Found by scripts/fuzz, seed 2000502: crash jit run: SIGSEGV.

the CPU build wrote past a heap array of ui130
"""

PROGRAM = {
    "seed": 2000502,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "UInt(32)",
            "bits": 32,
            "frac": 0,
            "shape": [4],
            "fields": [],
            "values": "any",
        },
        {
            "name": "A1",
            "kind": "Int(2)",
            "bits": 2,
            "frac": 0,
            "shape": [3, 4, 2],
            "fields": [],
            "values": "any",
        },
    ],
    "instantiate": [],
    "region": False,
    "runs": 3,
    "steps": [],
    "features": [
        "bits",
        "casts",
        "control",
        "guards",
        "runtime subscripts",
        "short circuits",
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

Tin16 = Int(16)
Tin64 = Int(64)
Tui24 = UInt(24)
def kernel(A0: UInt(32)[4], A1: Int(2)[3, 4, 2]) -> UInt(32):
    L1: UInt(130)[6, 6] = 84
    v2: Int(32) = max((A1[2, (L1[4, 0] if 0 <= L1[4, 0] < 4 else 2), 0] / A1[2, (A0[0] if 0 <= A0[0] < 4 else 1), A0[1][0:1]]) if (A1[(L1[2, 5] if 0 <= L1[2, 5] < 3 else 2), (A0[0] if 0 <= A0[0] < 4 else 0), 1] == A0[0]) or (A0[1] > L1[(A0[1] if 0 <= A0[1] < 6 else 2), 5]) else (A1[0, 0, 0] ^ (-5)), min((-9) <= A0[1], Tin16(L1[(A1[2, 1, 0] if 0 <= A1[2, 1, 0] < 6 else 0), 1] >> 5)))
    v3: Int(15) = min(v2 if (v2 >= 0 and v2 < 3 and A1[v2, 1, (A1[0, 2, 1] if 0 <= A1[0, 2, 1] < 2 else 1)] >= 127) or (0 <= v2 < 4 and A0[v2] != (-2)) else A0[3], v2) + (Tin64(v2 - L1[2, 0]) - A1[2, 0, 0])
    v4: Int(32) = min(A1[2, 3, 0][1], Tui24(13 + L1[3][-2]))
    L1[0, 2] = v2
    for o5, o6 in allo.grid(6, 6):
        A0[o5 % 4] += L1[o5, o6]
    return v3 < A0[(v3 if 0 <= v3 < 4 else 2)]
"""
