"""A kernel whose file was edited after it was imported."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.errors import FrontendError

TEXT = """\
from allo.ir.types import int16, int32

def k(a: int32) -> int32:
    b: int32 = a
    return b + 1

def other(a: int32) -> int32:
    return a * 2
"""


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("b + 1", "b + 2", True),
        ("b + 1", "b - 1", True),
        ("b + 1", "b + 1.0", True),
        ("k(a: int32)", "k(a: int16)", True),
        ("k(a: int32) -> int32", "k(a: int32) -> int16", True),
        ("k(a: int32) -> int32", "k(a: int32)", True),
        ("b: int32 =", "b: int8 =", True),
        ("other(a: int32)", "other(a: int16)", False),
        ("a * 2", "a * 3", False),
        ("b + 1", "b + 1  # one", False),
    ],
)
def test_the_text_is_that_of_the_function(
    old: str, new: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_kernels.py"
    file.write_text(TEXT)
    importlib.invalidate_caches()
    module = importlib.import_module("edited_kernels")
    del sys.modules["edited_kernels"]
    file.write_text(TEXT.replace(old, new))
    if not refused:
        assert allo.customize(module.k).build()(1) == 2
        return
    with pytest.raises(FrontendError, match="changed after it was imported"):
        allo.customize(module.k)


REBOUND = """\
from allo.ir.types import int16, int32

def made(N, T):
    def k(a: T[N]):
        for i in range(N):
            a[i] += 1
    return k

made_of = []
for N, T in ((2, int16), (4, int32)):
    def k(a: T[N]):
        for i in range(2):
            a[i] += 1
    made_of.append(k)
kernel = made(3, int16)
"""


def test_names_that_stand_for_something_else_now_are_no_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rebound_kernels.py").write_text(REBOUND)
    importlib.invalidate_caches()
    module = importlib.import_module("rebound_kernels")
    del sys.modules["rebound_kernels"]
    a = np.zeros(3, np.int16)
    allo.customize(module.kernel).build()(a)
    assert a.tolist() == [1, 1, 1]
    b = np.zeros(4, np.int32)
    allo.customize(module.made_of[0]).build()(b)
    assert b.tolist() == [1, 1, 0, 0]
