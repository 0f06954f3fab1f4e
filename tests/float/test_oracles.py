"""The checks themselves: a fault planted in a unit's text must be found."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np

from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.operators import Operator, OperatorLibrary

from . import soft
from .accuracy import measure
from .harness import CompiledUnit
from .vectors import from_host, operand_pairs, to_host

_SWAP = {"and": "or", "or": "xor", "add": "sub", "sub": "add", "xor": "or"}


def planted(operator: Operator, rng: random.Random) -> tuple[Operator, str]:
    """The operator with one gate exchanged or one multiplexer's inputs swapped."""
    assert operator.unit_text is not None
    lines = operator.unit_text("rtl").splitlines()
    places = [i for i, line in enumerate(lines) if re.search(r"comb\.(and|or|add|sub|mux) ", line)]
    place = rng.choice(places)
    line = lines[place]
    if "comb.mux" in line:
        changed = re.sub(r"mux (%\w+), (%\w+), (%\w+)", r"mux \1, \3, \2", line)
    else:
        changed = re.sub(r"comb\.(\w+)", lambda m: f"comb.{_SWAP[m[1]]}", line)
    text = "\n".join([*lines[:place], changed, *lines[place + 1 :]])
    return replace(operator, unit_text=lambda kind: text), line


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
