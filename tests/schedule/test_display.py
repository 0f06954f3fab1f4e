"""What a notebook shows of a schedule: its loop nests, and the network of a region."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import allo
import allo.dataflow as df
from allo.dialects.reports.drawing import columns_of, draw
from allo.dialects.reports.figures import DesignReport
from allo.dialects.reports.network import Fifo, Network, condensed
from allo.ir.types import Stream, float32, int8, int32
from allo.library.systolic import systolic

VOID = {"br", "hr", "img", "meta", "link", "input"}


class Balanced(HTMLParser):
    """Fails where an element is not closed in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def lines(markup: str) -> list[str]:
    """The text of the lines, each with its marks in brackets."""
    checked = Balanced()
    checked.feed(markup)
    assert checked.open == []
    marked = re.sub(r"<span[^>]*>(.*?)</span>", r" [\1]", markup)
    divided = re.sub(r"<svg.*?</svg>", "", marked, flags=re.DOTALL)
    return [unescape(text) for text in re.sub(r"<[^>]+>", "\n", divided).split("\n") if text]


def gemm(A: float32[32, 32], B: float32[32, 32]) -> float32[32, 32]:
    C: float32[32, 32] = 0.0
    for i, j in allo.grid(32, 32, name="mm"):
        for k in allo.reduction(32):
            C[i, j] += A[i, k] * B[k, j]
    return C


def test_the_loop_nest_with_its_marks() -> None:
    s = allo.customize(gemm)
    s.reorder("k", "j")
    s.buffer_at(s.C, "i")
    s.split("j", 4)
    s.pipeline("j.outer", initiation_interval=2, rewind=True)
    s.unroll("j.inner")
    s.partition(s.B, partition_type=allo.Partition.Cyclic, dim=2, factor=4)
    assert lines(s._repr_html_()) == [
        "gemm",
        "B [4 banks: dimension 2 cyclic]",
        "for i in range(32) [mm]",
        "for j_init in range(32) [pipeline II=1]",
        "C_row ← …",
        "for k in range(32) [reduction]",
        "for j.outer in range(8) [S_k_0] [pipeline II=2 rewind]",
        "for j.inner in range(4) [unroll completely]",
        "C_row ← A, B",
        "for j_back in range(32) [pipeline II=1]",
        "C ← C_row",
    ]


def test_bounds_conditions_and_calls() -> None:
    def inner(x: int32) -> int32:
        return x + 1

    def outer(A: int32[8], n: int32):
        for i in range(2, 8, 2):
            for j in range(i):
                if j > 3:
                    A[j] = inner(A[i])
        while A[0] < n:
            A[0] += 1

    assert lines(allo.customize(outer)._repr_html_()) == [
        "outer",
        "for i in range(2, 8, 2) [S_i_0]",
        "for j in range(…) [S_j_0]",
        "if …",
        "inner(…)",
        "A ← …",
        "while …",
        "A ← A",
        "inner",
    ]


def test_names_of_the_user_are_escaped() -> None:
    def named(A: int32[4]):
        for i in allo.grid(4, name="<script>alert('x')</script>&\""):
            A[i] = i

    markup = allo.customize(named)._repr_html_()
    assert "<script" not in markup
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;" in markup
    fifo = Fifo("a<b>&", 'i32"', 2, "p<1>", "q&")
    for processes in (("p<1>", "q&"), ("p<1>", "q&", *(f"r{n}" for n in range(30)))):
        drawn = draw(Network(processes, (fifo,)))
        assert "<1>" not in drawn
        assert "<b>" not in drawn
        assert "p&lt;1&gt;" in drawn
        assert "q&amp;" in drawn
        assert "i32&quot;" in drawn


def network():
    @df.region()
    def top(X: int32[8], Y: int32[8]):
        p: Stream[int32, 2]
        q: Stream[int32, 4][2]

        @df.kernel(mapping=[1], args=[X])
        def source(x: int32[8]):
            for i in range(8):
                p.put(x[i])

        @df.kernel(mapping=[1])
        def middle():
            for i in range(8):
                v: int32 = p.get()
                q[0].put(v)
                q[1].put(v)

        @df.kernel(mapping=[1], args=[Y])
        def sink(y: int32[8]):
            for i in range(8):
                a: int32 = q[0].get()
                b: int32 = q[1].get()
                y[i] = a + b

    return df.customize(top)


def test_the_network_of_a_region_is_drawn() -> None:
    markup = network()._repr_html_()
    drawing = ElementTree.fromstring(re.findall(r"<svg.*?</svg>", markup, re.DOTALL)[0])
    svg = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in drawing.iter(f"{svg}text")] == [
        "p (2)",
        "q_0 (4) +1",
        "source_0",
        "middle_0",
        "sink_0",
    ]
    assert [tip.text for tip in drawing.iter(f"{svg}title")] == [
        "p: i32, depth 2",
        "q_0: i32, depth 4\nq_1: i32, depth 4",
    ]
    lefts = [int(box.attrib["x"]) for box in drawing.iter(f"{svg}rect")]
    assert lefts == sorted(set(lefts))
    text = lines(markup)
    assert text[:4] == ["top [dataflow]", "source_0(…)", "middle_0(…)", "sink_0(…)"]
    assert "p ← x" in text
    assert "v, q_0, q_1 ← p" in text


def test_a_kernel_without_fifos_has_no_drawing() -> None:
    assert "<svg" not in allo.customize(gemm)._repr_html_()


def fifo(producer: str, consumer: str) -> Fifo:
    return Fifo(f"{producer}{consumer}", "i32", 2, producer, consumer)


