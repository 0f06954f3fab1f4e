"""The CPU build hands on what the iteration before has written, and takes it last; no value changes."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.cpu.lowering.loops import late
from allo.ir.types import float32, index, int16, int32, uint8
from benchmarks import cpu_edit_distance
from tests.cpu.test_meetings import N, compare


def table(a: uint8[N], b: uint8[N], D: int32[N + 1, N + 1]):
    for i in range(1, N + 1):
        for j in range(1, N + 1):
            cost: int32 = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(min(D[i - 1, j] + 1, D[i, j - 1] + 1), D[i - 1, j - 1] + cost)


def running_sum(v: float32[N]):
    for i in range(1, N):
        v[i] += v[i - 1]


def downwards(v: int32[N]):
    for i in range(N - 1):
        v[N - 2 - i] = v[N - 2 - i] * 3 + v[N - 1 - i]


def by_twos(v: int32[N], w: int32[N]):
    for i in range(2, N, 2):
        v[i] = v[i - 2] * 5 + w[i]
        w[i] = w[i - 2] - v[i - 2]


def diagonal(p: int32[N, N]):
    for i in range(N - 1):
        p[i + 1, i + 1] = p[i, i] * 3 + p[i + 1, i]


def under_a_condition(v: int32[N], w: int32[N]):
    for i in range(1, N):
        x: int32 = w[i]
        if x > 0:
            x += v[i - 1]
        v[i] = max(max(x, v[i - 1] - 7), w[i] * 2)


def two_writes(v: int32[N]):
    for i in range(1, N - 1):
        v[i] = v[i - 1] * 3
        v[i + 1] = v[i] + 1


def written_at_times(v: int32[N], w: int32[N]):
    for i in range(1, N):
        if w[i] > 0:
            v[i] = v[i - 1] + w[i]


def two_before(v: int32[N]):
    for i in range(2, N):
        v[i] = v[i - 2] * 3 + v[i]


def perhaps_never(v: int32[N], n: index):
    for i in range(1, n):
        v[i] += v[i - 1]


def add_shifted(v: int32[N], w: int32[N]):
    for i in range(1, N):
        v[i] += w[i - 1]


def one_array_twice(v: int32[N]):
    add_shifted(v, v)


def gathered(v: int32[N], w: int32[N]):
    for i in range(1, N):
        at: index = w[i] & 7
        v[i] = v[i - 1] * 3 + v[at]


CARRIED = {
    "table": (table, 1),
    "running_sum": (running_sum, 1),
    "downwards": (downwards, 1),
    "by_twos": (by_twos, 2),
    "diagonal": (diagonal, 1),
    "under_a_condition": (under_a_condition, 1),
    "gathered": (gathered, 1),
}
LOADED = {
    "two_writes": two_writes,
    "written_at_times": written_at_times,
    "two_before": two_before,
    "perhaps_never": perhaps_never,
}
ALL = {name: kernel for name, (kernel, _) in CARRIED.items()} | LOADED


def carried(kernel) -> int:
    """How many values the loops of a built kernel carry."""
    text = str(allo.customize(kernel).build().intermediate_module)
    return sum(
        line.split("iter_args(")[1].split(")")[0].count("=")
        for line in text.splitlines()
        if "iter_args(" in line
    )


@pytest.mark.parametrize("name", CARRIED)
def test_what_was_written_before_is_carried(name: str) -> None:
    kernel, values = CARRIED[name]
    assert carried(kernel) == values


@pytest.mark.parametrize("name", LOADED)
def test_what_may_be_another_element_is_loaded(name: str) -> None:
    assert carried(LOADED[name]) == 0


@pytest.mark.parametrize("name", ALL)
def test_every_element_is_what_python_computes(name: str) -> None:
    if name == "table":
        arrays_of_table()
        return
    for seed in range(3):
        compare(ALL[name], seed)


def test_no_loop_is_looked_for_where_operations_were_erased(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A handle to an erased operation reads freed memory."""
    done: list[str] = []

    def noted(name: str) -> None:
        wrapped = getattr(late, name)
        monkeypatch.setattr(late, name, lambda *args: (done.append(name), wrapped(*args))[1])

    noted("is_affine_loop")
    noted("_order")
    allo.customize(table).build()
    assert "_order" in done and "is_affine_loop" in done
    assert "is_affine_loop" not in done[done.index("_order") :]


def arrays_of_table() -> None:
    """The table of distances, with every kind of neighbour, those that wrap in 32 bits among them."""
    rng = np.random.default_rng(4)
    a, b = (rng.integers(0, 3, N).astype(np.uint8) for _ in range(2))
    for low, high in ((-5, 60), (2**31 - 4, 2**31)):
        found = rng.integers(low, high, (N + 1, N + 1)).astype(np.int32)
        expected = found.copy()
        allo.customize(table).build()(a, b, found)
        allo.interpret(table)(a, b, expected)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_one_array_for_two_parameters(seed: int) -> None:
    """What is read through one parameter is what has been written through the other."""
    compare(one_array_twice, seed)


def chain(v: int32[N], w: int32[N]) -> int16:
    last: int16 = 9
    for i in range(N):
        last = min(min(min(last + 1, v[i]), w[i]), v[i] + w[i])
    return last


def test_what_comes_late_is_taken_last() -> None:
    """The scalar of the iteration before is an operand of the last minimum only."""
    text = str(allo.customize(chain).build().intermediate_module)
    lines = [line.strip() for line in text.splitlines()]
    choices = [line for line in lines if "arith.minsi" in line]
    late = [line.split(" = ")[0] for line in lines if "arith.addi" in line and "%c1" in line]
    assert len(choices) == 3
    assert [any(value in choice for value in late) for choice in choices] == [False, False, True]
    rng = np.random.default_rng(1)
    v, w = (rng.integers(-300, 300, N).astype(np.int32) for _ in range(2))
    assert allo.customize(chain).build()(v, w) == allo.interpret(chain)(v, w)


def test_the_benchmark_compares_with_c(tmp_path) -> None:
    target = tmp_path / "figures.json"
    assert cpu_edit_distance.main(["--length", "64", "--json", str(target)]) in (0, 1)
    assert "edit_distance" in target.read_text()
