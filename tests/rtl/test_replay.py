"""Rules of the compiler switched off one at a time: schedules that differ from their sources are seen."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import allo
from allo.backend.rtl.graph.addresses import stepping
from allo.backend.rtl.graph.trees import _Planter
from allo.backend.rtl.operators import library
from allo.backend.rtl.operators.families import multiply
from allo.backend.rtl.plan.orders import dependence, order
from allo.backend.rtl.plan.search import pipeline, quick
from allo.backend.rtl.read import accesses
from allo.ir.types import UInt, bfloat16, float32, int8, int32
from tests.replay.watcher import Watcher


def copied_before(A: int32[8], B: int32[8], C: int8[8]):
    for i in range(8):
        B[i] = A[C[i] & 7]
        A[i] = 5


def sums_in_place(A: float32[32]):
    for i in range(31):
        A[i + 1] = A[i] + A[i + 1]


def stored_and_read(A: int32[8], K: int8[8], M: int8[8], B: int32[8]):
    for i in range(8):
        k: int32 = K[i] & 7
        r: int32 = A[k]
        A[M[i] & 7] = r + 5
        B[i] = A[k]


def shifted(b: int32[16]) -> int32[4]:
    t: int32[4] = 0
    r: int32[4] = 0
    for i in range(16):
        for k in range(8):
            if k - i >= 0 and k - i < 4:
                t[k - i] += b[i] + k
    for k in range(4):
        r[k] = t[k]
    return r


def either_side(A: UInt(8)[7]):
    for i in range(7):
        A[i] = (A[6 - i] * A[i]) * 6


def differences(a: int32[8], b: int32[8], c: int32[4]):
    for i in range(4):
        c[i] = a[i] - b[i] + a[i + 1] - b[i + 1] + a[i + 2] - b[i + 2] + a[i + 3]


def search(a: int8[16], b: int8[16]) -> int32:
    n: int32 = 0
    for i in range(16):
        b[i] = i
        if a[i] == 3:
            break
        n += 1
    return n


def addresses(A: int8[400], B: int8[420]):
    for i, j, k in allo.grid(4, 5, 7):
        B[i * 35 + j * 7 + k] = A[60 * i + 13 * j + 3 * k]


def histogram(a: int8[32], h: int32[16]):
    for i in range(32):
        h[a[i] & 15] += 1


def alternating(x: bfloat16[16], z: bfloat16[16], y: bfloat16[16]):
    last: bfloat16 = 1
    for i in range(16):
        last = x[i] - last - z[i]
        y[i] = last


def pipelined(s: Any) -> None:
    s.pipeline("i")


def spread(s: Any) -> None:
    s.partition(s.t, dim=1)
    s.pipeline("i")


def unrolled(s: Any) -> None:
    s.rebalance("i")
    s.unroll("i")


class Rule(NamedTuple):
    """A rule of the compiler: where it stands, its words, and what they become."""

    owner: Any
    name: str
    before: str
    after: str
    kernel: Callable[..., Any]
    schedule: Callable[[Any], Any] = pipelined
    options: dict[str, Any] = {}
    beside: tuple[Any, str, str, str] | None = None


RULES = {
    "a store waits for an earlier load": Rule(
        order.Orders,
        "_within",
        "(1 << target) - 1 if is_store else self._stores & ((1 << target) - 1)",
        "self._stores & ((1 << target) - 1)",
        copied_before,
    ),
    "a load waits for an earlier store": Rule(
        order.Orders,
        "_edge",
        "1 if after_store and not short else 0",
        "0",
        stored_and_read,
    ),
    "iterations that depend on each other are far enough apart": Rule(
        dependence.Distances,
        "_search",
        "(self._strides if value > 0 else self._backward)[level] + rest",
        "self._strides[level] + rest + 1",
        sums_in_place,
    ),
    "a store makes values at other subscripts unknown": Rule(
        accesses.Memory,
        "_forget_others",
        "known.groups = {signature: kept} if kept else {}",
        "del kept",
        stored_and_read,
    ),
    "a register is written where its stores' conditions hold": Rule(
        accesses.Memory,
        "_needed",
        "not entry.when or _is_inside(array, entry.index)",
        "entry.node is not None",
        shifted,
        spread,
    ),
    "a unit is named by which factor is constant": Rule(
        multiply,
        "_place",
        '"" if position else "_first"',
        '""',
        either_side,
        unrolled,
        {"clock_mhz": 500},
        (
            library.OperatorLibrary,
            "_check_module",
            "if not operator.module or operator.unit_module is None",
            "if True",
        ),
    ),
    "a term of a sum keeps its sign": Rule(
        _Planter, "_joined", "a.negative != b.negative", "False", differences
    ),
    "nothing is stored before it is known that the iteration runs": Rule(
        pipeline, "exit_edges", "node.number not in guessed", "node.number < 0", search
    ),
    "a register takes the value of the last iteration": Rule(
        pipeline, "settle_exit", "item.step = max(times)", "item.step = min(times)", search
    ),
    "a stepped address allows for counters that go back": Rule(
        stepping._Stepper,
        "_growth",
        "0) - back",
        "0)",
        addresses,
        lambda s: s.pipeline("k"),
    ),
    "a load takes what a store on its way writes": Rule(
        pipeline, "keep_bypasses", "if not edge.bypass or access is None", "if True", histogram
    ),
    "a unit for two sums has the sign of each term": Rule(
        quick._Unit,
        "_side",
        "return tree, not turned",
        "return tree, turned",
        alternating,
        options={"device": "ecp5", "clock_mhz": 60, "clock": False},
    ),
    "a unit for two sums has each operand in its place": Rule(
        quick._Unit,
        "_side",
        "self.operands.index(node), False",
        "0, False",
        alternating,
        options={"device": "ecp5", "clock_mhz": 60, "clock": False},
    ),
}


def switch_off(monkeypatch: pytest.MonkeyPatch, rule: Rule) -> None:
    """Put other words in the place of a rule's."""
    for owner, name, before, after in (rule[:4], *([rule.beside] if rule.beside else [])):
        known = getattr(owner, name)
        text = textwrap.dedent(inspect.getsource(known))
        assert text.count(before) == 1
        space: dict[str, Any] = {}
        exec(text.replace(before, after), known.__globals__, space)
        monkeypatch.setattr(owner, name, space[name])


def compiled(rule: Rule) -> Any:
    s = allo.customize(rule.kernel)
    rule.schedule(s)
    return s.estimate(**rule.options)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_switched_off_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch, watcher: Watcher
) -> None:
    rule = RULES[name]
    compiled(rule)
    assert not watcher.alarms and watcher.bodies
    switch_off(monkeypatch, rule)
    library._operator.cache_clear()
    try:
        compiled(rule)
    finally:
        library._operator.cache_clear()
    assert watcher.alarms
    watcher.alarms.clear()
