"""A kernel whose file was edited after it was imported."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import allo
from allo.errors import FrontendError

TEXT = """\
from allo.ir.types import int32

def k(a: int32) -> int32:
    return a + 1

def other(a: int32) -> int32:
    return a * 2
"""


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("a + 1", "a + 2", True),
        ("a + 1", "a - 1", True),
        ("a + 1", "a + 1.0", True),
        ("a * 2", "a * 3", False),
        ("a + 1", "a + 1  # one", False),
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
