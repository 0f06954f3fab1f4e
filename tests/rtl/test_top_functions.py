"""What a top function must have to become hardware."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
from allo.errors import BuildError
from allo.ir.types import int16, int32, uint8
from tests.frontend.targets import built


def silent():
    x: int32 = 3  # noqa: F841


def scalars(a: int32, b: int32) -> int32:
    return a * 3 - b


def test_a_top_without_ports_is_refused():
    with pytest.raises(BuildError) as error:
        allo.customize(silent).build(target="verilog")
    assert str(error.value) == (
        f"{Path(__file__)}:16:5: The top function silent has neither arguments nor results, so its "
        "hardware would do nothing that can be seen.\n"
        "   16 | def silent():\n"
        "      |     ^^^^^^\n"
        "help: pass an array in which it leaves its result."
    )


def loud():
    for i in range(3):
        print("i =", i)


@pytest.mark.parametrize("target", ["cpu", "csim", "interpret"])
def test_a_top_without_ports_runs_where_it_is_software(target, capfd):
    assert built(loud, target)() is None
    assert capfd.readouterr().out == "i = 0\ni = 1\ni = 2\n"


def test_a_top_of_scalars_alone_is_hardware():
    s = allo.customize(scalars)
    rtl = s.build(target="verilog", simulator="jit")
    for a, b in ((3, 4), (-5, 9), (2**31 - 1, -1)):
        assert rtl(a, b) == s.build()(a, b)


def quotient(s: int16):
    q: int16 = s / (s - 3)  # noqa: F841


def drops_a_quotient(x: uint8[4], n: int32):
    if n > 4:
        quotient(x[0])
    x[2] = x[1]


def test_a_unit_that_nothing_uses_is_not_in_the_design():
    """A callee whose quotient is dropped is elaborated, and its divider stands nowhere."""
    module = allo.customize(drops_a_quotient).build(target="verilog", simulator="jit")
    x = np.array([8, 5, 0, 0], np.uint8)
    module(x, 7)
    np.testing.assert_array_equal(x, [8, 5, 5, 0])
    assert "div" not in module.verilog
