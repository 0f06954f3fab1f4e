"""The scripts: from any folder, in the pinned environment, and clear when asked for nonsense."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
LIMIT_S = 120


def environment() -> Path:
    """The environment of this run where scripts/setup made it, else the repository's own."""
    here = Path(sys.prefix)
    return here if (here / "allo.stamp").exists() else ROOT / ".venv"


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of ours."""
    return subprocess.run(
        [str(SCRIPTS / command[0]), *command[1:]],
        cwd=cwd,
        env={**os.environ, "ALLO_VENV": str(environment())},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_python_runs_a_program_from_any_folder(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys, allo\nprint(allo.__file__, *sys.argv[1:])\n")
    done = run("python", "program.py", "a b", cwd=tmp_path)
    assert done.stdout == f"{ROOT / 'allo' / '__init__.py'} a b\n"
    assert done.returncode == 0


def test_python_passes_the_programs_status_on(tmp_path: Path) -> None:
    assert run("python", "-c", "raise SystemExit(7)", cwd=tmp_path).returncode == 7


def test_the_command_is_installed(tmp_path: Path) -> None:
    run("setup", cwd=tmp_path)
    done = subprocess.run(
        [str(environment() / "bin" / "allo"), "version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stdout.startswith("allo ")


def test_a_set_up_environment_is_left_alone(tmp_path: Path) -> None:
    run("setup", cwd=tmp_path)
    before = (environment() / "allo.stamp").stat().st_mtime_ns
    done = run("setup", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (environment() / "allo.stamp").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("script", "name", "message"),
    [
        ("demo", "nonsense", "there is no demonstration 'nonsense' in scripts/demos."),
        ("bench", "nonsense", "there is no benchmark 'nonsense'."),
        ("bench", "--help", "options are those of a benchmark: scripts/bench NAME --help"),
    ],
)
def test_an_unknown_name_is_refused(script: str, name: str, message: str, tmp_path: Path) -> None:
    done = run(script, name, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"[setup] error: {message}\n"


def test_a_python_that_is_too_old_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(SCRIPTS / "setup")],
        cwd=tmp_path,
        env={**os.environ, "ALLO_VENV": str(tmp_path / "venv"), "ALLO_PYTHON": "/bin/false"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode != 0
    assert "[setup] error: ALLO_PYTHON=/bin/false is no Python >= 3.12." in done.stderr


def test_missing_system_tools_are_named(tmp_path: Path) -> None:
    """With a PATH that holds only the shell's own tools, the set-up says what to install."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "env", "dirname", "readlink", "sha256sum", "cut", "cat", "mkdir", "flock"):
        found = next(p for p in (Path("/usr/bin") / name, Path("/bin") / name) if p.exists())
        (tools / name).symlink_to(found)
    done = subprocess.run(
        [str(SCRIPTS / "setup")],
        env={"PATH": str(tools), "ALLO_VENV": str(tmp_path / "venv"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "[setup] error: g++ make perl not found. "
        "Install with: sudo apt-get install -y g++ make perl\n"
    )


def test_the_readmes_example_is_short() -> None:
    """``tests/docs/test_code_blocks.py`` runs it."""
    program = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    assert 20 <= len(program.splitlines()) <= 40
