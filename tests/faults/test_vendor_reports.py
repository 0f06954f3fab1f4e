"""Reports of vendors' tools that are cut, garbled or of another kind: figures or a named error."""

from __future__ import annotations

import random
import re
from pathlib import Path

from allo.backend.hls.vendors.csynth import parse_csynth
from allo.dialects.reports.figures import DesignReport
from allo.errors import ToolFailedError

REPORT = next((Path(__file__).parents[1] / "hls").rglob("*csynth*.xml"))
VALUES = (
    "",
    "-",
    "undef",
    "inf",
    "nan",
    "1e999",
    "-5",
    "9" * 5000,
    "x" * 50,
    "1.5.2",
    "０",
    "\u0663",
)


def outcome(path: Path, data: bytes) -> bool:
    path.write_bytes(data)
    try:
        report = parse_csynth(path, "vitis_hls", "gemm")
    except ToolFailedError as error:
        assert str(path) in error.message
        return False
    assert isinstance(report, DesignReport)
    assert report.top
    report.table()
    report.html()
    DesignReport.from_json(report.to_json())
    return True


def test_a_cut_report(tmp_path: Path) -> None:
    whole = REPORT.read_bytes()
    assert outcome(tmp_path / "r.xml", whole)
    for end in range(0, len(whole), max(1, len(whole) // 60)):
        assert not outcome(tmp_path / "r.xml", whole[:end])


def test_every_figure_replaced(tmp_path: Path) -> None:
    whole = REPORT.read_text()
    figures = list(re.finditer(r">([^<>\s][^<>]*)<", whole))
    assert len(figures) > 30
    rng = random.Random(1)
    for figure in figures:
        for value in rng.sample(VALUES, 4):
            text = whole[: figure.start(1)] + value + whole[figure.end(1) :]
            assert outcome(tmp_path / "r.xml", text.encode())


def test_elements_left_out(tmp_path: Path) -> None:
    whole = REPORT.read_text()
    for name in sorted(set(re.findall(r"<(\w+)>", whole))):
        text = re.sub(rf"<{name}>.*?</{name}>", "", whole, flags=re.S)
        outcome(tmp_path / "r.xml", text.encode())
    for garbage in (b"", b"\x00\xff\xfe", b"<a/>", b"<profile>" * 3, b"\x89PNG", b"<!DOCTYPE x>"):
        assert not outcome(tmp_path / "r.xml", garbage)
