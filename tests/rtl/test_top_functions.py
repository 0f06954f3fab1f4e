"""What a top function must have to become hardware."""

from __future__ import annotations

from pathlib import Path

import pytest

import allo
from allo.errors import BuildError
from allo.ir.types import int32


def silent():
    x: int32 = 3  # noqa: F841


def scalars(a: int32, b: int32) -> int32:
    return a * 3 - b


def test_a_top_without_ports_is_refused():
    with pytest.raises(BuildError) as error:
        allo.customize(silent).build(target="verilog")
    assert str(error.value) == (
        f"{Path(__file__)}:14:5: The top function silent has neither arguments nor results, so its "
        "hardware would do nothing that can be seen.\n"
        "   14 | def silent():\n"
        "      |     ^^^^^^\n"
        "help: pass an array in which it leaves its result."
    )


def test_a_top_of_scalars_alone_is_hardware():
    s = allo.customize(scalars)
    rtl = s.build(target="verilog", simulator="jit")
    for a, b in ((3, 4), (-5, 9), (2**31 - 1, -1)):
        assert rtl(a, b) == s.build()(a, b)
