"""A REPL goes on after a mistake in a kernel."""

from __future__ import annotations

import code
import inspect
from pathlib import Path

import pytest

import allo.errors
from allo.cli import main
from allo.errors import AlloError, FrontendError

EXCEPTIONS = [
    value
    for value in vars(allo.errors).values()
    if inspect.isclass(value) and issubclass(value, AlloError)
]


@pytest.mark.parametrize("kind", EXCEPTIONS, ids=lambda kind: kind.__name__)
def test_no_error_ends_the_interpreter(kind: type[AlloError]) -> None:
    assert issubclass(kind, Exception)
    assert not issubclass(kind, (SystemExit, KeyboardInterrupt, GeneratorExit))


def test_a_console_lives_on_after_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    console = code.InteractiveConsole()
    for line in (
        "import allo",
        "from allo.ir.types import int32",
        "src = 'def f(x: int32) -> int32:\\n    return x + yy\\n'",
        "allo.customize(src, global_vars=globals())",
        "print('alive')",
    ):
        console.push(line)
    shown = capsys.readouterr()
    assert shown.out == "alive\n"
    assert "UnknownNameError" in shown.err
    assert "The name 'yy' is not defined." in shown.err


def test_the_command_line_still_ends_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(
        "import allo\nfrom allo.ir.types import int32\n\n"
        "def f(x: int32) -> int32:\n    return x + yy\n"
    )
    assert main(["build", f"{program}:f"]) == 1
    assert "The name 'yy' is not defined." in capsys.readouterr().err


def test_a_front_end_error_is_caught_as_an_exception() -> None:
    text = "def f(x: int32) -> int32:\n    return x + yy\n"
    caught = None
    try:
        allo.customize(text, global_vars={"int32": allo.ir.types.int32})
    except Exception as error:  # what a notebook and a thread catch
        caught = error
    assert isinstance(caught, FrontendError)
    assert not hasattr(caught, "code")
