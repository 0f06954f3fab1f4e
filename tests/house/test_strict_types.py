"""The strict types of modules with kernels: what is said inside a kernel is dropped, and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.house.strict_types import ROOT, kernels, outside_kernels, strict

MODULE = """\
from allo.ir.types import Fixed, int32

N = 4
Q = Fixed(16, 8)

def kernel(x: int32[N]) -> int32[N]:
    return x

def template[T, M](x: T[M]):
    x[0] = 1

def fixed(x: Q[N]):
    x[0] = 1

def schedule(lanes: int = N):
    return lanes

def make():
    @df.region()
    def region():
        pass

    return region
"""


def test_where_the_kernels_of_a_module_are() -> None:
    assert [(k.first, k.last) for k in kernels(MODULE)] == [(6, 7), (9, 10), (12, 13), (19, 21)]


def test_messages_inside_kernels_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "design.py").write_text(MODULE)
    messages = [
        *(f"design.py:{line}: error: Something is wrong  [index]" for line in (6, 7, 10, 13, 21)),
        "design.py:15: error: Function is missing a return type annotation  [no-untyped-def]",
        "design.py:23: error: Something is wrong  [index]",
        "mypy: error: unrecognized arguments: --strictest",
    ]
    assert list(outside_kernels(messages, tmp_path)) == messages[5:]


def test_what_mypy_leaves_out_is_asked_what_others_are() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    before = tomllib.loads(text)["tool"]["mypy"]["overrides"]
    after = tomllib.loads(strict(text))["tool"]["mypy"]["overrides"]
    asked = {key: value for key, value in after[1].items() if key != "module"}
    assert asked["disallow_untyped_defs"] and len(asked) >= 12
    assert before[:-1] == after[:-1] and "allo.designs.*" in before[-1]["module"]
    assert after[-1] == {"module": before[-1]["module"], **asked}


def test_a_configuration_that_leaves_nothing_out_is_refused() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for other in (strict(text), text + "\n[x]\nignore_errors = true\n"):
        with pytest.raises(ValueError, match="leaves out no modules, or several times"):
            strict(other)
