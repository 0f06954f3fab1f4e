"""What MkDocs asks while it builds the site (``hooks:`` in mkdocs.yml).

Adds the pages that are made and not written: the tutorials, each run unless ``ALLO_DOCS_RUN=0``, with
its notebook and its source, the
changelog, and the reference of the command line and of the primitives. Writes what docstrings hold of
reStructuredText as plain text.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from scripts.pages import commands, percent, public, run_tutorial

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TUTORIALS = DOCS / "tutorials"
GALLERY = DOCS / "gallery"
CHANGELOG = ROOT / "CHANGELOG.md"
LIMIT_S = 300
LOG = logging.getLogger("mkdocs.hooks")


def on_config(config: Any) -> Any:
    """In the navigation, give a folder's index page the folder's other pages, in the order of names."""
    config.nav = _with_folders(config.nav)
    return config


def _with_folders(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The navigation below a heading; without folders that are not there."""
    found: list[dict[str, Any]] = []
    for entry in entries:
        ((title, target),) = entry.items()
        folder = _folder_of(target)
        if isinstance(target, list):
            found.append({title: _with_folders(target)})
        elif folder is None:
            found.append(entry)
        elif folder.is_dir():
            found.append({title: _pages_of(folder)})
    return found


def _folder_of(target: Any) -> Path | None:
    """The folder that a page stands for: that of tutorials, or of the gallery."""
    folder = DOCS / str(target).removesuffix("/index.md")
    return folder if folder in (TUTORIALS, GALLERY) else None


def _pages_of(folder: Path) -> list[str]:
    pages = {path.stem for path in [*folder.glob("*.md"), *folder.glob("[0-9]*.py")]} - {"index"}
    return [f"{folder.name}/{stem}.md" for stem in ["index", *sorted(pages)]]


def on_files(files: Files, config: Any) -> Files:
    """Add the made pages; the tutorials' programs are offered as text and not as they lie."""
    programs = sorted(TUTORIALS.glob("*.py"))
    for number, program in enumerate(programs, start=1):
        LOG.info("tutorial %d of %d: %s", number, len(programs), program.name)
        lying = files.get_file_from_path(f"tutorials/{program.name}")
        if lying is not None:
            files.remove(lying)
        for name, content in tutorial_files(program).items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    made = {
        "changelog.md": CHANGELOG.read_text(),
        "reference/cli.md": commands.page(),
        "reference/primitives.md": public.primitives_page(),
    }
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def tutorial_files(program: Path) -> dict[str, str]:
    """Name to text of a tutorial's page, notebook and source."""
    cells = run_cells(program)
    percent.title_of([run.cell for run in cells])
    return {
        f"{program.stem}.md": percent.page(cells, program.stem),
        f"{program.stem}.ipynb": json.dumps(percent.notebook(cells), indent=1),
        f"{program.stem}.py.txt": program.read_text(),
    }


def run_cells(program: Path) -> list[percent.RunCell]:
    """The cells of a tutorial, run in a process of its own."""
    if os.environ.get("ALLO_DOCS_RUN") == "0":
        return [percent.RunCell(cell) for cell in percent.cells_of(program.read_text())]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "cells.json"
        done = subprocess.run(
            [sys.executable, run_tutorial.__file__, str(program), str(out)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode != 0:
            raise PluginError(f"The tutorial {program.name} failed:\n{done.stderr[-3000:]}")
        LOG.info("%s ran in %.0f s", program.name, time.monotonic() - began)
        return run_tutorial.load(out)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The reference names what users import."""
    return public.with_definitions(markdown) if _is_reference(page) else markdown


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Docstrings name things by roles and open examples with two colons: show neither."""
    if not _is_reference(page):
        return html
    html = re.sub(r":(?:class|func|meth|mod|attr|data|exc):(?=<code>)", "", html)
    html = html.replace("<p>::</p>", "")
    return re.sub(r"::(?=</p>\s*<(?:div class=\"[^\"]*highlight|pre))", ":", html)


def _is_reference(page: Any) -> bool:
    return bool(page.file.src_uri.startswith("reference/"))
