"""What a person finds in the Verilog: comments that lead to the source, names that say what a signal is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.backend.rtl.export.comments import Comments, places_of, short_names
from allo.backend.rtl.export.files import numbers_of
from allo.backend.rtl.export.finish import finish_verilog
from allo.backend.rtl.export.names import name_values, operation_of
from allo.backend.rtl.export.unread import mark_unread
from allo.backend.rtl.netlist.locations import Locations
from allo.dialects.diagnostics import SourcePlace
from allo.ir.types import float32, int32

HERE = Path(__file__)


def gemm(A: float32[8, 8], B: float32[8, 8], C: float32[8, 8]):
    for i, j in allo.grid(8, 8):
        total: float32 = 0
        for k in range(8):
            total += A[i, k] * B[k, j]
        C[i, j] = total


def pairs(x: int32[16], y: int32[16]):
    for i in range(16):
        if x[i] > 5:
            y[i] = (x[i] + 3) * (x[i] - 3)


@pytest.fixture(scope="module", params=[gemm, pairs], ids=["gemm", "pairs"])
def text(request) -> str:
    s = allo.customize(request.param)
    s.pipeline("k" if request.param is gemm else "i")
    return str(s.build(target="systemverilog"))


def test_every_place_is_a_line_of_the_kernel(text: str) -> None:
    first, last = gemm.__code__.co_firstlineno, pairs.__code__.co_firstlineno + 4
    listed = re.findall(r"// (test_text\.py):((?:\d+:\d+(?:, )?)+)", text)
    assert len(listed) > 25
    lines = {int(n) for _, places in listed for n in re.findall(r"(\d+):\d+", places)}
    assert all(first <= line <= last for line in lines)
    assert len(lines) >= 4
    assert "// @[" not in text
    assert "-:" not in text
    assert f"// test_text.py is {HERE}" in text.splitlines()


def test_no_signal_has_a_number_for_a_name(text: str) -> None:
    assert not re.findall(r"\b_GEN\w*|\b_T_?\d+\b|\b_[a-z]\w*_r\b", text)
    assert re.findall(r"\b(?:add|mul|eq|select|gt|and)_l\d+\b", text)


def test_each_stage_has_a_comment_with_its_loop(text: str) -> None:
    """In front of the bit that is high while the stage runs; this one has the place of the loop, too."""
    kernel, below, column = (gemm, 3, 9) if "module gemm(" in text else (pairs, 1, 5)
    place = f"{kernel.__code__.co_firstlineno + below}:{column}"
    found = re.findall(r"^  // stage (\d+) of (.*)\n  (?:reg|wire) +(\w+)(?:;| =)", text, re.M)
    loop = rf"loop \w+ \(test_text.py:{place}\)"
    mine = [int(n) for n, what, _ in found if re.fullmatch(loop, what)]
    assert sorted(mine) == list(range(len(mine))) and len(mine) >= 3
    assert not re.search(r"^  reg +\w+_run\d+;$", text, re.M)


def test_the_top_stands_first_and_the_text_is_the_same_again(text: str) -> None:
    kernel = gemm if "module gemm(" in text else pairs
    assert re.findall(r"^module (\w+)", text, re.M)[0] == kernel.__name__
    s = allo.customize(kernel)
    s.pipeline("k" if kernel is gemm else "i")
    assert str(s.build(target="systemverilog")) == text


# --- the parts -----------------------------------------------------------------------------


def test_comments_of_circt_are_read() -> None:
    assert places_of("/a/g.py:5:{13,24}, :6:9, /b,c/h.py:7:1") == [
        ("/a/g.py", 5, 13),
        ("/a/g.py", 6, 9),
        ("/b,c/h.py", 7, 1),
    ]
    assert places_of("-:20:12, :3:4, k.py:9:1") == [("k.py", 9, 1)]
    assert places_of("") == []
    assert places_of("0, :3:4, 1, 2:9:1") == [("0", 3, 4), ("2", 9, 1)]


def test_files_have_numbers_in_the_order_of_their_paths() -> None:
    paths = [f"/x/{name}.py" for name in "kfjbcadeghi"]
    numbers = numbers_of([*paths, "-"])
    assert list(numbers) == sorted(paths)
    assert list(numbers.values()) == sorted(numbers.values())
    locations = Locations()
    places = [SourcePlace("/x/a.py", 1, 2), SourcePlace("/x/k.py", 3, 4), SourcePlace("-", 5, 6)]
    assert locations.of(places).text == " loc(#p3)"
    assert locations.definitions(numbers) == [
        '#p0 = loc("00":1:2)',
        '#p1 = loc("10":3:4)',
        '#p2 = loc("-":5:6)',
        "#p3 = loc(fused[#p0, #p1, #p2])",
    ]
    files = {number: path for path, number in numbers.items()}
    comments = Comments("  reg x;\t// @[00:1:2, 10:3:4, -:5:6]", files)
    assert comments.names == {"/x/a.py": "a.py", "/x/k.py": "k.py"}
    assert (
        comments.rewrite("  reg x;\t// @[00:1:2, 10:3:4, -:5:6]")
        == "  reg x;  // a.py:1:2, k.py:3:4"
    )


def test_files_of_one_name_are_told_apart() -> None:
    names = short_names(["/x/b/k.py", "/x/a/k.py", "k.py", "<network 0>", "/x/a/j.py"])
    assert names["/x/a/j.py"] == "j.py"
    assert names["<network 0>"] == "<network 0>"
    assert len(set(names.values())) == 5
    assert all(path.endswith(name) for path, name in names.items())


def test_comments_stand_behind_what_they_are_of() -> None:
    text = (
        "  reg x;\t// @[/a/g.py:5:9]\n"
        "  always_ff @(posedge clk) begin\t// @[/a/g.py:5:9]\n"
        "    x <= y;\t// @[/a/g.py:5:9, :6:{1,2}, :7:3, :8:4, :9:5]\n"
        "  end // always_ff @(posedge)\n"
        "  wire y;\t// @[-:5:9]"
    )
    assert Comments(text).rewrite(text) == (
        "  reg x;  // g.py:5:9\n"
        "  always_ff @(posedge clk) begin\n"
        "    x <= y;  // g.py:5:9, 6:1, 7:3, 8:4 …\n"
        "  end\n"
        "  wire y;"
    )


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("a + b[3:0]", "add"),
        ("(a ? 8'h0 : b) + c", "add"),
        ("a ? b + c : d", "select"),
        ("&k", "all"),
        ("~(a | b)", "not"),
        ("a & b == c", "and"),
        ("(a + b)", "add"),
        ("$signed(a) < $signed(b)", "lt"),
        ("a <= b", "le"),
        ("{a, b}", "bits"),
        ("a >>> b", "shr"),
        ("a * {{8{b[7]}}, b}", "mul"),
    ],
)
def test_the_operation_of_an_expression(expression: str, word: str) -> None:
    assert operation_of(expression) == word


def test_values_are_named_by_operation_and_line() -> None:
    module = (
        "module m(\n  input a,\n        add_l7,\n);\n"
        "  wire [3:0] _GEN;\t// @[k.py:3:1]\n"
        "  wire [3:0] _u_0_r;\n"
        "  wire _GEN_0 = a + _u_0_r;\t// @[k.py:6:2, :7:1]\n"
        "  wire _GEN_1 = a + b;\t// @[k.py:7:1]\n"
        "  assign _GEN = _GEN_0 & _GEN_1;\n"
        "endmodule"
    )
    assert name_values(module) == (
        "module m(\n  input a,\n        add_l7,\n);\n"
        "  wire [3:0] and_net;\t// @[k.py:3:1]\n"
        "  wire [3:0] u_0_r;\n"
        "  wire add_l7_2 = a + u_0_r;\t// @[k.py:6:2, :7:1]\n"
        "  wire add_l7_3 = a + b;\t// @[k.py:7:1]\n"
        "  assign and_net = add_l7_2 & add_l7_3;\n"
        "endmodule"
    )


def test_what_is_read_in_part_is_marked() -> None:
    module = (
        "module m(\n  input  [7:0] a,\n               b,\n  output       r\n);\n\n"
        "  reg  [3:0] kept;\n"
        "  wire [3:0] whole = a[3:0];\n"
        "  reg  [7:0] words[0:15];\n"
        "  always_ff @(posedge clk)\n    kept <= a[7:4];\n"
        "  sub sub_0 (\n    .kept (b[2:1])\n  );\n"
        "  assign r = whole[a[0]] ^ words[whole];\n"
        "endmodule"
    )
    off, on = "  /* verilator lint_off UNUSEDSIGNAL */", "  /* verilator lint_on UNUSEDSIGNAL */"
    marked = mark_unread(module)
    assert f"{off}  // b: bits 7:3, 0 are not read\n               b,\n{on}\n" in marked
    assert f"{off}  // kept is not read\n  reg  [3:0] kept;\n{on}\n" in marked
    assert marked.count(off) == 2


def test_files_of_several_modules_say_so() -> None:
    text = "module u(\n);\nendmodule\n\nmodule top(\n);\nendmodule\n"
    assert finish_verilog(text, "top", ["A title"]) == (
        "// A title\n\nmodule top(\n);\nendmodule\n\n"
        "/* verilator lint_off DECLFILENAME */  // the modules of the design stand in one file\n\n"
        "module u(\n);\nendmodule\n"
    )


def test_directives_of_the_compiler_are_written_as_they_are() -> None:
    said = "/* verilator lint_off SYMRSVDWORD */"
    text = finish_verilog("module t(\n);\nendmodule\n", "t", ["synthesis: of t"], [said])
    assert text == f"// ./synthesis: of t\n{said}\n\nmodule t(\n);\nendmodule\n"


@pytest.mark.parametrize("name", ["verilator_is_slow", "Synthesis", "synopsys2"])
def test_a_file_whose_name_is_a_directive(name: str, tmp_path: Path) -> None:
    """Verilator refused ``// verilator_is_slow.py:5:9`` as a directive that it does not know."""
    file = tmp_path / f"{name}.py"
    file.write_text(
        "from allo.ir.types import int32\n\n\n"
        "def kernel(A: int32[8], B: int32[8]):\n"
        "    for i in range(8):\n"
        "        B[i] = A[i] * 3\n"
    )
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mod = allo.customize(module.kernel).build(target="verilog", simulator="verilator")
    assert f"// ./{name}.py:6:" in mod.verilog and f"// {name}" not in mod.verilog
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    mod(a, b)
    np.testing.assert_array_equal(b, 3 * a)
