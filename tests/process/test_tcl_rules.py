"""The rules of Tcl's syntax as we wrote them down, against the manual page and against Tcl itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tcl import interpreters, run_tcl

START = "fconfigure stdout -encoding utf-8 -translation lf\nset x {a b}\nset long_1 7\n"
ANSWERS = {
    "words": ("puts one", "one\n"),
    "commands on a line": ("puts one; puts two", "one\ntwo\n"),
    "quotes": ('puts "a $x; [set x]"', "a a b; a b\n"),
    "quotes inside a word": ('puts a"b"', 'a"b"\n'),
    "braces": ("puts {a $x [set x] \\n}", "a $x [set x] \\n\n"),
    "nested braces": ("puts {a {b c} d}", "a {b c} d\n"),
    "a backslash hides a brace": ("puts {a \\} b}", "a \\} b\n"),
    "braces inside a word": ("puts a{b}", "a{b}\n"),
    "commands": ("puts [set long_1]-[set x]", "7-a b\n"),
    "a bracket in quotes in a command": ('puts [set x "]"]', "]\n"),
    "variables": ("puts $long_1.cpp", "7.cpp\n"),
    "names in braces": ("puts ${x}y", "a by\n"),
    "a lone dollar": ("puts a$", "a$\n"),
    "results are not read again": ("set y {$x [exec ls]}\nputs $y", "$x [exec ls]\n"),
    "a value is one word": ("proc p {args} {puts [lindex $args end]}\np 1 $x", "a b\n"),
    "backslashes": (r'puts "\$x \[ \" \\ \{"', '$x [ " \\ {\n'),
    "control characters": (r"puts a\tb\x41\u00e4\101", "a\tbAäA\n"),
    "a line that goes on": ("puts \\\n   one", "one\n"),
    "one in quotes": ('puts "a\\\n   b"', "a b\n"),
    "one in braces": ("puts {a\\\n   b}", "a b\n"),
    "comments": ("# puts one; puts two\nputs three", "three\n"),
    "a comment that goes on": ("# puts one\\\nputs two\nputs three", "three\n"),
    "no comment": ("puts #", "#\n"),
    "lists": ("proc p {args} {puts [lindex $args 1]}\np {*}{1 {2 3} 4}", "2 3\n"),
    "elements of any text": ('proc p {args} {puts [lindex $args 0]}\np "a{b\\\\ \\$"', "a{b\\ $\n"),
    "conditions": ('if {[set x] eq "a b"} {puts yes}\nif {$x eq "c"} {puts no}', "yes\n"),
    "unknown commands": ("proc unknown {args} {puts $args}\ngo on", "go on\n"),
}
REFUSED = {
    "an open brace": "puts {a",
    "an open quote": 'puts "a',
    "an open bracket": "puts [set x",
    "text behind a brace": "puts {a}b",
    "text behind a quote": 'puts "a"b',
    "no variable": "puts $never",
    "no command": "never",
}


@pytest.mark.parametrize("by", sorted(interpreters()))
@pytest.mark.parametrize("case", ANSWERS)
def test_what_is_read(case: str, by: str, tmp_path: Path) -> None:
    script, answer = ANSWERS[case]
    (tmp_path / "a.tcl").write_text(f"{START}{script}\n")
    done = run_tcl("a.tcl", folder=tmp_path, by=by)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, answer, b"")


@pytest.mark.parametrize("by", sorted(interpreters()))
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, by: str, tmp_path: Path) -> None:
    (tmp_path / "a.tcl").write_text(f"{START}{REFUSED[case]}\n")
    done = run_tcl("a.tcl", folder=tmp_path, by=by)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr


def test_a_machine_without_tcl_runs_scripts_by_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert list(interpreters()) == ["rules"]
    (tmp_path / "a.tcl").write_text('puts "[lindex $argv 1]"\n')
    assert run_tcl("a.tcl", "x", "y z", folder=tmp_path).stdout == b"y z\n"
