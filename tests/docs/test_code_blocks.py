"""Python blocks of the pages: all parse, those marked ``<!-- run -->`` run."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.pages import blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))


MARKED = [page for page in PAGES if any(block.runs for block in blocks.blocks_of(page.read_text()))]


def test_the_blocks_parse() -> None:
    found = [
        fault
        for page in PAGES
        for fault in blocks.faults_of_syntax(page, blocks.blocks_of(page.read_text()))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", MARKED, ids=place)
def test_the_marked_blocks_run(page: Path) -> None:
    assert blocks.fault_of_run(page, blocks.blocks_of(page.read_text())) is None


PAGE = """Text.

<!-- run -->

```python
total = 1
```

```python
not_run = total / 0
```

* in a list

    <!-- run -->
    ```python
    assert total == 1
    ```

```sh
not python
```

````markdown
<!-- run -->
```python
not python either
```
````
"""


def test_which_blocks_a_page_has() -> None:
    found = blocks.blocks_of(PAGE)
    assert [(b.line, b.runs) for b in found] == [(6, True), (10, False), (17, True)]
    assert found[2].text == "assert total == 1"
    assert blocks.fault_of_run(Path("a.md"), found) is None


def test_a_block_that_fails_is_told_with_its_line() -> None:
    fault = blocks.fault_of_run(Path("a.md"), blocks.blocks_of(PAGE.replace("== 1", "== 2")))
    assert fault is not None
    assert fault.startswith("a.md: Traceback")
    assert 'a.md.py", line 17, in <module>' in fault


def test_the_page_that_runs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "a.md"
    page.write_text(PAGE)
    silent = tmp_path / "b.md"
    silent.write_text("Text.\n")
    assert blocks.main([str(silent), str(page)]) == 0
    assert capsys.readouterr().out == f"[2/2] {page}: running 2 blocks: ok, 0 s\n"


def test_a_block_that_is_no_python_is_told_with_its_line(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("Text.\n\n```python\nx = 1\ny = = 2\n```\n")
    assert blocks.faults_of_syntax(page, blocks.blocks_of(page.read_text())) == [
        "a.md:5: invalid syntax"
    ]
    assert blocks.main([str(page)]) == 1
