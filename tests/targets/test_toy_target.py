"""Targets of other packages: by call and by entry point, and what is refused of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
import allo.target
from allo.errors import TargetError, UnsupportedOpError, UnsupportedTargetError
from allo.ir.types import int32
from allo.target import find_target, is_own, register_target, target_names

from . import toy


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allo.target, "_REGISTERED", dict(allo.target._REGISTERED))


def polynomial(x: int32, y: int32) -> int32:
    return x * y + 3 * x + allo.popcount(y)


def in_a_loop(x: int32) -> int32:
    total: int32 = 0
    for i in range(4):
        total += x
    return total


def test_the_toy_computes_what_the_cpu_does() -> None:
    register_target("toy", toy.build)
    built = allo.customize(polynomial).build(target="toy", colour="red")
    own = allo.customize(polynomial).build()
    assert (built.colour, built.top_func_name) == ("red", "polynomial")
    rng = np.random.default_rng(4)
    for x, y in rng.integers(-(1 << 31), 1 << 31, (40, 2)):
        assert built(int(x), int(y)) == own(int(x), int(y))


def test_the_toy_names_the_line_of_what_it_cannot_do() -> None:
    register_target("toy", toy.build)
    with pytest.raises(UnsupportedOpError, match=r"test_toy_target\.py:\d+:\d+: The toy does not"):
        allo.customize(in_a_loop).build(target="toy")


def test_the_same_builder_may_come_again_and_another_with_replace() -> None:
    register_target("toy", toy.build)
    register_target("toy", toy.build)
    register_target("toy", str, replace=True)
    assert allo.customize(polynomial).build(target="toy").startswith("BuildRequest(")
    assert "toy" in target_names() and not is_own("toy")


def _says_nothing(request: Any) -> None:
    return None


def _of_two(request: Any, more: Any) -> str:
    return ""


REFUSED = {
    "taken": (
        "verilog",
        toy.build,
        "'verilog' cannot be registered: there is a target of this name",
    ),
    "no name": ("my target", toy.build, "its name is text of letters, digits and underscores."),
    "no text": (7, toy.build, "The target 7 cannot be registered: its name is text"),
    "no function": ("toy", 3, "its builder is a function of a BuildRequest, not 3."),
    "no __call__": ("toy", toy, "its builder is a function of a BuildRequest, not "),
    "two parameters": (
        "toy",
        _of_two,
        "its builder takes a BuildRequest and nothing else, not (re",
    ),
    "no colon": ("toy", "package.build", "is \"module:function\", not 'package.build'."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_target_that_breaks_a_rule_is_refused_when_registered(case: str) -> None:
    name, builder, message = REFUSED[case]
    before = dict(allo.target._REGISTERED)
    with pytest.raises(TargetError) as caught:
        register_target(name, builder)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "\nhelp: " in str(caught.value)
    assert before == allo.target._REGISTERED


def test_a_target_answers_with_text_or_something_to_call() -> None:
    register_target("toy", _says_nothing)
    with pytest.raises(TargetError) as caught:
        allo.customize(polynomial).build(target="toy")
    assert str(caught.value) == (
        "The target toy returned None, but a target returns text or an object that can be called.\n"
        "help: see docs/internals/extending.md."
    )


def _install(folder: Path, package: str, value: str) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[allo.targets]\nplugged = {value}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path


def test_an_entry_point_is_a_target(packages: Path) -> None:
    with pytest.raises(UnsupportedTargetError, match="Target plugged is not supported."):
        find_target("plugged")
    _install(packages, "toy", f"{toy.__name__}:build")
    assert "plugged" in target_names()
    assert allo.customize(polynomial).build(target="plugged")(6, 7) == 6 * 7 + 18 + 3


def test_an_entry_point_is_held_against_the_rules(packages: Path) -> None:
    _install(packages, "toy", f"{__name__}:_of_two")
    with pytest.raises(TargetError, match="'plugged' cannot be registered: its builder takes a Bu"):
        find_target("plugged")
    _install(packages, "other", f"{toy.__name__}:build")
    with pytest.raises(TargetError, match="are entry points of this name"):
        find_target("plugged")
