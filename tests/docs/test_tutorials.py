"""Every tutorial runs, asserts what it says, and becomes a page and a notebook."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.pages import percent, run_tutorial

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
ROUTED = [tutorial for tutorial in TUTORIALS if ".bitstream(" in tutorial.read_text()]
"""Those that place and route, which takes a minute."""
RUNNER = ROOT / "scripts" / "pages" / "run_tutorial.py"
LIMIT_S = 300


def stem(path: Path) -> str:
    return path.stem


def run(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a tutorial as the site does; what it showed is then in ``cells.json``."""
    return subprocess.run(
        [sys.executable, str(RUNNER), str(program), "cells.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.mark.parametrize("tutorial", [t for t in TUTORIALS if t not in ROUTED], ids=stem)
def test_it_runs_and_shows_figures(tutorial: Path, tmp_path: Path) -> None:
    check_run(tutorial, tmp_path)


@pytest.mark.parametrize("tutorial", ROUTED, ids=stem)
def test_it_runs_with_the_tools_of_boards(tutorial: Path, tmp_path: Path) -> None:
    check_run(tutorial, tmp_path)


def check_run(tutorial: Path, tmp_path: Path) -> None:
    done = run(tutorial, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    cells = run_tutorial.load(tmp_path / "cells.json")
    shown = [output.text for cell in cells for output in cell.outputs]
    assert any(any(c.isdigit() for c in text) for text in shown)
    assert not [text for text in shown if str(ROOT) in text or str(tmp_path) in text]


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=stem)
def test_its_form(tutorial: Path) -> None:
    """A title, prose before every kernel or two, and results compared with NumPy."""
    cells = percent.cells_of(tutorial.read_text(), tutorial.name)
    assert percent.title_of(cells).startswith(f"{int(tutorial.stem[:2])} · ")
    assert sum(cell.prose for cell in cells) >= 3
    code = ast.parse("\n".join(cell.text for cell in cells if not cell.prose))
    checks = [ast.unparse(n.test) for n in ast.walk(code) if isinstance(n, ast.Assert)]
    assert any(check.startswith("np.") for check in checks)


BROUGHT = {"allo", "numpy", "ml_dtypes"}
"""What ``pip install .`` brings and a tutorial may import."""


def needs(tutorial: str) -> set[str]:
    """The packages beyond these that a tutorial imports, and the one that running C++ takes."""
    tree = ast.parse(tutorial)
    imported = {
        n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names
    }
    imported |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    packages = {name.partition(".")[0] for name in imported} - BROUGHT - sys.stdlib_module_names
    return packages | ({"hls4ml"} if 'mode="csim"' in tutorial else set())


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=stem)
def test_it_names_what_it_needs(tutorial: Path) -> None:
    """The first cell says how to install each package that Allo does not bring."""
    text = tutorial.read_text()
    head = " ".join(percent.cells_of(text)[0].text.split())
    named = set(re.findall(r"`pip install (?:--no-deps )?(\w+)(?:==[\d.]+)?`", head))
    assert named == needs(text)


def test_what_a_tutorial_needs_is_seen() -> None:
    assert needs("import numpy\nfrom pathlib import Path\nimport allo.ir.types") == set()
    text = 'import matplotlib.pyplot\nfrom torch import nn\ns.build(mode="csim")'
    assert needs(text) == {"matplotlib", "torch", "hls4ml"}


def test_every_tutorial_is_listed() -> None:
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text()
    for tutorial in TUTORIALS:
        assert f"]({tutorial.stem}.md)" in index


SAMPLE = """# A header that is in no cell.
# %% [markdown]
# # 9 · Title
#
# Text with `code`.

# %%
import numpy as np

total = int(np.arange(4).sum())

# %%
print("a < b")
total
"""


def test_the_cells_of_a_program() -> None:
    cells = percent.cells_of(SAMPLE)
    assert [(c.prose, c.line) for c in cells] == [(True, 3), (False, 8), (False, 13)]
    assert cells[0].text == "# 9 · Title\n\nText with `code`."
    assert cells[1].text == "import numpy as np\n\ntotal = int(np.arange(4).sum())"
    assert percent.title_of(cells) == "9 · Title"


def test_a_run_becomes_a_page_and_a_notebook(tmp_path: Path) -> None:
    program = tmp_path / "09_sample.py"
    program.write_text(SAMPLE)
    cells = list(run_tutorial.run(program))
    assert [o.text for o in cells[2].outputs] == ["a < b\n", "6\n"]
    page = percent.page(cells, "09_sample")
    assert "```{.text .output}\na < b\n```" in page
    assert "[notebook](09_sample.ipynb)" in page
    book = json.loads(json.dumps(percent.notebook(cells)))
    assert [cell["cell_type"] for cell in book["cells"]] == ["markdown", "code", "code"]
    assert "".join(book["cells"][1]["source"]) == cells[1].cell.text
    assert book["cells"][2]["outputs"][1]["text"] == ["6\n"]


def test_markup_of_a_value_is_shown_as_markup(tmp_path: Path) -> None:
    program = tmp_path / "sample.py"
    program.write_text(
        "# %%\nclass Shown:\n    def _repr_html_(self):\n"
        "        return '<b>x</b>\\n\\n<i>y</i>'\n\n\nShown()\n"
    )
    (cell,) = run_tutorial.run(program)
    assert [(o.mime, o.text) for o in cell.outputs] == [("text/html", "<b>x</b>\n\n<i>y</i>")]
    assert '<div class="output"><b>x</b>\n<i>y</i></div>' in percent.page([cell], "sample")


def test_an_assertion_that_fails_ends_the_run_at_its_line(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(SAMPLE + "\n# %%\nassert total == 7\n")
    done = run(program, tmp_path)
    assert done.returncode == 1
    assert 'wrong.py", line 17, in <module>' in done.stderr
    assert done.stderr.endswith("AssertionError\n")
    assert not (tmp_path / "cells.json").exists()


def test_prose_that_is_no_comment_is_refused() -> None:
    with pytest.raises(percent.PercentError) as refused:
        percent.cells_of("# %% [markdown]\n# Text\nx = 1\n", "a.py")
    assert str(refused.value) == "a.py:3: a line of prose does not begin with '#'."


def test_a_tutorial_without_a_title_is_refused() -> None:
    with pytest.raises(percent.PercentError) as refused:
        percent.title_of(percent.cells_of("# %%\nx = 1\n"))
    assert str(refused.value) == (
        "A tutorial begins with a cell of prose whose first line is '# Title'."
    )
