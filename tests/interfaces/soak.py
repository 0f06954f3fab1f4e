"""Many runs of random designs with random stalls on every bus: ``scripts/soak-buses``.

A design is a kernel, element types, extents, partitions, and for each array an interface with a width,
a longest burst and a number of bursts under way. Each is run with some seeds, and every element of what
it leaves is compared with the CPU build. A broken rule of a bus, a wrong element or a run that does not
end is a failure.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import allo
from allo import Partition
from allo.errors import AlloError, PartitionWarning
from allo.ir.types import Fixed, Int, UInt, float32, int8, int16, int32, int64, uint8

from .kernels import agree, build, values

RUNS = 20
"""Runs of one design."""
TYPES = (
    int8,
    int16,
    int32,
    int64,
    uint8,
    Int(7),
    UInt(13),
    Int(33),
    Int(100),
    float32,
    Fixed(13, 5),
)
STALLS = (0.05, 0.3, 0.6)


@dataclass(frozen=True, slots=True)
class Case:
    """A design, and how its arguments are drawn."""

    schedule: Any
    draw: Callable[[np.random.Generator], list[Any]]
    arrays: tuple[str, ...]


def mapped(rng: np.random.Generator) -> Case:
    """Each element of B from that of A, in order."""
    T = TYPES[rng.integers(len(TYPES))]
    M, N = (int(n) for n in rng.integers(1, 14, 2))

    def shift(k: T, A: T[M, N], B: T[M, N]):
        for i, j in allo.grid(M, N):
            B[i, j] = A[i, j] + k

    schedule = allo.customize(shift)
    if rng.integers(2):
        schedule.pipeline("j")

    def draw(rng: np.random.Generator) -> list[Any]:
        k = values(rng, T, (1,))[0] if T.bits <= 64 else int(rng.integers(-1000, 1000))
        return [k, values(rng, T, (M, N)), values(rng, T, (M, N))]

    return Case(schedule, draw, ("A", "B"))


def partly(rng: np.random.Generator) -> Case:
    """Some elements of B, back to front; the others keep what they hold."""
    T = TYPES[rng.integers(len(TYPES))]
    N = int(rng.integers(1, 400))
    M = int(rng.integers(1, N + 1))

    def some(A: T[N], B: T[N]):
        for i in range(M):
            B[i] = A[N - 1 - i]

    return Case(
        allo.customize(some),
        lambda rng: [values(rng, T, (N,)), values(rng, T, (N,))],
        ("A", "B"),
    )


def product(rng: np.random.Generator) -> Case:
    """A product of matrices, added to what is there; the sum of all is returned."""
    M, N, K = (int(n) for n in rng.integers(1, 8, 3))

    def gemm(A: int8[M, K], B: int8[K, N], C: int32[M, N]) -> int32:
        total: int32 = 0
        for i, j in allo.grid(M, N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]
            total += C[i, j]
        return total

    def draw(rng: np.random.Generator) -> list[Any]:
        return [
            values(rng, int8, (M, K)),
            values(rng, int8, (K, N)),
            values(rng, int32, (M, N)),
        ]

    return Case(allo.customize(gemm), draw, ("A", "B", "C"))


def twice(rng: np.random.Generator) -> Case:
    """A triangle of C that two nests write, the second one in rows of another order."""
    N, far = int(rng.integers(2, 22)), int(rng.integers(2))

    def both(A: int32[N, N], C: int32[N, N]):
        for i in range(N):
            for j in range(i + 1):
                C[i, j] += A[j, i]
        for i1 in range(N):
            for j1 in range(N):
                C[i1 if far == 0 else N - 1 - i1, j1] += A[i1, j1]

    schedule = allo.customize(both)
    for loops in (("i", "j"), ("i1", "j1")):
        if rng.integers(4):
            loop = loops[rng.integers(2)]
            schedule.pipeline(loop, initiation_interval=int(rng.integers(1, 9)))
    return Case(
        schedule, lambda rng: [values(rng, int32, (N, N)), values(rng, int32, (N, N))], ("A", "C")
    )


def _partition(case: Case, rng: np.random.Generator) -> None:
    for name in case.arrays:
        kind = (None, Partition.Cyclic, Partition.Block, Partition.Complete)[rng.integers(4)]
        if kind is None:
            continue
        factor = int(2 ** rng.integers(1, 4))
        dim = int(rng.integers(1, 3)) if case.arrays != ("A", "B") or rng.integers(2) else 1
        with suppress(AlloError), warnings.catch_warnings():
            warnings.simplefilter("ignore", PartitionWarning)
            target = getattr(case.schedule, name)
            case.schedule.partition(target, dim=dim, partition_type=kind, factor=factor)


def _master(rng: np.random.Generator, *, bundle: str = "") -> dict[str, Any]:
    asked: dict[str, Any] = {"kind": "m_axi"}
    if bundle:
        return asked | {"bundle": bundle, "width": 64, "burst": 16, "outstanding": 3}
    if rng.integers(3):
        asked["width"] = int(2 ** rng.integers(5, 10))
    if rng.integers(2):
        asked["burst"] = int(2 ** rng.integers(0, 9))
    if rng.integers(2):
        asked["outstanding"] = int(rng.integers(1, 20))
    return asked


def masters(rng: np.random.Generator) -> tuple[Case, Any]:
    """Arrays behind AXI4 masters."""
    case = (mapped, partly, product)[rng.integers(3)](rng)
    _partition(case, rng)
    shared = "mem" if not rng.integers(4) else ""
    return case, {name: _master(rng, bundle=shared) for name in case.arrays}


def tiled(rng: np.random.Generator) -> Case:
    """Tiles of matrices, each cached at its loops, in place or from one matrix to another."""
    T = TYPES[rng.integers(len(TYPES))]
    L = int(rng.integers(1, 6))
    P, Q, R, C = (int(n) for n in rng.integers(1, 5, 4))
    M, N, W = P * R, Q * C * L, C * L

    def scale(A: T[M, N], B: T[M, N], y: T[M]):
        for p, q in allo.grid(P, Q):
            for r in range(R):
                for c in range(W):
                    B[p * R + r, q * W + c] = B[p * R + r, q * W + c] + A[p * R + r, q * W + c]
        for m in range(M):
            y[m] = 0 if M == 1 else y[m]

    schedule = allo.customize(scale)
    at = ("p", "q")[rng.integers(2)]
    doubled = bool(rng.integers(2))
    for name in ("A", "B"):
        if rng.integers(4) or doubled:
            target = getattr(schedule, name)
            made = schedule.cache(target, at=at, double_buffer=doubled, lanes=L)
            for each in (target, made) if L > 1 else ():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PartitionWarning)
                    columns = (N if at == "p" else W) > 1
                    dim = 2 if each is target or (R > 1 and columns) else 1
                    schedule.partition(each, partition_type=Partition.Cyclic, dim=dim, factor=L)
    schedule.pipeline("c")

    def draw(rng: np.random.Generator) -> list[Any]:
        return [values(rng, T, shape) for shape in ((M, N), (M, N), (M,))]

    return Case(schedule, draw, ("A", "B", "y"))


def cached(rng: np.random.Generator) -> tuple[Case, Any]:
    """Arrays that pass while the design runs."""
    case = tiled(rng)
    return case, {name: _master(rng) for name in case.arrays}


def gathered(rng: np.random.Generator) -> tuple[Case, Any]:
    """Elements that data decide, asked for one by one; an element of z may decide which one of x."""
    T = TYPES[rng.integers(len(TYPES))]
    M, N = (int(n) for n in rng.integers(2, 300, 2))
    chained, every = bool(rng.integers(2)), int(rng.integers(1, 4))

    def pick(at: int32[N], z: int32[M], x: T[M], y: T[N]):
        for i in range(N):
            if i % every == 0:
                y[i] = x[z[at[i]]]
            else:
                y[i] = x[at[i]]

    def both(at: int32[N], z: int32[M], x: T[M], y: T[N]):
        for i in range(N):
            k: int32 = z[at[i]]
            if k % every == 0:
                y[i] = x[M - 1 - at[i]]

    schedule = allo.customize(pick if chained else both)
    if rng.integers(4):
        schedule.pipeline("i")

    def draw(rng: np.random.Generator) -> list[Any]:
        places = [rng.integers(0, M, n).astype(np.int32) for n in (N, M)]
        return [*places, values(rng, T, (M,)), values(rng, T, (N,))]

    asked = {name: _master(rng) for name in ("at", "z", "x", "y")}
    for name in ("z", "x"):
        asked[name]["copy"] = False
        bits = T.bits if name == "x" else 32
        if "width" in asked[name]:
            asked[name]["width"] = max(asked[name]["width"], 1 << (bits - 1).bit_length())
    return Case(schedule, draw, tuple(asked)), asked


def scattered(rng: np.random.Generator) -> tuple[Case, Any]:
    """Elements that data decide, stored one by one, or loaded and stored; often the same ones again."""
    T = TYPES[rng.integers(len(TYPES))]
    M, N = (int(n) for n in rng.integers(2, 300, 2))
    every, few = int(rng.integers(1, 4)), int(rng.integers(1, M + 1))

    def put(at: int32[N], v: T[N], B: T[M]):
        for i in range(N):
            if at[i] % every == 0:
                B[at[i]] = v[i]

    def updated(at: int32[N], v: T[N], B: T[M]):
        for i in range(N):
            B[at[i]] = B[at[i]] + v[i]

    def moved(at: int32[N], v: T[N], B: T[M]):
        for i in range(N):
            if i % (every + 1) == 0:
                B[at[i]] = B[at[N - 1 - i]]
            else:
                B[M - 1 - at[i]] = v[i]

    def twice(at: int32[N], v: T[N], B: T[M]):
        for i in range(N):
            B[at[i]] = B[at[i]] + v[i]
            B[at[N - 1 - i]] = B[M - 1 - at[i]]

    schedule = allo.customize((put, updated, moved, twice)[rng.integers(4)])
    if rng.integers(4):
        schedule.pipeline("i")

    def draw(rng: np.random.Generator) -> list[Any]:
        return [
            rng.integers(0, few, N).astype(np.int32),
            values(rng, T, (N,)),
            values(rng, T, (M,)),
        ]

    asked = {name: _master(rng) for name in ("at", "v", "B")}
    asked["B"]["copy"] = False
    if "width" in asked["B"]:
        asked["B"]["width"] = max(asked["B"]["width"], 1 << (T.bits - 1).bit_length())
    return Case(schedule, draw, tuple(asked)), asked


def spread(rng: np.random.Generator) -> tuple[Case, Any]:
    """Arrays on several masters, which they share: engines behind arbiters, beside the core or copied."""
    case = (mapped, partly, product, tiled, tiled)[rng.integers(5)](rng)
    if case.arrays[-1] != "y":
        _partition(case, rng)
    every = [f"m{n}" for n in range(4)]
    alike = {
        "width": int(2 ** rng.integers(5, 10)),
        "burst": int(2 ** rng.integers(0, 6)),
        "outstanding": int(rng.integers(1, 20)),
    }
    asked = {}
    for name in case.arrays:
        some = [str(each) for each in rng.permutation(every)[: 2 ** rng.integers(3)]]
        asked[name] = {"kind": "m_axi", "bundle": some, **alike}
        if not rng.integers(3):
            asked[name]["copy"] = True
    return case, asked


def tasks(rng: np.random.Generator) -> Case:
    """Three tasks at once: two that go through A and C apart, and one that joins what they leave."""
    T = TYPES[rng.integers(len(TYPES))]
    M, N = (int(n) for n in rng.integers(1, 14, 2))

    def joined(A: T[M, N], B: T[M, N], C: T[M, N]):
        left: T[M, N]
        right: T[M, N]
        for i, j in allo.grid(M, N):
            left[i, j] = A[M - 1 - i, j] + A[i, j]
        for i1, j1 in allo.grid(M, N):
            C[i1, j1] = C[i1, j1] + C[i1, N - 1 - j1]
            right[i1, j1] = C[i1, j1]
        for i2, j2 in allo.grid(M, N):
            B[i2, j2] = B[M - 1 - i2, j2] + left[i2, j2] + right[i2, j2]

    schedule = allo.customize(joined)
    for loop in ("j", "j1", "j2"):
        if rng.integers(2):
            schedule.pipeline(loop)
    if rng.integers(4):
        schedule.dataflow("joined")

    def draw(rng: np.random.Generator) -> list[Any]:
        return [values(rng, T, (M, N)) for _ in range(3)]

    return Case(schedule, draw, ("A", "B", "C"))


def early(rng: np.random.Generator) -> tuple[Case, Any]:
    """Arrays that are copied while the core runs, some on shared masters, beside others that pass."""
    case = (mapped, partly, product, tasks, tasks, twice, twice)[rng.integers(7)](rng)
    _partition(case, rng)
    shared = "mem" if not rng.integers(4) else ""
    asked = {name: _master(rng, bundle=shared) for name in case.arrays}
    for fields in asked.values():
        fields |= {"early": bool(rng.integers(4))} | ({"copy": True} if rng.integers(4) else {})
    return case, asked


def streams(rng: np.random.Generator) -> tuple[Case, Any]:
    """Arrays that are AXI4-Streams; scalars are registers or ports."""
    case = mapped(rng)
    return case, {"A": "axis", "B": "axis", "k": ("s_axilite", "port")[rng.integers(2)]}


def memories(rng: np.random.Generator) -> tuple[Case, Any]:
    """Arrays at ports of RAM, started by registers or by ports."""
    case = (mapped, partly, product)[rng.integers(3)](rng)
    _partition(case, rng)
    return case, {"return": ("s_axilite", "port")[rng.integers(2)]}


def mixed(rng: np.random.Generator) -> tuple[Case, Any]:
    """Each array with an interface of its own."""
    case = mapped(rng)
    return case, {
        name: ("axis", "memory", _master(rng))[rng.integers(3)] for name in case.arrays
    } | {"return": "s_axilite"}


def registers(rng: np.random.Generator) -> tuple[Case, Any]:
    """Scalars alone, in control registers, and a result there."""
    T, U = (TYPES[rng.integers(len(TYPES))] for _ in range(2))

    def chosen(which: int8, a: T, b: T, c: U) -> T:
        kept: U = c
        found: T = a
        if which > 0:
            found = a + b
        if kept > 0:
            found = b
        return found

    def drawn(rng: np.random.Generator, dtype: Any) -> Any:
        return values(rng, dtype, (1,))[0] if dtype.bits <= 64 else int(rng.integers(-1000, 1000))

    return Case(allo.customize(chosen), lambda rng: [drawn(rng, t) for t in (int8, T, T, U)], ()), {
        "return": "s_axilite"
    }


INTERFACES = {
    "m_axi": masters,
    "cached": cached,
    "gathered": gathered,
    "spread": spread,
    "axis": streams,
    "memory": memories,
    "mixed": mixed,
    "s_axilite": registers,
    "scattered": scattered,
    "early": early,
}
OUTSIDE = ("m_axi", "cached", "gathered", "scattered", "spread", "axis", "s_axilite")
"""Those whose other ends cocotbext-axi has."""


@dataclass(slots=True)
class Tally:
    """What came of the runs of one interface."""

    designs: int = 0
    runs: int = 0
    cycles: int = 0
    failures: int = 0


def soak(kind: str, runs: int, seed: int = 0, engine: str = "jit") -> Tally:
    """At least ``runs`` runs of random designs; a failure is printed with what it takes to repeat it."""
    tally = Tally()
    while tally.runs < runs:
        number = seed + tally.designs
        rng = np.random.default_rng((number, list(INTERFACES).index(kind)))
        case, interface = INTERFACES[kind](rng)
        stalls = STALLS[rng.integers(len(STALLS))]
        many = min(RUNS, runs - tally.runs)
        tally.designs += 1
        tally.runs += many
        try:
            if engine == "cocotb":
                tally.cycles += _outside(case, interface, stalls, many)
                continue
            module = build(case.schedule, interface, engine, stalls)
            tally.cycles += sum(agree(case.schedule, module, case.draw, tuple(range(many))))
        except (AlloError, AssertionError) as error:
            tally.failures += 1
            sys.stdout.write(f"{kind}: design {number}, {interface}, stalls {stalls}: {error}\n")
    return tally


def _outside(case: Case, interface: Any, stalls: float, many: int) -> int:
    """Runs under cocotbext-axi; their cycles."""
    from .cocotb_axi.outside import Plan

    plan = Plan(case.schedule, build(case.schedule, interface, "jit", 0), stalls)
    for seed in range(many):
        plan.add(case.draw(np.random.default_rng(seed)), seed)
    with tempfile.TemporaryDirectory() as folder:
        wrong = plan.simulate(Path(folder))
    assert not wrong, "; ".join(wrong)[:2000]
    return plan.cycles


def main() -> int:
    """Run from the command line; the number of failures says how it went."""
    parser = argparse.ArgumentParser("scripts/soak-buses", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="of each interface")
    parser.add_argument("--seed", type=int, default=0, help="of the first design")
    parser.add_argument("--engine", choices=("jit", "verilator", "cocotb"), default="jit")
    given = parser.parse_args()
    failures = 0
    for kind in OUTSIDE if given.engine == "cocotb" else INTERFACES:
        found = soak(kind, given.runs, given.seed, given.engine)
        failures += found.failures
        sys.stdout.write(
            f"{kind:9} {found.runs} runs of {found.designs} designs, {found.cycles} cycles, "
            f"{found.failures} designs failed\n"
        )
        sys.stdout.flush()
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
