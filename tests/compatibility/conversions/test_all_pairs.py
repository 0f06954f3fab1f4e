"""Every pair of scalar types through a FIFO, as words and in blocks: targets agree with the interpreter."""

import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo.dataflow as df
from allo.ir import types
from tests.compatibility.everywhere import TARGETS, results

WANTED = {
    "int1": "int8",
    "Int(5)": "int8",
    "uint8": "uint8",
    "UInt(12)": "uint16",
    "Int(33)": "int64",
    "uint64": "uint64",
    "Fixed(12, 4)": "float32",
    "UFixed(9, 3)": "float32",
    "float16": "float16",
    "float64": "float64",
}


def region(source: str) -> Any:
    """Values of one type, put into streams of all others."""
    names = list(WANTED.items())
    text = ["def top(X: int32[6], " + ", ".join(f"R{i}: {t}[6]" for i, t in enumerate(WANTED))]
    text[0] += "):"
    for i, (t, _) in enumerate(names):
        text += [f"    s{i}: Stream[{t}, 2]", f"    b{i}: Stream[{t}[2], 2]"]
    text += ["    @df.kernel(mapping=[1], args=[X])", "    def send(x: int32[6]):"]
    text += ["        for i in range(3):", f"            w: {source}[2] = 0"]
    text += ["            w[0] = x[2 * i]", "            w[1] = x[2 * i + 1] / 3"]
    for i in range(len(names)):
        text += [f"            s{i}.put(w[0])", f"            b{i}.put(w)"]
    rows = ", ".join(f"R{i}" for i in range(len(names)))
    takes = ", ".join(f"r{i}: {t}[6]" for i, (t, _) in enumerate(names))
    text += [f"    @df.kernel(mapping=[1], args=[{rows}])", f"    def take({takes}):"]
    text += ["        for i in range(3):"]
    for i, (t, _) in enumerate(names):
        text += [f"            r{i}[2 * i] = s{i}.get()", f"            v{i}: {t}[2] = b{i}.get()"]
        text += [f"            r{i}[2 * i + 1] = v{i}[1]"]
    code = "\n".join(["@df.region()", *text]) + "\n"
    file = f"<pairs of {source}>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    space = {**vars(types), "df": df, "__name__": "pairs"}
    exec(compile(code, file, "exec"), space)
    return space["top"]


@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["Int(5)", "UInt(12)", "Int(70)", "Fixed(12, 4)", "float32"])
def test_a_value_put_is_cast_to_the_type_of_the_stream(
    source: str, target: str, tmp_path: Path
) -> None:
    x = np.array([77, -1000, 2**31 - 5, -7, -(2**31), 31], np.int32)
    made = [np.zeros(6, kind) for kind in WANTED.values()]
    top = region(source)
    wanted = results(top, "interpret", tmp_path, x, *made)
    got = results(top, target, tmp_path, x, *made)
    for mine, theirs in zip(got, wanted, strict=True):
        assert mine.tobytes() == theirs.tobytes()
