"""What meets a stranger first: change log, workflows, hooks, glossary, coverage, and their claims."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import allo

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow_name(path: Path) -> str:
    return path.stem


def read(path: Path) -> Any:
    # YAML 1.1 reads the key `on` as true.
    return yaml.safe_load(path.read_text())


def commands(workflow: Path) -> list[str]:
    steps = [step for job in read(workflow)["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


def test_the_change_log_has_the_version() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert headings[1].startswith(f"[{allo.__version__}] - ")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=workflow_name)
def test_a_workflow_is_well_formed(workflow: Path) -> None:
    content = read(workflow)
    assert content["name"] == workflow.stem
    assert content["permissions"] == {"contents": "read"}
    for job in content["jobs"].values():
        assert job["runs-on"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


def test_workflows_run_our_scripts() -> None:
    assert {path.stem for path in WORKFLOWS} == {"ci", "docs", "nightly", "release"}
    tests = commands(ROOT / ".github/workflows/ci.yml")
    assert ".ci/run" in tests
    assert "scripts/coverage --report" in tests
    assert "scripts/test-nightly" in commands(ROOT / ".github/workflows/nightly.yml")
    assert "scripts/docs" in commands(ROOT / ".github/workflows/docs.yml")
    for script in (".ci/run", "scripts/docs", "scripts/coverage", "scripts/test-nightly"):
        assert os.access(ROOT / script, os.X_OK), script


def test_a_release_is_refused_where_the_tag_is_not_the_version() -> None:
    (check,) = [
        c for c in commands(ROOT / ".github/workflows/release.yml") if c.startswith("test ")
    ]
    for tag, status in ((f"v{allo.__version__}", 0), ("v9.9.9", 1)):
        done = subprocess.run(
            ["bash", "-c", check],
            cwd=ROOT,
            env={**os.environ, "GITHUB_REF_NAME": tag},
            timeout=30,
            check=False,
        )
        assert done.returncode == status


def test_hooks_before_a_commit_are_the_checks_of_the_tests() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    entries = [
        re.sub(r"^scripts/python (-m )?| --force-exclude$| --check$", "", hook["entry"])
        for hook in repository["hooks"]
    ]
    steps = re.findall(r"^\s*step (.*)$", (ROOT / "scripts/test").read_text(), re.MULTILINE)
    checks = [re.sub(r"^python | --check| \.$| # .*$", "", step) for step in steps]
    assert sorted(checks) == sorted(entries)
    assert len(entries) == 4


def test_the_glossary_is_in_order() -> None:
    rows = re.findall(
        r"^\| \*\*(.*?)\*\*", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE
    )
    words = [re.split(r"[ ,(/-]", row.lower()) for row in rows]
    assert len(rows) >= 50
    assert words == sorted(words)


def test_extras_are_told_where_one_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "install.md").read_text()
    assert [
        name for name in project["optional-dependencies"] if f"`allo[{name}]`" not in page
    ] == []
    needed = [re.split(r"[<>=]", requirement)[0] for requirement in project["dependencies"]]
    assert [name for name in needed if f"`{name}`" not in page] == []


def test_coverage_counts_a_file_once_whatever_the_path(tmp_path: Path) -> None:
    """The folders at the top are imported through symlinks; both names are one file."""
    program = tmp_path / "program.py"
    program.write_text("import allo.dialects.types\nimport allo.memory\n")
    environment = {**os.environ, "COVERAGE_FILE": str(tmp_path / "data")}
    for command in (["run", str(program)], ["report", "--include=*/dialects/types.py,*/memory.py"]):
        done = subprocess.run(
            [sys.executable, "-m", "coverage", *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    files = [line.split()[0] for line in done.stdout.splitlines() if ".py " in line]
    assert "allo/memory.py" in files
    assert len(files) == len({Path(name).resolve() for name in files})
    assert not [name for name in files if name.startswith("allo/dialects")]
