"""Wrappers under cocotbext-axi, whose masters, slaves and streams others wrote, with random delays.

``scripts/soak-buses --engine cocotb`` runs a thousand of each interface.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import find_libpython
import numpy as np
import pytest

import allo
from allo.backend.rtl.interfaces import shell
from allo.ir.types import Int, int16, int32
from tests.verilog.readers import HAS_ICARUS

from .cocotb_axi.outside import Plan
from .kernels import build, doubled, values
from .planted import plant
from .test_rules import FAULTS

HAS_PYTHON = find_libpython.find_libpython() is not None
pytestmark = pytest.mark.skipif(
    not (HAS_ICARUS and HAS_PYTHON), reason="cocotb needs Icarus Verilog and Python as a library"
)
EXTENT = 1061
SEEN = {
    "a burst crosses a page": "assert 0x1000-",
    "WLAST on every word": "assert last == ",
    "WLAST missing": "assert last == ",
    "bytes behind the array": "run 0: B in memory is ",
    "the size of a word": "run 0: B in memory is ",
    "the type of a burst": "run 0: B in memory is ",
    "strobes of a register": "ValueError: register ",
    "done that reading does not clear": "control after done was read is 0x[0-9a-f]+ in place of 0x4",
}


def mixed(k: Int(7), A: int16[6, 5], B: Int(13)[6, 5], C: int32[30]) -> int32:
    total: int32 = 0
    for i, j in allo.grid(6, 5):
        B[i, j] = A[i, j] + k
        total += C[i * 5 + j]
        C[i * 5 + j] = A[i, j] * k
    return total


def planned(schedule: Any, interface: Any, draw: Any, runs: int) -> Plan:
    plan = Plan(schedule, build(schedule, interface, "jit", 0), 0.3)
    for seed in range(runs):
        plan.add(draw(np.random.default_rng(seed)), seed)
    return plan


def test_every_interface_under_a_model_of_others(tmp_path: Path) -> None:
    def draw(rng: np.random.Generator) -> list[Any]:
        shapes = ((int16, (6, 5)), (Int(13), (6, 5)), (int32, (30,)))
        return [int(rng.integers(-64, 64)), *(values(rng, t, s) for t, s in shapes)]

    plan = planned(allo.customize(mixed), {"A": "axis", "B": "axis", "C": "m_axi"}, draw, 8)
    errors = [wanted.registers["bus_error"] for wanted in plan.wanted]
    assert 0 < sum(errors) < len(errors)
    assert plan.simulate(tmp_path) == []
    # A model that saw nothing would find every other element, too.
    plan.wanted[0].streams["B"] = plan.wanted[0].streams["B"][::-1]
    assert plan.compared(tmp_path)[0].startswith("run 0: B is ")


@pytest.mark.parametrize("name", SEEN)
def test_the_model_sees_a_broken_rule(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module, old, new, names, _ = FAULTS[name]
    plant(monkeypatch, module, old, new, *names)
    narrow = {"kind": "m_axi", "width": 32, "outstanding": 2, "copy": True}
    plan = planned(doubled(int16, EXTENT), {"A": narrow, "B": narrow}, _pair, 3)
    wrong = plan.simulate(tmp_path)[0]
    assert re.search(SEEN[name], wrong), wrong


def test_the_model_sees_a_wrong_sign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = "end.width, end.cell, signed=end.signed)"
    plant(monkeypatch, shell, old, "end.width, end.cell, signed=False)", "_Shell")
    plan = planned(doubled_stream(), {"A": "axis", "B": "axis"}, _thirteen, 1)
    [wrong] = plan.simulate(tmp_path)
    assert wrong.startswith("run 0: B is ")


def doubled_stream() -> Any:
    def negated(A: Int(13)[9], B: Int(13)[9]):
        for i in range(9):
            B[i] = A[i]

    return allo.customize(negated)


def _pair(rng: np.random.Generator) -> list[Any]:
    return [values(rng, int16, (EXTENT,)) for _ in range(2)]


def _thirteen(rng: np.random.Generator) -> list[Any]:
    return [values(rng, Int(13), (9,)) for _ in range(2)]
