"""Integers of a thousand bits and more in HLS C++: the vendor's limits."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.errors import CapacityWarning, UnsupportedOpError
from allo.ir.types import UInt

pytestmark = pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")


def doubled[B](x: UInt(B)[4], y: UInt(B)[4]):
    for i in range(4):
        y[i] = x[i] + x[i]


@pytest.mark.parametrize(
    ("bits", "define"), [(511, ""), (600, "2048"), (1023, "2048"), (1100, "4096"), (4000, "4096")]
)
def test_the_text_asks_for_integers_as_wide_as_its_own(bits: int, define: str):
    s = allo.customize(doubled, instantiate=[bits])
    code = s.build(target="vhls").hls_code
    assert re.findall(r"#define AP_INT_MAX_W (\d+)\n", code) == ([define] if define else [])
    if define:
        assert code.index("AP_INT_MAX_W") < code.index("#include <ap_int.h>")


def test_the_project_asks_for_them_in_both_files(tmp_path: Path):
    s = allo.customize(doubled, instantiate=[1100])
    s.build(target="vitis_hls", mode="csyn", project=str(tmp_path / "wide"))
    for name in ("kernel.cpp", "kernel.h"):
        text = (tmp_path / "wide" / name).read_text()
        assert text.index("#define AP_INT_MAX_W 4096\n") < text.index("#include <ap_int.h>")


@pytest.mark.parametrize("mode", ["csyn", "hw"])
def test_an_integer_past_the_limit_is_refused_and_leaves_no_project(mode: str, tmp_path: Path):
    s = allo.customize(doubled, instantiate=[4096])
    with pytest.raises(UnsupportedOpError) as error:
        s.build(target="vitis_hls", mode=mode, project=str(tmp_path / "wide"))
    said = str(error.value)
    assert "vitis_hls has integers of up to 4,096 bits, and here is one of 4,097." in said
    assert "test_wide_words.py:21:16" in said and "split the word" in said
    assert not (tmp_path / "wide").exists()


def test_csim_has_them_all_the_same_and_says_what_the_vendor_has_not():
    s = allo.customize(doubled, instantiate=[5000])
    with pytest.warns(
        CapacityWarning, match=r"vivado_hls has integers of up to 4,096 bits, and here"
    ):
        mod = s.build(target="vhls")
    x = np.array([(1 << 4999) + 7, 3, 0, (1 << 5000) - 1], object)
    y = np.zeros(4, object)
    mod(x, y)
    assert (y == 2 * x % (1 << 5000)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", CapacityWarning)
        s.build(target="catapult")
