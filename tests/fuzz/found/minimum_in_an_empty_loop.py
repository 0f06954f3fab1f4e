"""Found by scripts/fuzz, seed 20007608: crash cpu build: SIGSEGV.

#0 0x00007f7ea34bdf2a (/work/wt/mend/.venv/lib/python3.12/site-packages/pycde/circt/_mlir_libs/_circt.cpython-312-x86_64-linux-gnu.so+0x6ff2a)
"""

PROGRAM = {
    "seed": 20007608,
    "top": "kernel",
    "arguments": [
        {
            "name": "A1",
            "kind": "float16",
            "bits": 16,
            "frac": 0,
            "shape": [2, 2, 1],
            "fields": [],
            "values": "any",
        }
    ],
    "instantiate": [],
    "region": False,
    "runs": 1,
    "steps": [],
    "features": ["control", "short circuits", "ternaries", "triangular bounds", "views"],
    "exact": True,
    "deadlock": False,
}

SOURCE = """
import numpy as np
import allo
import allo.dataflow as df
from allo.ir.types import *
from allo.ir.types import ConstExpr, Stateful, Stream

def kernel(A1: float16[2, 2, 1]):
    for i1 in range(1, 1):
        for i2 in range(2, 1, 1):
            if i2:
                pass
            else:
                for i3 in range(0, min(2, i1 + 2)):
                    A1[0] = 1
"""
