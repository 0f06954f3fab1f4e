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


# Pages without an output under their first example, with the reason.
WITHOUT_OUTPUT = {
    "CONTRIBUTING.md": "its example is a test",
    "docs/internals/extending.md": "its examples are parts of files",
    "docs/internals/rtl.md": "its example takes a text that a build made",
    "docs/llm/blocks.md": "its example is rows of a step, for an accelerator that is built elsewhere",
    "docs/llm/checkpoints.md": "its example reads a model of 93 MB",
    "docs/llm/speculation.md": "its example calibrates the speaking model, which takes a quarter of a minute",
    "docs/networks.md": "its examples read files that others trained",
}


def without_output(text: str) -> bool:
    """Whether a page has an example, and none of its first two shows what it prints."""
    found = blocks.blocks_of(text, "torch")
    return bool(found) and not any(block.runs and block.shown for block in found[:2])


def test_first_examples_show_their_output() -> None:
    made = {"docs/gallery/" + page.name for page in (ROOT / "docs/gallery").glob("*.md")}
    made.remove("docs/gallery/index.md")
    lost = [place(page) for page in PAGES if without_output(page.read_text())]
    assert set(lost) - made == set(WITHOUT_OUTPUT)


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
    assert 'a.py", line 17, in <module>' in fault


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


SHOWN = """<!-- run -->
```python
total = 2
for name in "ab":
    print(name, total)
```

It prints

<!-- output -->
```text
a 2
b 2
```

<!-- run -->
```python
print(total)
```

<!-- output -->
```text
…
```
"""


def test_an_output_is_what_the_block_prints() -> None:
    found = blocks.blocks_of(SHOWN)
    assert [(b.shown, b.shown_line) for b in found] == [("a 2\nb 2", 12), ("…", 23)]
    assert blocks.fault_of_run(Path("a.md"), found) is None
    assert "a 2" not in blocks.without_outputs(SHOWN)
    assert len(blocks.without_outputs(SHOWN).splitlines()) == len(SHOWN.splitlines())


def test_a_first_example_without_output_is_seen() -> None:
    assert not without_output("Text without an example.")
    assert without_output(SHOWN.replace("<!-- run -->", ""))
    assert without_output(SHOWN.replace("<!-- output -->", ""))
    assert not without_output(SHOWN)


def test_an_output_that_is_no_longer_so_is_told_and_written(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(SHOWN.replace("b 2", "c 3\nd 4"))
    fault = blocks.fault_of_run(page, blocks.blocks_of(page.read_text()))
    assert fault is not None
    assert fault.startswith("a.md:12: the block of line 3 prints something else; scripts/python ")
    assert fault.endswith("--update " + str(page) + " writes it:\na 2\nb 2\n")
    assert blocks.main(["--update", str(page)]) == 0
    assert page.read_text() == SHOWN


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a…c", "abbc\n", True),
        ("a\n…\nd", "a\nb\nc\nd \n", True),
        ("a", "ab", False),
        ("1.5 (x)", "1.5 (x)", True),
        ("1.5", "105", False),
    ],
)
def test_what_agrees_with_an_output(shown: str, printed: str, same: bool) -> None:
    assert blocks.agrees(shown, printed) is same
