"""Found by scripts/fuzz, seed 30009696: wrong jit: stuck.

call 0: an answer in place of stuck, by the oracle
"""

# Schedule:
#     s.pipeline(loop(p0_0, S_t0_0, r3), 1)
PROGRAM = {
    "seed": 30009696,
    "top": "top",
    "arguments": [
        {
            "name": "A0",
            "kind": "UInt(32)",
            "bits": 32,
            "frac": 0,
            "shape": [12],
            "fields": [],
            "values": "any",
        },
        {
            "name": "Z0",
            "kind": "UInt(129)",
            "bits": 129,
            "frac": 0,
            "shape": [12],
            "fields": [],
            "values": "any",
        },
        {
            "name": "A1",
            "kind": "Int(16)",
            "bits": 16,
            "frac": 0,
            "shape": [2],
            "fields": [],
            "values": "any",
        },
        {
            "name": "Z1",
            "kind": "Int(55)",
            "bits": 55,
            "frac": 0,
            "shape": [2],
            "fields": [],
            "values": "any",
        },
        {
            "name": "n",
            "kind": "UInt(32)",
            "bits": 32,
            "frac": 0,
            "shape": None,
            "fields": [],
            "values": "any",
        },
    ],
    "instantiate": [],
    "region": True,
    "runs": 1,
    "steps": [
        {"primitive": "pipeline", "args": [{"loop": ["p0_0", "S_t0_0", "r3"]}, 1], "kwargs": []}
    ],
    "features": ["deadlock", "networks", "runtime subscripts"],
    "exact": True,
    "deadlock": True,
}

SOURCE = """
import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream

@df.region()
def top(A0: UInt(32)[12], Z0: UInt(129)[12], A1: Int(16)[2], Z1: Int(55)[2], n: UInt(32)):
    s0: Stream[Fixed(7, 4), 1]
    s1: Stream[Int(16), 2]

    @df.kernel(mapping=[1], args=[A0, Z0])
    def p0(a0: UInt(32)[12], z0: UInt(129)[12]):
        for t0 in range(12):
            z0[t0] = a0[t0] + a0[(t0 + 1) % 12]
            for r1 in range(1):
                x2: Fixed(7, 4) = a0[r1]
                s0.put(x2)
            for r3 in range(1):
                x4: Int(16) = min(a0[(r3 + 1) % 12], a0[n % 12])
                s1.put(x4)

    @df.kernel(mapping=[1], args=[A1, Z1])
    def p1(a1: Int(16)[2], z1: Int(55)[2]):
        for t1 in range(2):
            v5: Fixed(7, 4) = 0
            for r6 in range(6):
                v5 += s0.get()
            v7: Int(16) = 0
            for r8 in range(6):
                v7 += s1.get()
            z1[t1] = v5 * v7
"""
