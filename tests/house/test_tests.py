"""What tests may not do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import numpy as np
import pytest

from tests.house.assertions import without_assertion
from tests.house.tree import Tree
from tests.plant import Fault, change_element, changed_scalar

CLOCK_OF_CAMPAIGNS = "tests/fuzz/runner/clock.py"
"""Campaigns last as long as they are told to, and find hangs: no test's answer depends on it."""
CLOCKS = {"perf_counter", "process_time", "monotonic", "time", "perf_counter_ns", "time_ns"}


def clock_reads(nodes: Iterable[ast.AST]) -> list[int]:
    """Lines that read a clock of module ``time``.

    The processor time may be given to a search as its ``timer``: other work on the machine does not run it.
    """
    every = list(nodes)
    timers = [k.value for k in every if isinstance(k, ast.keyword) and k.arg == "timer"]
    for options in (node for node in every if isinstance(node, ast.Dict)):
        pairs = zip(options.keys, options.values, strict=True)
        timers += [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "timer"]
    given = {id(t) for t in timers if isinstance(t, ast.Attribute) and t.attr == "process_time"}
    return [
        node.lineno
        for node in every
        if (
            isinstance(node, ast.Attribute)
            and id(node) not in given
            and node.attr in CLOCKS
            and isinstance(node.value, ast.Name)
            and node.value.id == "time"
        )
        or (isinstance(node, ast.ImportFrom) and node.module == "time")
    ]


def test_no_test_reads_a_clock(tree: Tree) -> None:
    """A machine at work makes such a test fail: speed is measured in benchmarks/."""
    found = [
        f"{file.name}:{line}"
        for file in tree.files("tests")
        if file.name != CLOCK_OF_CAMPAIGNS and "time" in file.text
        for line in clock_reads(file.nodes)
    ]
    assert not found


def nodes_of(text: str) -> list[ast.AST]:
    """The nodes of a file with this text."""
    return list(ast.walk(ast.parse(text)))


def test_a_clock_read_is_found() -> None:
    assert clock_reads(nodes_of("import time\n\nstart = time.perf_counter()\n")) == [3]
    assert clock_reads(nodes_of("from time import perf_counter\n")) == [1]
    assert clock_reads(nodes_of("import time\ntime.sleep(1)\n")) == []
    assert clock_reads(nodes_of("import time\nf(timer=time.process_time)\n")) == []
    assert clock_reads(nodes_of('import time\nx = {"timer": time.process_time}\n')) == []
    assert clock_reads(nodes_of("import time\nf(timer=time.monotonic)\n")) == [2]
    assert clock_reads(nodes_of("import time\nf(timer=time.process_time())\n")) == [2]


def test_every_test_holds_an_assertion(tree: Tree) -> None:
    assert without_assertion({file.name: file.tree for file in tree.files("tests")}) == []


HELPER = """
def check(x):
    assert x == 1

def look(x):
    check(x)
"""
LOOKING = """
import pytest
from .helper import look
def test_a(): assert 1
def test_b(): look(1)
def test_c():
    with pytest.raises(ValueError):
        int("x")
"""
BLIND = """
def test_d():
    def kernel(x):
        assert x
    kernel
def check(x): print(x)
def test_e(): check(2)
"""


def test_a_test_without_an_assertion_is_listed() -> None:
    texts = {"helper.py": HELPER, "test_looking.py": LOOKING, "test_blind.py": BLIND}
    files = {name: ast.parse(text) for name, text in texts.items()}
    assert without_assertion(files) == ["test_blind.py:2 test_d", "test_blind.py:7 test_e"]


def test_planted_faults_change_one_element_of_every_second_call() -> None:
    plain = np.arange(24, dtype=np.int8).reshape(4, 6)
    for seed in ("a", "b", "c"):
        fault = Fault(seed)
        given, kept = plain.copy(), plain.copy()
        assert fault.after(None, [given]) is None
        assert fault.after(None, [kept]) is None
        assert np.count_nonzero(given != plain) == 1
        assert np.array_equal(kept, plain)
        assert fault.changed == 1


@pytest.mark.parametrize(
    "value", [0, 7, -1, True, np.int8(-128), 0.0, -1.0, -2.5, np.float32("nan"), float("inf"), 1e30]
)
def test_a_changed_scalar_is_outside_any_tolerance(value) -> None:
    found = changed_scalar(value)
    assert type(found) is type(value)
    if isinstance(value, float | np.floating):
        assert not np.isclose(float(found), float(value), rtol=0.1, equal_nan=True)
    else:
        assert found != value


def test_a_changed_struct_or_half_float_is_another_value() -> None:
    pairs = np.zeros(3, np.dtype([("x", np.int16), ("y", np.float32)]))
    change_element(pairs, 1)
    assert [bool(p != np.zeros(1, pairs.dtype)[0]) for p in pairs] == [False, True, False]
    halves = np.ones(2, np.float16)
    change_element(halves, 0)
    assert halves.tolist() == [3.0, 1.0]


def test_a_blind_test_is_listed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["tests.plant"]')
    pytester.makepyfile(
        """
        import allo
        import numpy as np
        from allo.ir.types import int32

        def add(a: int32[2], b: int32[2]) -> int32[2]:
            c: int32[2] = 0
            for i in range(2):
                c[i] = a[i] + b[i]
            return c

        A = np.arange(2, dtype=np.int32)

        def test_looks():
            assert np.array_equal(allo.customize(add).build()(A, A), 2 * A)

        def test_does_not_look():
            assert allo.customize(add).build()(A, A).shape == (2,)
        """
    )
    found = pytester.runpytest_subprocess("--plant", "cpu", "-p", "no:cacheprovider")
    assert found.ret == 1
    found.stdout.fnmatch_lines(
        ["2 tests had a changed result, 1 passed:", "BLIND *::test_does_not_look"]
    )


ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def named_after_an_address(names: Iterable[str]) -> list[str]:
    """Names of tests that differ from process to process."""
    return [name for name in names if ADDRESS.search(name)]


def test_no_test_is_named_after_an_address(request: pytest.FixtureRequest) -> None:
    """Two workers would then collect different tests, and neither runs any: pytest-xdist says so."""
    names = [item.nodeid for item in request.session.items]
    assert request.node.nodeid in names
    assert named_after_an_address(names) == []


def test_an_address_in_a_name_is_seen() -> None:
    found = named_after_an_address(["a.py::t[<f at 0x7f12ab34cd>]", "a.py::t[0x1f]"])
    assert found == ["a.py::t[<f at 0x7f12ab34cd>]"]
