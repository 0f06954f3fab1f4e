"""One port and one memory for each run of rows of an array: text, csim, host program, refusals."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.hls.csim.headers import RUNTIME, SHIMS, open_headers
from allo.backend.hls.errors import HlsConfigError, MemorySplitError
from allo.errors import OptionError
from allo.ir.types import Int, Stream, UInt, int32

ROWS, N = 4, 16
RNG = np.random.default_rng(23)
OPENCL_SHIM, TAPA_SHIM = (Path(__file__).parent / f"{name}_shim" for name in ("opencl", "tapa"))


def total(row: int32[N], factor: int32) -> int32:
    sum_: int32 = 0
    for i in range(N):
        sum_ += row[i] * factor
    return sum_


def at(matrix: int32[ROWS, N], r: int32) -> int32:
    sum_: int32 = 0
    for i in range(N):
        sum_ += matrix[r, i]
    return sum_


def mixed(w: int32[ROWS, N], x: int32[N], out: int32[6], moved: int32[ROWS, N]):
    """Slices, rows chosen by arguments, unrolled loops; reads and writes."""
    out[0] = total(w[0], 3)
    out[1] = total(w[ROWS - 1], 5)
    out[2] = at(w, 2)
    out[3] = at(w, 1)
    out[4] = 0
    out[5] = 0
    for c in range(ROWS):
        out[4] += at(w, c)
        for i in range(N):
            out[5] += w[c, i] * x[i]
            moved[c, i] = w[ROWS - 1 - c, i] + x[i]


def integers(*shape: int) -> np.ndarray:
    return RNG.integers(-1000, 1000, shape).astype(np.int32)


def built(s: Any, mapping: dict[str, Any], **request: Any) -> Any:
    request = {"target": "vitis_hls", "mode": "csim", **request}
    return s.build(**request, configs={"hbm_mapping": mapping})


def run_both(s: Any, module: Any, *args: np.ndarray) -> None:
    """csim and the CPU build on copies: every array is equal, and something was written."""
    mine, theirs = [a.copy() for a in args], [a.copy() for a in args]
    module(*mine)
    s.build()(*theirs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(mine, args, strict=True))


def unrolled(kernel: Any, loop: str) -> Any:
    s = allo.customize(kernel)
    s.unroll(loop)
    return s


@pytest.mark.parametrize("wrap_io", [True, False])
@pytest.mark.parametrize("count", [2, ROWS])
def test_csim_of_several_memories_equals_the_cpu(count: int, wrap_io: bool) -> None:
    s = unrolled(mixed, "c")
    mapping = {"w": list(range(count)), "moved": list(range(8, 8 + count))}
    module = built(s, mapping, wrap_io=wrap_io)
    assert [f"bundle=gmem{k}" in module.hls_code for k in (2 * count + 1, 2 * count + 2)] == [1, 0]
    run_both(s, module, integers(ROWS, N), integers(N), integers(6), integers(ROWS, N))


def test_every_part_is_a_port_with_a_bundle_and_a_memory(tmp_path: Path) -> None:
    mapping = {"w": [3, "HBM[5]", 7, "DDR[1]"], "x": 0, "output_1": ["HBM[8]", "HBM[9]"]}
    module = built(unrolled(mixed, "c"), mapping, project=str(tmp_path), wrap_io=False)
    head = module.hls_code.split('extern "C" {')[1]
    parameters = re.findall(r"^  int32_t \*(\w+)", head, re.M)
    assert parameters == ["w_0", "w_1", "w_2", "w_3", "x", "out", "moved_0", "moved_1"]
    ports = re.findall(r"m_axi port=(\w+) offset=slave bundle=gmem(\d+)", head)
    assert ports == [(name, str(k)) for k, name in enumerate(parameters)]
    assert (tmp_path / "mixed.cfg").read_text().splitlines()[1:] == [
        "sp=mixed_1.w_0:HBM[3]",
        "sp=mixed_1.w_1:HBM[5]",
        "sp=mixed_1.w_2:HBM[7]",
        "sp=mixed_1.w_3:DDR[1]",
        "sp=mixed_1.x:HBM[0]",
        "sp=mixed_1.moved_0:HBM[8]",
        "sp=mixed_1.moved_1:HBM[9]",
    ]
    # A function that reads one part takes that part alone, under its own name.
    assert "void total_v0(\n  int32_t row[16]," in module.hls_code
    assert "total_v0(w_0, 3, " in head and "total_v1(w_3, 5, " in head


@pytest.mark.parametrize("target", ["vitis_hls", "tapa"])
def test_each_loader_of_a_region_reads_its_own_port(target: str) -> None:
    """Elements of 24 bits, which csim keeps in other words than NumPy does."""

    @df.region()
    def sums(w: UInt(24)[ROWS, N], scale: Int(6)[2 * ROWS], out: int32[ROWS]):
        words: Stream[UInt(24), 4][ROWS]

        @df.kernel(mapping=[ROWS], args=[w])
        def loader(memory: UInt(24)[ROWS, N]):
            c = df.get_pid()
            for i in range(N):
                words[c].put(memory[c, i])

        @df.kernel(mapping=[1], args=[scale, out])
        def adder(factor: Int(6)[2 * ROWS], target: int32[ROWS]):
            with allo.meta_for(ROWS) as c:
                sum_: int32 = 0
                for i in range(N):
                    sum_ += words[c].get() * factor[2 * c] + factor[2 * c + 1]
                target[c] = sum_

    s = df.customize(sums)
    mapping = {"w": [0, 1, 2, 3], "scale": [4, 5], "out": [6, 7, 8, 9]}
    module = built(s, mapping, wrap_io=False, target=target)
    call = (
        "loader_{0}(w_{0}, words_{0})"
        if target == "vitis_hls"
        else "(loader_{0}, w_{0}, words_{0})"
    )
    for c in range(ROWS):
        assert call.format(c) in module.hls_code
    assert re.search(
        r"adder_0[(, ]+scale_0, scale_1, out_0, out_1, out_2, out_3, ", module.hls_code
    )
    w = RNG.integers(0, 1 << 24, (ROWS, N)).astype(np.uint32)
    scale = RNG.integers(-32, 32, 2 * ROWS).astype(np.int8)
    run_both(s, module, w, scale, integers(ROWS))


def test_memories_of_an_array_of_one_dimension_are_told_by_ranges() -> None:
    def fold(w: int32[4 * N], out: int32[N]):
        for i in range(N):
            for j in range(2):
                out[i] += w[i + j * N] - w[3 * N - 1 - i] * w[3 * N + i]

    s = allo.customize(fold)
    s.pipeline("i")  # which unrolls j
    module = built(s, {"w": [0, 1, 2, 3], "out": [4]}, wrap_io=False)
    assert all(f"= w_{k}[" in module.hls_code for k in range(4))
    run_both(s, module, integers(4 * N), integers(N))


@pytest.mark.slow
def test_the_host_program_of_tapa_spreads_and_joins_the_arrays(tmp_path: Path) -> None:
    s = unrolled(mixed, "c")
    mapping = {"w": [0, 1, 2, 3], "moved": [4, 5]}
    built(s, mapping, target="tapa", project=str(tmp_path))
    cfg = (tmp_path / "mixed.cfg").read_text()
    assert "sp=mixed_1.w_2:HBM[2]\n" in cfg and "sp=mixed_1.moved_1:HBM[5]\n" in cfg
    given = [integers(ROWS, N), integers(N), integers(6), integers(ROWS, N)]
    for k, array in enumerate(given):
        array.tofile(tmp_path / f"input{k}.data")
    s.build()(*given)
    compile_here(tmp_path, "-pthread", "tapa_host.cpp", "kernel.cpp", "-o", "host")
    subprocess.run(["./host"], cwd=tmp_path, check=True, timeout=60)
    for k, expected in enumerate(given[2:]):
        got = np.fromfile(tmp_path / f"output{k}.data", np.int32)
        np.testing.assert_array_equal(got, expected.reshape(-1))


def test_a_list_of_one_memory_is_that_memory() -> None:
    s = unrolled(mixed, "c")
    assert built(s, {"w": [5]}).hls_code == built(s, {"w": 5}).hls_code


def test_checks_of_csim_work_on_split_arrays() -> None:
    s = unrolled(mixed, "c")
    module = s.build(
        target="vitis_hls",
        mode="csim",
        configs={"hbm_mapping": {"w": [0, 1]}, "check_bounds": True},
    )
    assert "int32_t *w_1," in module.hls_code
    run_both(s, module, integers(ROWS, N), integers(N), integers(6), integers(ROWS, N))


def compile_here(folder: Path, *arguments: str) -> None:
    folders = (OPENCL_SHIM, TAPA_SHIM, SHIMS, RUNTIME, open_headers())
    command = ["g++", "-std=c++17", "-w", *(f"-I{f}" for f in folders), *arguments]
    subprocess.run(command, cwd=folder, check=True, timeout=300)


def test_the_host_program_spreads_and_joins_the_arrays(tmp_path: Path) -> None:
    """Host program and test bench, by g++; a shim of OpenCL has memory of its own for each buffer."""

    def shift(w: int32[ROWS, N], by: int32, both: int32[2, N], out: int32[ROWS, N]):
        for i in range(N):
            for c in range(ROWS):
                out[c, i] = w[c, i] * (c + 1) + by
            both[0, i] += both[1, i]
            both[1, i] -= w[3, i]

    s = allo.customize(shift)
    s.pipeline("i")
    mapping = {"w": [0, 1, 2, 3], "both": [4, 5], "out": [6, 7]}
    module = built(s, mapping, project=str(tmp_path), wrap_io=False)
    given = [integers(ROWS, N), np.array([77], np.int32), integers(2, N), integers(ROWS, N)]
    for k, array in enumerate(given):
        array.tofile(tmp_path / f"input{k}.data")
    w, by, both, out = given
    s.build()(w, int(by[0]), both, out)
    pointers = ["int *"] * 4 + ["int"] + ["int *"] * 4
    passed = [f"({t})a[{k}]" if t != "int" else f"*(int *)a[{k}]" for k, t in enumerate(pointers)]
    (tmp_path / "call.cpp").write_text(
        f'extern "C" void shift({", ".join(pointers)});\n'
        f"void shim_call(void **a) {{ shift({', '.join(passed)}); }}\n"
    )
    compile_here(tmp_path, "-c", "kernel.cpp", "-o", "kernel.o")
    compile_here(tmp_path, "host.cpp", "xcl2.cpp", "call.cpp", "kernel.o", "-o", "host")
    compile_here(tmp_path, "tb.cpp", "kernel.o", "-o", "tb")
    for program in ("host", "tb"):
        subprocess.run([f"./{program}", "input0.data"], cwd=tmp_path, check=True, timeout=60)
        for k, expected in enumerate((both, out)):
            got = np.fromfile(tmp_path / f"output{k}.data", np.int32)
            np.testing.assert_array_equal(got, expected.reshape(-1), err_msg=program)
            (tmp_path / f"output{k}.data").unlink()
    assert module.num_output_args == 2


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (
            {"w": [0, 1, 2]},
            "hbm_mapping gives w 3 memories, which do not divide its 4 rows.\n"
            "help: give it one of these numbers of memories: 1, 2, 4.",
        ),
        (
            {"w": []},
            "hbm_mapping gives w 0 memories, which do not divide its 4 rows.\n"
            "help: give it one of these numbers of memories: 1, 2, 4.",
        ),
        (
            {"k": [0, 1]},
            "hbm_mapping gives k a list of memories, and k is no array with dimensions.\n"
            "help: name one memory.",
        ),
        (
            {"q": [0, 1]},
            "hbm_mapping names 'q', which is no port of scaled.\n"
            "help: its ports: w, k, out, output_0, output_1.",
        ),
        (
            {"output_1": [0, 1]},
            "hbm_mapping gives output_1 a list of memories, and output_1 is a result of the kernel.\n"
            "help: pass an array as an argument in which the kernel leaves its result.",
        ),
        (
            {"out": [0, 1], "output_0": [2, 3]},
            "hbm_mapping names one port of scaled twice, as out and as output_0.\n"
            "help: name it once.",
        ),
    ],
    ids=lambda v: next(iter(v)) if isinstance(v, dict) else None,
)
def test_lists_that_fit_no_array_are_refused(mapping: dict[str, Any], message: str) -> None:
    def scaled(w: int32[ROWS], k: int32, out: int32[ROWS]) -> int32[ROWS]:
        result: int32[ROWS] = 0
        for i in range(ROWS):
            out[i] = w[i] * k
            result[i] = w[i] + k
        return result

    with pytest.raises(HlsConfigError) as caught:
        built(unrolled(scaled, "i"), mapping)
    assert str(caught.value) == message


def test_other_targets_and_other_values_are_refused() -> None:
    s = unrolled(mixed, "c")
    with pytest.raises(HlsConfigError) as caught:
        built(s, {"w": [0, 1]}, target="vhls")
    assert str(caught.value) == (
        "hbm_mapping gives w a list of memories, and a kernel for vhls has one port an array.\n"
        "help: build for vitis_hls or tapa, or name one memory."
    )
    with pytest.raises(
        OptionError, match=r"not \{'w': \[0, 1.5\]\}\.\nhelp: 'w' is given \[0, 1.5\]"
    ):
        built(s, {"w": [0, 1.5]})


def test_a_row_that_a_loop_chooses_is_refused_with_its_line() -> None:
    def chosen(w: int32[ROWS, N], out: int32[ROWS]):
        for c in range(ROWS):
            for i in range(N):
                out[c] += w[c, i]

    with pytest.raises(MemorySplitError) as caught:
        built(allo.customize(chosen), {"w": [0, 1]})
    text = str(caught.value)
    assert text.split("\n")[0].endswith(
        ": The compiler cannot prove in which of the 2 memories of w this access is."
    )
    assert f"| {' ' * 16}out[c] += w[c, i]\n" in text and "^" in text
    assert text.endswith(
        "help: unroll the loop chosen:c completely, or give w one memory in hbm_mapping."
    )


def test_every_loop_that_chooses_a_row_is_named() -> None:
    def paired(w: int32[ROWS, N], out: int32[N]):
        for a in range(2):
            for once in range(1):
                for b in range(2):
                    for i in range(N):
                        out[i] += w[2 * a + b + once, i]

    s = allo.customize(paired)
    with pytest.raises(
        MemorySplitError, match="unroll the loops paired:a and paired:b completely,"
    ):
        built(s, {"w": [0, 1, 2, 3]})
    s.unroll("a")
    with pytest.raises(MemorySplitError, match="unroll the loop paired:b completely,"):
        built(s, {"w": [0, 1, 2, 3]})
    run_both(s, built(s, {"w": [0, 1]}), integers(ROWS, N), integers(N))


def test_a_row_that_is_known_only_when_it_runs_is_refused() -> None:
    def pick(matrix: int32[ROWS, N], r: int32, out: int32[N]):
        for i in range(N):
            out[i] = matrix[r & 3, i]

    def picked(w: int32[ROWS, N], r: int32, out: int32[N]):
        pick(w, r, out)

    with pytest.raises(MemorySplitError) as caught:
        built(allo.customize(picked), {"w": [0, 1, 2, 3]})
    text = str(caught.value)
    assert "in which of the 4 memories of w this access is.\n" in text
    assert "out[i] = matrix[r & 3, i]\n" in text
    assert re.search(r"note: .*: It is reached through this call\.\n.*pick\(w, r, out\)\n", text)
    assert "help: make the first subscript a constant, or give w one memory in hbm_mapping." in text


def test_a_row_outside_of_the_array_is_refused() -> None:
    """Where only the caller knows that it is not reached; a condition on the loop itself is decided."""

    def before(w: int32[ROWS, N], out: int32[N], first: int32):
        for i in range(N):
            for c in range(ROWS):
                if c > 0:
                    out[i] += w[c - 1, i]
                if c > first:
                    out[i] += w[c - 1, i]

    with pytest.raises(MemorySplitError) as caught:
        built(unrolled(before, "c"), {"w": [0, 1, 2, 3]})
    text = str(caught.value)
    assert ": The first subscript of this access is -1, and w has rows 0 to 3.\n" in text
    assert "w[c - 1, i]\n" in text and text.endswith("help: keep the subscript within the array.")


def test_an_array_used_whole_is_refused() -> None:
    def copied(w: int32[ROWS, N], out: int32[ROWS, N]):
        out[:, :] = w

    with pytest.raises(MemorySplitError) as caught:
        built(allo.customize(copied), {"w": [0, 1]})
    text = str(caught.value)
    assert ": The array w is used whole here, and its rows are in 2 memories.\n" in text
    assert text.endswith(
        "help: read or write its elements in loops, or give w one memory in hbm_mapping."
    )
