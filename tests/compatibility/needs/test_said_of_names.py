"""Names that published programs ask for beside a build: the schedule they belong to runs on every target."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.hls import is_available
from allo.errors import BuildError
from allo.ir.types import int32
from tests.compatibility.everywhere import EVERYWHERE, TARGETS, build

N = 8


def scale(X: int32[N], k: int32) -> int32[N]:
    Y: int32[N]
    for i in range(N):
        Y[i] = X[i] * k + X[N - 1 - i]
    return Y


def top(A: int32[N], n: int32) -> int32[N]:
    B: int32[N] = scale(A, n)
    C: int32[N]
    for i in range(N):
        C[i] = B[i] + B[N - 1 - i]
    return C


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        *[(asked, name) for asked in ("top:0", "scale:0", "B") for name in ("cpu", "jit")],
        ("B", "csim"),
    ],
)
def test_arrays_found_by_position_are_partitioned_together(asked: str, target: str):
    s = allo.customize(top)
    names = s.get_equivalent_variables(asked)
    s.partition(sorted(names)[0], Partition.Cyclic, dim=1, factor=2)
    text = str(s.module)
    assert text.count("memref<8xi32, #map>") >= len(names)
    a = np.arange(N, dtype=np.int32) ** 2
    made = 3 * a + a[::-1]
    np.testing.assert_array_equal(s.build(**TARGETS[target])(a, 3), made + made[::-1])


def test_a_program_with_mlirs_own_names_builds_on_every_target(tmp_path: Path):
    """It walks the module by ``allo._mlir`` before each build, as published passes do."""
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent("""\
        import numpy as np
        import allo
        from allo._mlir.dialects import affine, func, memref
        from allo._mlir.ir import InsertionPoint, IntegerAttr, IntegerType, MemRefType, WalkResult
        from allo.ir.types import int32

        def f(A: int32[4]) -> int32[4]:
            B: int32[4]
            for i in range(4):
                B[i] = 2 * A[i]
            return B

        for options in ({}, {"target": "vhls", "mode": "csim"}, {"target": "verilog", "simulator": "jit"}):
            s = allo.customize(f)
            found = []
            def visit(op):
                if isinstance(op.opview, affine.AffineForOp):
                    with s.context:
                        kind = IntegerType.get_unsigned(32)
                        op.attributes["pipeline_ii"] = IntegerAttr.get(kind, 1)
                if isinstance(op.opview, memref.AllocOp):
                    found.append(str(MemRefType(op.opview.result.type)))
                return WalkResult.ADVANCE
            assert isinstance(s.top_func, func.FuncOp)
            s.module.operation.walk(visit)
            module = s.build(**options)
            print(found, module(np.arange(4, dtype=np.int32)))
            if "simulator" in options:
                print(module.report.functions[0].loops[0].ii)
        """)
    )
    said = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=120, check=False
    )
    assert said.stdout.splitlines() == [*["['memref<4xi32>'] [0 2 4 6]"] * 3, "1"], said.stderr


@pytest.mark.parametrize(
    ("backend", "mode"),
    [
        *[(b, "csim") for b in ("pynq", "tapa", "catapult")],
        *[(b, m) for b in ("vhls", "vivado_hls", "vitis_hls") for m in ("debug", "csyn", "impl")],
        *[(b, m) for b in ("pynq", "tapa", "catapult") for m in ("debug", "csyn", "impl")],
    ],
)
def test_what_a_guard_promises_of_a_mode_is_so(backend: str, mode: str, tmp_path: Path):
    """Where the guard is True the mode runs; where it is False the step is refused by name."""
    try:
        promised = is_available(backend, mode=mode)
    except BuildError as error:
        assert f"Invalid mode {mode!r} for target {backend}" in str(error)
        return
    s = allo.customize(top)
    module = s.build(backend, mode=mode, project=str(tmp_path / "p"))
    a, found = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    args = (a, 3, found) if mode == "csim" else ()
    if promised:
        module(*args)
    else:
        with pytest.raises(RuntimeError, match="needs it"):
            module(*args)


def silent():
    x: int32 = 3  # noqa: F841


def speaking():
    for i in range(3):
        print(i * 7)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_top_without_ports_runs_where_it_can(target: str, tmp_path: Path, capfd):
    if target == "jit":
        for kernel in (silent, speaking):
            with pytest.raises(BuildError, match="neither arguments nor results") as caught:
                build(kernel, target, tmp_path)
            assert f"{Path(__file__).name}:{kernel.__code__.co_firstlineno}:5" in str(caught.value)
        return
    assert build(silent, target, tmp_path / "a")() is None
    assert build(speaking, target, tmp_path / "b")() is None
    assert capfd.readouterr().out.split() == ["0", "7", "14"]
