"""What the cache keeps of a design is found again when its program lies in another folder."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

import allo
from allo.backend.rtl.design import HardwareDesign
from allo.backend.sim.engines.arc.lowered import lower_design, model_key
from allo.backend.sim.engines.interface import BuildOptions
from allo.backend.sim.engines.verilator.compile import model_request
from allo.backend.sim.engines.verilator.runtime import Runtime
from allo.backend.sim.engines.verilator.tools import find_compiler, find_verilator
from allo.dialects.text.verilog import without_comments

PROGRAM = """
from allo.ir.types import int32

def scaled(a: int32[4], b: int32[4]):
    for i in range(4):
        b[i] = a[i] * {factor}
"""


def design_of(file: Path, text: str) -> HardwareDesign:
    file.parent.mkdir()
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("moved", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    built = allo.customize(module.scaled).build(target="verilog", simulator="jit")
    design = built.design
    assert isinstance(design, HardwareDesign)
    return design


def key_of(design: HardwareDesign) -> str:
    return model_request(design, BuildOptions(), find_verilator(), "runtime").key()


def test_a_model_of_a_program_that_was_moved(tmp_path: Path) -> None:
    text = PROGRAM.format(factor=3)
    first = design_of(tmp_path / "a" / "k.py", text)
    moved = design_of(tmp_path / "b" / "k.py", text)
    other = design_of(tmp_path / "c" / "k.py", PROGRAM.format(factor=5))
    assert first.verilog != moved.verilog
    assert key_of(first) == key_of(moved) != key_of(other)


def test_the_state_of_a_program_that_was_moved(tmp_path: Path) -> None:
    text = PROGRAM.format(factor=3)
    first = design_of(tmp_path / "a" / "k.py", text)
    moved = design_of(tmp_path / "b" / "k.py", text)
    other = design_of(tmp_path / "c" / "k.py", PROGRAM.format(factor=5))
    assert first.native_hw_text != moved.native_hw_text
    assert model_key(first) == model_key(moved) != model_key(other)
    assert str(tmp_path) not in repr(lower_design(first))


def test_the_library_of_the_same_verilator_elsewhere() -> None:
    here = find_verilator()
    there, newer = replace(here, root=Path("/elsewhere")), replace(here, version="6.0")
    keys = [Runtime(one, find_compiler(), "", 60.0).key() for one in (here, there, newer)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a;  // b.py:1:2\n// c", "a;  \n"),
        ('$display("http://a"); // b', '$display("http://a"); '),
        (r'"a\"//b" // c', r'"a\"//b" '),
        (r"\a//b = 1; // c", r"\a//b = 1; "),
        ("/* a // b */ c // d", "/* a // b */ c "),
        ("/* a\n// b */ c", "/* a\n// b */ c"),
        ("a // verilator lint_off WIDTH\nb", "a // verilator lint_off WIDTH\nb"),
        ("a / b", "a / b"),
    ],
)
def test_comments_alone_are_left_out(text: str, left: str) -> None:
    assert without_comments(text) == left
