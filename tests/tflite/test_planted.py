"""Each comparison fails where a fault is planted in what it compares."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from allo.models.operators.tflite import ends, pools, softmax
from allo.tflite import reference
from allo.tflite.operators import products
from allo.tflite.reference import family
from tests.tflite.cases import make
from tests.tflite.support import check


def kernels_differ(name: str) -> None:
    with pytest.raises(AssertionError, match="Mismatched elements|not equal"):
        check(make(name, 0))


def test_a_product_that_is_not_doubled_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "HIGH", ends.HIGH + 1)
    kernels_differ("mul")


def test_an_addend_that_is_one_step_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    shortest = products.shortest

    def planted(*args: Any) -> Any:
        found = shortest(*args)
        steps = 1 << (found.shifts - 2)
        return dataclasses.replace(found, addends=found.addends - steps)

    monkeypatch.setattr(products, "shortest", planted)
    kernels_differ("conv2d")


def test_another_line_for_newtons_method_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "_FIRST", softmax._FIRST // 2)
    kernels_differ("softmax")


def test_a_mean_without_rounding_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_divide", lambda call, text, *rest: text.line("total = total // 2"))
    kernels_differ("average_pool")


def test_a_reference_that_rounds_down_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "times", lambda x, m, e: (x * m) >> (31 - np.asarray(e)))
    with pytest.raises(AssertionError, match="conv2d_0"):
        check(make("conv2d", 0))


def test_a_reference_that_leaves_the_zero_point_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.COMPUTE, "ADD", lambda network, node, operands: operands[0])
    with pytest.raises(AssertionError, match="add_0"):
        check(make("add", 0))
