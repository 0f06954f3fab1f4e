"""The benchmarks' own arithmetic, and (slow) that every limit they state holds."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.harness import Row, command_line, seconds
from benchmarks.llm_kernels import kernels

ROOT = Path(__file__).resolve().parents[2]
PARSING = ("command_line", "ArgumentParser", "add_argument", "splitlines", "join")
CHOICES = (
    "list",
    "tuple",
    "sorted",
    "items",
    "suites",
    "halves",
    "synthesised",
    "routed",
    "routers",
)
"""What a benchmark may call before it has read its command line, and for the choices that it gives."""


def test_a_limit_from_above_and_from_below() -> None:
    assert Row("t", 1.5, "s", "limit", 2, True).held is True
    assert Row("t", 2.5, "s", "limit", 2, True).held is False
    assert Row("u", 0.95, "", "limit", 0.9, False).held is True
    assert Row("u", 0.85, "", "limit", 0.9, False).held is False
    assert Row("t", 3, "s", "peer", 2).held is None
    assert Row("t", 3, "s", "peer", 2).ratio == 1.5


def begun_early(text: str) -> str:
    """What is wrong with how a benchmark reads its command line; "" where nothing is."""
    tree = ast.parse(text)
    functions = {f.name: f.body for f in tree.body if isinstance(f, ast.FunctionDef)}
    body = next(node.body for node in tree.body if isinstance(node, ast.If))
    for statement in functions.get("main", body):
        calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
        names = [getattr(call, "attr", getattr(call, "id", "")) for call in calls]
        if "parse_args" in names:
            return "hides its help" if "add_help" in text else ""
        if early := [name for name in names if name not in PARSING + CHOICES]:
            return f"calls {early[0]} first"
    return "reads no command line"


def test_every_benchmark_reads_its_command_line_before_all_else() -> None:
    """So ``--help``, and an option that does not exist, ends it before it measures anything."""
    texts = {path.name: path.read_text() for path in sorted(ROOT.glob("benchmarks/*.py"))}
    wrong = {n: begun_early(text) for n, text in texts.items() if "__main__" in text}
    assert len(wrong) > 60
    assert {name: why for name, why in wrong.items() if why} == {}


def test_a_benchmark_that_would_run_when_asked_for_help_is_seen() -> None:
    text = 'def main() -> int:\n    {}\n\nif __name__ == "__main__":\n    main()\n'
    for body, said in (
        ("command_line(__doc__).parse_args()", ""),
        ("return measure()", "calls measure first"),
        ("rows = 1", "reads no command line"),
        ("ArgumentParser(add_help=False).parse_args()", "hides its help"),
        ("parser.parse_known_args()", "calls parse_known_args first"),
    ):
        assert begun_early(text.format(body)) == said


def test_the_help_of_a_benchmark_shows_its_options_and_those_of_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parser = command_line("What is measured.")
    parser.add_argument("--kernel", help="of the suite")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(part in said for part in ("What is measured.", "--kernel", "--json FILE"))
    with pytest.raises(SystemExit):
        parser.parse_args(["--kernels", "gemm"])
    assert "unrecognized arguments: --kernels" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_the_kernels_of_the_transformer_have_the_sizes_that_they_take() -> None:
    assert len([kernel.make() for kernel in kernels(16)]) == 8


def test_the_first_call_is_not_timed() -> None:
    calls: list[int] = []
    assert seconds(lambda: calls.append(1), repeats=4) >= 0
    assert len(calls) == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compile_time", "cpu_gemm", "rtl_gemm", "row_engine_64"])
def test_every_limit_holds(name: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, f"benchmarks/{name}.py", "--json", str(figures)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    rows = json.loads(figures.read_text())["rows"]
    assert rows
    assert all(row["held"] is not False for row in rows)
