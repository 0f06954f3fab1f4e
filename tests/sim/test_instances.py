"""Several instances of one compiled model, whichever goes first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Freed memory is overwritten, so that a use of an instance's parts after its end is seen.
_MALLOC = {"MALLOC_PERTURB_": "219"}
_KERNEL = """
import allo
from allo.ir.types import float32

def squares(A: float32[4]) -> float32[4]:
    B: float32[4] = 0
    for i in range(4):
        B[i] = A[i] * A[i]
    return B
"""
_PROGRAM = """
import gc, itertools, sys
import allo, numpy as np
from kernel import squares

for order in itertools.permutations(range(3)):
    models = {}
    for number in range(3):
        models[number] = allo.customize(squares).build(target="verilog", simulator=sys.argv[1])
        assert models[number](np.full(4, 3, np.float32)).tolist() == [9.0] * 4
    for number in order:
        del models[number]
        gc.collect()
        for other in models.values():
            assert other(np.full(4, 2, np.float32)).tolist() == [4.0] * 4
print("done")
"""


@pytest.mark.parametrize("simulator", ["verilator", "jit"])
def test_instances_end_in_any_order(simulator: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(_KERNEL)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, simulator],
        cwd=tmp_path,
        env={**os.environ, **_MALLOC},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "done\n"
