"""Names a user may choose reach no other language as anything but names."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.backend.hls.text.writer import Writer
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.text.quoting import c_string, include, mlir_string, portable_name, tcl_word
from allo.errors import BuildError
from allo.ir.types import int32

from .tcl import interpreters, run_tcl

KERNEL = """
def {f}({a}: int32[4], {n}: int32) -> int32[4]:
    {v}: int32[4] = 0
    for {i} in range(4):
        {t}: int32 = {a}[{i}] + {n}
        {v}[{i}] = {t} * 2
    return {v}
"""
NAMES = {
    "unicode": ("größe", "ä", "ñ", "变量", "ι", "т"),
    "unicode that becomes one": ("ä_", "ä", "ö", "ü", "é", "è"),
    "keywords of Verilog": ("endmodule", "wire", "reg", "always", "begin", "logic"),
    "ports of every module": ("top", "clk", "rst", "start", "done", "ready"),
    "ports of memories": ("f", "a_addr", "a_en", "a_we", "a_rdata", "a_wdata"),
    "underscores": ("__f__", "a__b", "__n", "_v_", "i__", "__"),
    "keywords of C++": ("this", "new", "delete", "virtual", "operator", "register"),
    "names of the headers": ("main", "std", "int8_t", "NULL", "template", "double_"),
    "names of csim": ("allo_entry", "allo_call", "arguments", "allo_csim", "allo", "v0"),
    "names of the CPU": ("__allo_entry", "malloc", "printf", "memcpy", "free", "exp"),
    "case": ("F", "A", "a", "AA", "aa", "Aa"),
    "long": tuple(letter * 3000 for letter in "fanvit"),
    "long of underscores": tuple(letter + "__" * 60 for letter in "fanvit"),
}
TARGETS = {
    "cpu": {},
    "csim": {"target": "vhls"},
    "rtl": {"target": "verilog", "simulator": "jit"},
}


def built(names: tuple[str, ...], options: dict[str, str]) -> np.ndarray:
    """What the kernel of these names answers."""
    text = KERNEL.format(**dict(zip("fanvit", names, strict=True)))
    module = allo.customize(text, global_vars={"int32": int32}).build(**options)
    return module(np.arange(4, dtype=np.int32), 3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("names", NAMES)
def test_names_of_kernels_arguments_and_loops(names: str, target: str) -> None:
    np.testing.assert_array_equal(built(NAMES[names], TARGETS[target]), [6, 8, 10, 12])


@pytest.mark.parametrize("names", ["unicode that becomes one", "long", "long of underscores"])
def test_names_in_verilator(names: str) -> None:
    np.testing.assert_array_equal(built(NAMES[names], {"target": "verilog"}), [6, 8, 10, 12])


def test_integers_of_thousands_of_bits_on_every_target() -> None:
    wide = allo.ir.types.Int(4000)
    text = "def f(x: W, y: W) -> W:\n    return x + y\n"
    for options in TARGETS.values():
        module = allo.customize(text, global_vars={"W": wide}).build(**options)
        assert module(1 << 3990, -5) == (1 << 3990) - 5


def test_a_memory_circt_cannot_hold_is_an_exception() -> None:
    text = "def f(x: int32) -> int32:\n    A: int32[1000000, 1000000] = 0\n    return A[3, x]\n"
    module = allo.customize(text, global_vars={"int32": int32})
    with pytest.raises(BuildError):
        module.build(target="verilog", simulator="jit")(1)


# --- files ------------------------------------------------------------------------------

EXTERNAL = "void vadd(int a[4], int b[4]) { for (int i = 0; i < 4; i++) b[i] = a[i] + 1; }\n"
FILES = [
    "a b[exec touch PWNED].cpp",
    "$(touch PWNED);`touch PWNED`'.cpp",
    "{touch PWNED} }.cpp",
    "-o PWNED.cpp",
    "grün #1.cpp",
]


def project(folder: Path, name: str, target: str) -> Path:
    """The project of a kernel that calls C++ in a file of this name; once, it runs as well."""
    file = folder / name
    file.write_text(EXTERNAL)
    vadd = allo.IPModule(top="vadd", impl=str(file))

    def top(A: int32[4], B: int32[4]):
        vadd(A, B)

    schedule = allo.customize(top)
    for options in ({}, {"target": "vhls"}) if target == "vitis_hls" else ():
        A, B = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
        schedule.build(**options)(A, B)
        np.testing.assert_array_equal(B, [1, 2, 3, 4])
    written = folder / "project"
    schedule.build(target=target, mode="csim", project=str(written))
    return written


STUBS = """
proc unknown {args} {return ""}
proc add_files {args} {puts [lindex $args end]}
proc solution {args} {if {[lindex $args 0] eq "file"} {puts [lindex $args 2]}}
rename exit leave
proc exit {args} {leave 0}
source [file join [lindex $argv 0] run.tcl]
"""


@pytest.mark.parametrize("target", ["vitis_hls", "vivado_hls", "catapult"])
@pytest.mark.parametrize("name", FILES)
def test_scripts_name_the_files_and_run_nothing(name: str, target: str, tmp_path: Path) -> None:
    written = project(tmp_path, name, target)
    (tmp_path / "stubs.tcl").write_text(STUBS)
    for by in interpreters():
        done = run_tcl("stubs.tcl", str(written), folder=tmp_path, by=by)
        assert done.returncode == 0, done.stderr
        named = [Path(line).name for line in done.stdout.decode().splitlines()]
        assert named[:2] == ["kernel.cpp", portable_name(name)], by
        assert all((written / file).is_file() for file in named if file.endswith(".cpp"))
    assert not [path for path in tmp_path.rglob("PWNED") if path.is_file()]


def test_the_settings_of_vitis_hold_one_line_a_file(tmp_path: Path) -> None:
    written = project(tmp_path, FILES[1], "vitis_hls")
    lines = (written / "hls.cfg").read_text().splitlines()
    assert f"syn.file={portable_name(FILES[1])}" in lines
    assert [line for line in lines if line.startswith("[")] == ["[hls]"]
    assert json.loads((written / "description.json").read_text())["name"] == "top"
    shown = subprocess.run(
        ["make", "-n", "clean"],
        cwd=written,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert (written / portable_name(FILES[1])).read_text() == EXTERNAL


@pytest.mark.parametrize("name", ['a".cpp', "a\nb.cpp", "a\\b.cpp"])
def test_a_file_that_cpp_cannot_include_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(EXTERNAL)
    with pytest.raises(BuildError, match="C\\+\\+ cannot include") as caught:
        allo.IPModule(top="vadd", impl=str(tmp_path / name))
    assert caught.value.help == "rename the file or the folder."


def test_a_function_that_is_no_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(EXTERNAL)
    with pytest.raises(BuildError, match="is no name of a C\\+\\+ function"):
        allo.IPModule(top="vadd(0); system", impl=str(tmp_path / "a.cpp"))


def test_a_file_may_not_take_the_place_of_one_of_the_project(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"cannot be named tb\.cpp: the project has its own"):
        project(tmp_path, "tb.cpp", "vitis_hls")
    assert not (tmp_path / "project").exists()


# --- the quoting itself -----------------------------------------------------------------

TEXTS = [
    "plain.cpp",
    "a b",
    '"',
    "\\",
    "$x",
    "[exec ls]",
    "{",
    "}",
    "#",
    ";",
    "ä",
    "\n",
    "\t?",
    "??/",
]


@pytest.mark.parametrize("by", sorted(interpreters()))
def test_tcl_reads_back_every_text(by: str, tmp_path: Path) -> None:
    texts = [*TEXTS, "".join(TEXTS)]
    script = "fconfigure stdout -encoding utf-8 -translation lf\n"
    script += "".join(
        f"puts -nonewline {tcl_word(text)}\nputs -nonewline \\u0000\n" for text in texts
    )
    (tmp_path / "words.tcl").write_text(script)
    done = run_tcl("words.tcl", folder=tmp_path, by=by)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split("\0")[:-1] == texts


@pytest.mark.parametrize("by", sorted(interpreters()))
def test_what_tcl_does_not_read_is_seen(by: str, tmp_path: Path) -> None:
    for text in ("a b", "$x", "[exec ls]", "a {"):
        (tmp_path / "words.tcl").write_text(f"puts -nonewline {text}\nputs [set never]\n")
        done = run_tcl("words.tcl", folder=tmp_path, by=by)
        assert (done.returncode, done.stdout) != (0, text.encode())
        assert done.stderr


@pytest.mark.parametrize("name", ["bins", "casex", "unique0", "s_until", "highz1", "wire"])
def test_tools_are_told_the_name_that_the_module_has(name: str) -> None:
    """CIRCT renames what is a keyword to it: then Verilator was asked for a module that is not there."""
    text = f"def {name}(a: int32) -> int32:\n    return a + 1\n"
    schedule = allo.customize(text, global_vars={"int32": int32})
    design = schedule.build(target="verilog").design
    assert f"module {design.top}(" in design.verilog


def test_cpp_reads_back_every_text(tmp_path: Path) -> None:
    lines = "".join(f"  fputs({c_string(text)}, stdout); fputc(0, stdout);\n" for text in TEXTS)
    source = f"#include <stdio.h>\nint main() {{\n{lines}}}\n"
    (tmp_path / "a.cpp").write_text(source)
    subprocess.run(
        ["g++", "-std=c++14", "-trigraphs", "-w", "a.cpp"], cwd=tmp_path, check=True, timeout=60
    )
    done = subprocess.run([tmp_path / "a.out"], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().split("\0")[:-1] == TEXTS


def test_mlir_reads_back_every_text() -> None:
    from allo.dialects._mlir import ir, make_context

    with make_context():
        for text in TEXTS:
            assert ir.StringAttr(ir.Attribute.parse(mlir_string(text))).value == text


def test_a_comment_ends_with_its_line() -> None:
    out = Writer()
    out.line("x = 1;", SourcePlace("/tmp/a\nb.py", 3))
    assert out.text() == "x = 1;\t// a?b.py:3\n"


def test_names_of_letters_and_digits_stay() -> None:
    assert portable_name("vadd_2.cpp") == "vadd_2.cpp"
    assert include("/a b/vadd.cpp") == '"/a b/vadd.cpp"'
    assert tcl_word("./vadd.cpp") == "./vadd.cpp"
