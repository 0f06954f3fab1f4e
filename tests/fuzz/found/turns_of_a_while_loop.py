"""Found by scripts/fuzz, seed 61000674: wrong jit: values differ.

call 1: A0[0]: 447173935 in place of 313939247 (2 of 2 differ), by the oracle
"""

PROGRAM = {
    "seed": 61000674,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "UInt(31)",
            "bits": 31,
            "frac": 0,
            "shape": [2],
            "fields": [],
            "values": "any",
        },
        {
            "name": "n0",
            "kind": "UInt(31)",
            "bits": 31,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any",
        },
    ],
    "instantiate": ["UInt(31)", "2"],
    "region": False,
    "runs": 3,
    "steps": [],
    "features": [
        "captured scalars",
        "control",
        "runtime bounds",
        "runtime subscripts",
        "templates",
        "ternaries",
        "while",
        "options",
        "reassociated",
    ],
    "exact": True,
    "deadlock": False,
    "checked": False,
    "reassociated": True,
    "restarted": False,
    "copied": False,
    "edited": "",
    "options": {
        "clock_mhz": 293,
        "device": "generic",
        "max_dsp": 0,
        "check_dependences": True,
        "configs": True,
    },
}

SOURCE = """
import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream

C0 = -9
K0 = np.array([18, 24, 29, 57, 55, 32, 36, 26, 25, 30, 42], np.int64).reshape((11,))
def kernel[T, M0](A0: "T[M0]", n0: UInt(31)):
    for i1 in range(1, 1 + (min(n0, 7))):
        w2: int32 = 0
        while w2 < 4 and (i1 != 6):
            w2 += 1
            A0[(i1 * 3 + 1) % 2] *= A0[(i1 * 3) % 2] if C0 > C0 <= A0[(i1 * 2 + 1) % 2] else A0[(i1 * 2 + 1) % 2]
            n0 = (A0[i1 // 4] - A0[(i1 + 3) % 2]) & A0[(i1 + 3) % 2]
    v3: UInt(32) = n0 | (n0 // 10)
    A0[v3 % 2] = (A0[1] - n0) ^ (-312890672)
    v4: UInt(100) = (-3) % v3
"""
