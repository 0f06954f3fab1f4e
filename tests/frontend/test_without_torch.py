"""Without PyTorch everything else works, and ``from_pytorch`` names the extra that brings it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from allo.errors import ToolMissingError
from allo.frontend import from_pytorch


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    wanted = (
        "PyTorch cannot be imported, and a model cannot be compiled without it.\n"
        "note: import of torch halted; None in sys.modules\n"
        'help: run `pip install "allo[torch]"`; in a checkout, run `scripts/setup --torch`.'
    )
    with pytest.raises(ToolMissingError, match=f"^{re.escape(wanted)}$"):
        from_pytorch(None, [])


def test_nothing_loads_pytorch_before_a_model_is_compiled() -> None:
    program = "import sys, allo, allo.torch, allo.frontend; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False\n"