@pytest.mark.parametrize(
    ("ways", "columns"),
    [
        ("ab bc", [["a"], ["b"], ["c"]]),
        ("ab ac bc", [["a"], ["b"], ["c"]]),
        ("ac bc", [["a", "b"], ["c"]]),
        ("ab bc cb", [["a"], ["b"], ["c"]]),
        ("aa ab bc", [["a"], ["b"], ["c"]]),
        ("ca ab", [["c"], ["a"], ["b"]]),
    ],
)
def test_columns_follow_the_data(ways: str, columns: list[list[str]]) -> None:
    found = columns_of(Network(("a", "b", "c"), tuple(fifo(*way) for way in ways.split())))
    assert found == columns


@pytest.mark.parametrize("ways", ["ab bc ac", "ab bc ca", "ab bc ac ca", "aa ab bc"])
def test_no_label_lies_on_a_process_or_outside_the_drawing(ways: str) -> None:
    fifos = tuple(fifo(*way) for way in ways.split())
    drawing = ElementTree.fromstring(draw(Network(("a", "b", "c"), fifos)))
    svg = "{http://www.w3.org/2000/svg}"
    boxes = [
        tuple(int(box.attrib[key]) for key in ("x", "y", "width", "height"))
        for box in drawing.iter(f"{svg}rect")
    ]
    labels = [text for text in drawing.iter(f"{svg}text") if "(" in (text.text or "")]
    assert len(labels) == len(fifos)
    for label in labels:
        x, y = int(label.attrib["x"]), int(label.attrib["y"])
        assert 10 <= y <= int(drawing.attrib["height"])
        for left, above, width, height in boxes:
            assert not (left <= x <= left + width and above - 2 <= y <= above + height + 10)
    places = [(label.attrib["x"], label.attrib["y"]) for label in labels]
    assert len(set(places)) == len(places)


def pictures(markup: str) -> list[list[str | None]]:
    """The words of each drawing."""
    svg = "{http://www.w3.org/2000/svg}"
    drawn = re.findall(r"<svg.*?</svg>", markup, re.DOTALL)
    return [[text.text for text in ElementTree.fromstring(one).iter(f"{svg}text")] for one in drawn]


def test_many_processes_are_groups_that_unfold() -> None:
    names = tuple(f"cell_{n}" for n in range(40))
    fifos = tuple(
        Fifo(f"p_{n}", "i32", 2, a, b)
        for n, (a, b) in enumerate(zip(names, names[1:], strict=False))
    )
    drawn = draw(Network(names, (*fifos, Fifo("out", "i8", 3, "cell_39", None))))
    groups, whole = pictures(drawn)
    assert groups == ["p × 39 (2)", "cell × 40"]
    assert [word for word in whole if word in names] == list(names)
    assert "<summary>40 processes, 40 FIFOs</summary>" in drawn
    assert "<summary>cell × 40</summary>" in drawn
    assert "<td>cell_39</td><td>–</td><td>out</td><td>i8</td><td>3</td>" in drawn
    checked = Balanced()
    checked.feed(drawn)
    assert checked.open == []


def test_a_network_too_large_to_draw_is_groups_and_tables() -> None:
    names = tuple(f"cell_{n}" for n in range(401))
    assert pictures(draw(Network(names, (fifo("cell_0", "cell_400"),)))) == [
        ["cell_0cell (2)", "cell × 401"]
    ]


def test_groups_are_the_functions_where_these_are_few() -> None:
    functions = ("load", *["pe_1_1"] * 9, *["pe_1_2"] * 3)
    names = tuple(f"{name} #{n}" for n, name in enumerate(functions))
    ends = [Fifo(f"a_{n}_0", "i8", 4, names[0], name) for n, name in enumerate(names[1:])]
    found = condensed(Network(names, tuple(ends), functions))
    assert found.processes == ("load", "pe_1_1 × 9", "pe_1_2 × 3")
    assert [(f.name, f.depth, f.consumer) for f in found.fifos] == [
        ("a × 9", 4, "pe_1_1 × 9"),
        ("a × 3", 4, "pe_1_2 × 3"),
    ]


def test_the_report_of_an_array_groups_its_cells() -> None:
    """Sixteen processing elements are one box, one section of the page, and one table of the text."""
    arguments = [int8, int8, int32, 8, 8, 8, 4, 4]
    s = allo.customize(systolic, instantiate=arguments)
    s.compose(systolic, instantiate=arguments)
    report = s.estimate()
    (network,) = (f.network for f in report.functions if f.network is not None)
    assert (len(network.processes), len(network.fifos)) == (18, 40)
    groups, whole = pictures(report.html())
    assert groups[-3:] == ["systolic_tile_data_load", "PE_kernel × 16", "systolic_tile_data_drain"]
    assert groups[:3] == ["A_fifo × 4 (5) +1", "A_fifo × 12 (5) +1", "A_fifo × 4 (5) +1"]
    assert sum(str(word).startswith("PE_kernel") for word in whole) == 16
    assert "<code>PE_kernel_0_0 and 15 like it</code>" in report.html()
    assert "PE_kernel_0_0 and 15 like it (cells.py:" in report.table()
    assert "PE_kernel_0_1" not in report.table().split("instances:")[0]
    assert DesignReport.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_functions_that_are_equal_are_shown_once() -> None:
    @df.region()
    def top(X: int32[16]):
        @df.kernel(mapping=[15], args=[X])
        def cell(x: int32[16]):
            p = df.get_pid()
            x[p] = p

    text = lines(df.customize(top)._repr_html_())
    assert text == ["top [dataflow]", "cell(…) × 15", "cell_0 and 14 like it", "x ← …"]


def test_functions_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allo.schedule.display._MOST_FUNCTIONS", 2)
    assert lines(network()._repr_html_())[-1] == "… and 2 more functions"
