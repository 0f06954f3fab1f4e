"""The report as text and as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from allo.dialects.reports.figures import DesignReport, FunctionReport, LoopReport, MemoryReport


@pytest.fixture
def report():
    inner = LoopReport(
        "k*j.outer", "/x/gemm.py:6:5", 720, 4, 12, 2888, True, "II=4: `acc` <- [fadd], latency 4"
    )
    outer = LoopReport("S_i_j_0.i", "/x/gemm.py:4:5", 60, 1, 2900, 174000, False, "", [inner])
    function = FunctionReport(
        "gemm",
        "/x/gemm.py:3:1",
        174123,
        [outer],
        [MemoryReport("A", "/x/gemm.py:3:10", 8, 1024, 32, 2, "block RAM")],
        {"fadd_f32": 8, "fmul_f32": 8},
        {"row": 1},
    )
    return DesignReport(
        "allo rtl", "verilog", "gemm", 200.0, 174123, [function], 174123,
        {"lut": 5150, "dsp": 16}, 672000, 16, ["a print was dropped"],
    )  # fmt: skip


def words(text):
    return " ".join(text.split())


def test_the_table_holds_every_figure(report):
    text = words(report.table())
    assert "200 MHz 174,123 174,123 871 µs 16 24.1% 5,150 16" in text
    assert "k*j.outer gemm.py:6 720 4 12 2,888 60 173,280 II=4: `acc` <- [fadd], latency 4" in text
    assert "S_i_j_0.i gemm.py:4 60 – 2,900 174,000 1 174,000" in text
    assert "cycles: of one entry of the loop; total: cycles times entries, in one run" in text
    assert "A gemm.py:3 8 1,024 32 2 block RAM" in text
    assert "operators: fadd_f32 × 8, fmul_f32 × 8 instances: row × 1" in text
    assert "note: a print was dropped" in text
    assert max(map(len, report.table().splitlines())) <= 120


def test_cycles_that_are_not_known(report):
    report.cycles = report.measured_cycles = None
    report.functions[0].loops[0].trips = None
    text = words(report.table())
    assert "200 MHz ? 16 5,150 16" in text
    assert "S_i_j_0.i gemm.py:4 ? –" in text
    assert "720 4 12 2,888 ? ? II=4" in text


def test_the_share_of_an_inner_loop_is_of_all_its_entries(report):
    """One entry of it is 2 % of the time, its 60 entries nearly all."""
    assert re.findall(r"<code>([^<]*)</code>.*?width:(\d+)%", report.html()) == [
        ("S_i_j_0.i", "100"),
        ("k*j.outer", "100"),
    ]
    report.functions[0].loops[0].trips = 30
    assert "width:50%" in report.html()


class Page(HTMLParser):
    """Collects text, and checks that elements nest."""

    VOID = {"meta"}

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        assert not {name for name, _ in attrs} & {"src", "href"}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def test_the_page_is_whole_and_loads_nothing(report):
    page = Page()
    page.feed(report.html())
    assert page.open == []
    text = words(" ".join(page.text))
    for figure in (
        "174,123",
        "24.1%",
        "k*j.outer",
        "II=4: `acc` <- [fadd], latency 4",
        "fadd_f32 × 8",
    ):
        assert figure in text


def test_a_notebook_shows_the_page_as_a_part(report):
    """The same text; every rule of style is for what stands inside the part."""
    report.top = "a<b>&"
    whole, part = Page(), Page()
    whole.feed(report.html())
    part.feed(report._repr_html_())
    assert part.open == []
    assert words(" ".join(part.text)) in words(" ".join(whole.text))
    assert "a<b>&" in part.text
    assert "<b>&" not in report._repr_html_()
    style = re.search(r"<style>(.*?)</style>", report._repr_html_(), re.DOTALL)[1]
    selectors = re.findall(r"(?:^|\})\s*([^{}@]+)\{", style)
    assert len(selectors) >= 15
    for selector in ", ".join(selectors).split(","):
        assert selector.strip().startswith((".allo-report", "body.allo-report"))
