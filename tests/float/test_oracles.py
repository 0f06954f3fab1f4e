"""The checks themselves: a fault planted in a unit's text must be found."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.netlist.operations import Gate, Mux, Operation
from allo.backend.rtl.operators import Operator, OperatorLibrary

from . import soft
from .accuracy import measure
from .harness import CompiledUnit
from .vectors import from_host, operand_pairs, to_host

_KEPT = ("and", "or", "add", "sub")
_SWAP = {"and": "or", "or": "xor", "add": "sub", "sub": "add", "xor": "or"}


def planted(operator: Operator, rng: random.Random) -> tuple[Operator, str]:
    """The operator with one gate exchanged or one multiplexer's inputs swapped."""
    assert operator.unit_module is not None
    module = operator.unit_module("rtl")
    body = module.operations
    places = [
        i
        for i, op in enumerate(body)
        if isinstance(op, Mux) or isinstance(op, Gate) and op.name.removeprefix("comb.") in _KEPT
    ]
    place = rng.choice(places)
    right = body[place]
    if isinstance(right, Gate):
        name = f"comb.{_SWAP[right.name.removeprefix('comb.')]}"
        wrong: Operation = Gate(name, right.result, right.operands, right.width)
    else:
        condition, then, other = right.operands
        wrong = right.renamed(right.result, (condition, other, then))
    changed = module.with_body([*body[:place], wrong, *body[place + 1 :]])
    return replace(operator, unit_module=lambda kind: changed), right.text()


def test_exhaustive_check_finds_planted_faults() -> None:
    kind = FORMATS["f8E4M3"]
    operator = OperatorLibrary().find("arith.addf", (kind.name,) * 2, kind.name)
    left, right = (x.ravel().astype(np.uint64) for x in np.meshgrid(range(256), range(256)))
    expected = np.array(
        [soft.add(int(a), int(b), kind) for a, b in zip(left, right, strict=True)], dtype=np.uint64
    )
    rng = random.Random(1)
    survived = []
    for _ in range(16):
        faulty, line = planted(operator, rng)
        if np.array_equal(CompiledUnit(faulty)(left, right), expected):
            survived.append(line)
    assert len(survived) <= 4, survived


def test_random_vectors_find_planted_faults() -> None:
    kind = FORMATS["f32"]
    operator = OperatorLibrary().find("arith.mulf", (kind.name,) * 2, kind.name)
    a, b = operand_pairs(kind, 60_000, np.random.default_rng(3))
    with np.errstate(all="ignore"):
        expected = from_host(to_host(a, kind) * to_host(b, kind), kind)
    rng = random.Random(2)
    survived = []
    for _ in range(10):
        faulty, line = planted(operator, rng)
        if np.array_equal(CompiledUnit(faulty)(a, b), expected):
            survived.append(line)
    assert len(survived) <= 3, survived


def test_measure_sees_one_ulp_wrong_signs_and_a_missing_nan() -> None:
    exact = np.array([1.0, 2.0, 0.0, np.nan, np.inf])
    found = exact.astype(np.float32)
    assert measure(found, exact, exact) == measure(found.copy(), exact, exact)
    assert measure(found, exact, exact).ulp == 0
    off = found.copy()
    off[1] = np.nextafter(off[1], np.float32(3))
    assert measure(off, exact, exact).ulp == 1.0
    signed = found.copy()
    signed[2] = -0.0
    signed[3] = 1.0
    signed[4] = -np.inf
    wrong = measure(signed, exact, exact)
    assert wrong.wrong == 3 and "nan" in wrong.example
