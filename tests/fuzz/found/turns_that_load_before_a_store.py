"""Found by scripts/fuzz, seed 61008159: wrong replay: kernel, body N, …:N:N: …, bank and word …, is … by the source and … by the s.

kernel, body 2, <fuzz 61008159.236>:22:11: w4, bank and word (0, 0), is 0x1 by the source and 0x2 by the schedule
"""

PROGRAM = {
    "seed": 61008159,
    "top": "kernel",
    "arguments": [
        {
            "name": "A0",
            "kind": "float16",
            "bits": 16,
            "frac": 0,
            "shape": [2, 4],
            "fields": [],
            "values": "any",
        },
        {
            "name": "n0",
            "kind": "UInt(15)",
            "bits": 15,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any",
        },
        {
            "name": "n1",
            "kind": "bfloat16",
            "bits": 16,
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
    "features": [
        "bits",
        "casts",
        "control",
        "guards",
        "runtime subscripts",
        "short circuits",
        "ternaries",
        "while",
    ],
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

Tfi32_31 = Fixed(32, 31)
def helper0(s0: UFixed(40, 10)):
    s0 += min(s0, s0)
    s0 += s0 + s0
    w1: int32 = 0
    while w1 < 2:
        w1 += 1
        s0 = abs((w1 * 1e3) + s0)
def helper1(s0: float32):
    v2: UInt(32) = (-(s0 + s0)) != max(s0, s0)
    v2 += abs(100.0)
def kernel(A0: float16[2, 4], n0: UInt(15), n1: bfloat16):
    v3: Fixed(8, 4) = Tfi32_31(n0)
    w4: int32 = 0
    while w4 < 3 and (0 <= n0 < 2 and A0[n0, -3] == (-4096)):
        w4 += 1
        A0[0, 0] = (min(w4, A0[0, 3]) - n0) + A0[0, (n0 if 0 <= n0 < 4 else 2)]
        n1 = ((A0[(w4 if 0 <= w4 < 2 else 0), 0] == A0[(w4 if 0 <= w4 < 2 else 0), 3]) * A0[-2, 1]) <= (A0[1, 2] if v3 > A0[(n0 if 0 <= n0 < 2 else 1), (n0 if 0 <= n0 < 4 else 2)] == A0[1, 3] else A0[min(n0, 1), -2])
        A0[-2, 1] = A0[0][-3] - A0[w4 & 1, -2]
    for i5 in range(1):
        A0[i5, i5] += n0[7:10]
    A0[(n0 if 0 <= n0 < 2 else 0), 1] = max((A0[1, min(n0, 3)] != A0[0][n0 & 3]) if v3 != A0[n0[0:1], (n0 if 0 <= n0 < 4 else 0)] else (n0 if (A0[0][2] >= A0[1, (n0 if 0 <= n0 < 4 else 1)]) and (A0[1, 0] == A0[0, 1]) else A0[1, 2]), max(1, A0[1, 0]))
"""
