"""sink: a loop goes inside those of its body, which become one loop around it."""

import numpy as np
import pytest

import allo
from allo.designs.polybench.kernels import load, plain
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import float32, int32
from tests.schedule.support import refused

SIZE = (5, 6)


def shifted(A: int32[6, 6]):
    for i in range(1, 6):
        for j in range(5):
            A[i, j] += A[i - 1, j + 1]


def beside(A: int32[4, 4], B: int32[4]):
    for i in range(4):
        B[i] = i
        for j in range(4):
            A[i, j] = B[i]


def unequal(A: int32[4, 4]):
    for i in range(4):
        for j in range(4):
            A[i, j] = 0
        for k in range(i):
            A[i, k] = 1


def carried(A: int32[4, 5], B: int32[4, 5]):
    for i in range(4):
        t: int32[3] = 0
        for j in range(3):
            t[j] = A[i, j]
        for k in range(3):
            B[i, k] = t[2 - k]


def stays(A: int32[4, 4], B: int32[4, 4]):
    for i in range(4):
        t: int32[2]
        for j in range(4):
            for k in range(2):
                if j < 1:
                    t[k] = A[i, k]
            B[i, j] = t[0] + t[1]


def flat(A: int32[4]):
    for i in range(4):
        A[i] = i


@pytest.mark.parametrize(
    "target", [{}, {"target": "verilog", "simulator": "jit"}], ids=["cpu", "rtl"]
)
def test_a_body_of_several_loops_keeps_its_bits(target) -> None:
    """symm sets, adds up and reads a vector in the body of a loop over rows."""
    s = plain("symm", SIZE)
    around = s.sink("i")
    assert str(around) == "LoopWrapper(symm:S_i_0.j)"
    assert [name for name, _ in s.get_loops()["S_i_0"]] == ["j", "i", "k"]
    assert "memref<6xf32>" not in str(s.module), "an element of the vector is left"
    ours, theirs = (load("symm").inputs(np.random.default_rng(3), SIZE) for _ in range(2))
    s.build(**target)(*ours)
    plain("symm", SIZE).build()(*theirs)
    assert ours[2].tobytes() == theirs[2].tobytes()


def test_what_breaks_is_refused() -> None:
    s = allo.customize(shifted)
    broken = r"Cannot sink i: it breaks a read after write dependence on A"
    refused(s, IllegalTransformError, broken, lambda: s.sink("i"))
    s = allo.customize(carried)
    refused(s, IllegalTransformError, r"Cannot sink i: it breaks", lambda: s.sink("i"))
    s = allo.customize(stays)
    refused(s, IllegalTransformError, r"dependence on t", lambda: s.sink("i"))


def test_other_bodies_are_refused() -> None:
    for kernel, loop, message in (
        (
            beside,
            "i",
            r"test_sink\.py:\d+:\d+: Cannot sink i: its body holds a statement beside loops\.",
        ),
        (unequal, "i", r"the loops of its body do not have the same constant bounds\."),
        (flat, "i", r"Cannot sink i: its body holds a statement beside loops\."),
    ):
        s = allo.customize(kernel)
        refused(s, ScheduleError, message, lambda s=s, loop=loop: s.sink(loop))


def halves(A: float32[4], B: float32[4]):
    for i in range(4):
        A[i] = A[i] * 0.5
    for j in range(4):
        B[j] = A[j] * 0.5


def test_a_nest_of_one_loop_is_no_nest() -> None:
    s = allo.customize(halves)
    with pytest.raises(ScheduleError, match="make the statement a loop"):
        s.sink("j")
