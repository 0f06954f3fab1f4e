"""What `import allo` gives, what it loads, and how names are captured."""

import subprocess
import sys

import pytest

import allo
import allo.ir.types as T
from allo import Memory, Partition
from allo.customize import Schedule, customize
from allo.errors import FrontendError
from allo.frontend import build_module
from allo.ir.transform import find_func_in_module, find_loop_in_bands
from allo.ir.types import float32, int32
from allo.ir.utils import MockBuffer, get_global_vars, invoke_mlir_parser
from allo.memory import DTensor, Layout, decode_memory_space

SIZE = 4


def gemm(A: float32[32, 32], B: float32[32, 32]) -> float32[32, 32]:
    C: float32[32, 32] = 0.0
    for i, j in allo.grid(32, 32):
        for k in allo.reduction(32):
            C[i, j] += A[i, k] * B[k, j]
    return C


def test_import_loads_nothing_that_takes_long():
    """MLIR and NumPy take the longest; then the table of options, and what makes data classes."""
    heavy = ["torch_mlir.ir", "numpy", "dataclasses", "inspect", "allo.dialects.options.table"]
    heavy += ["ctypes", "threading"]
    program = f"import sys, allo; print([name for name in {heavy} if name in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert out == "[]\n"


def test_the_bindings_of_linalg_are_imported_when_they_are_asked_for(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, allo\n"
        "from allo.ir.types import int32\n"
        "def kernel(n: int32) -> int32[4]:\n"
        "    B: int32[4] = 7\n"
        "    B[0] = n\n"
        "    return B\n"
        "print(allo.customize(kernel).build()(1).tolist())\n"
        "print('torch_mlir.dialects._linalg_ops_gen' in sys.modules)\n"
        "from torch_mlir.dialects.linalg import *\n"
        "import torch_mlir.dialects.linalg.opdsl.lang as lang\n"
        "print(FillOp.OPERATION_NAME, lang.TensorDef.__name__)\n"
    )
    out = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert out == "[1, 7, 7, 7]\nFalse\nlinalg.fill TensorDef\n"


@pytest.mark.parametrize(
    "expression",
    [
        "allo.ir.types.float32",
        "allo.ir.utils.MockBuffer",
        "allo.ir.transform.find_func_in_module",
        "allo.backend.hls.is_available",
        "allo.passes.df_pipeline",
        "allo.library.nn.linear2d",
        "allo.utils.get_np_struct_type",
        "allo.memory.DTensor",
    ],
)
def test_import_allo_gives_its_submodules(expression):
    program = f"import allo; print(callable({expression}) or {expression}.bits)"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert out.stdout.strip() in ("True", "32")


def test_packages_name_what_they_lack():
    with pytest.raises(AttributeError, match="module 'allo.ir' has no attribute 'typos'"):
        _ = allo.ir.typos


def test_public_names():
    assert allo.customize is customize
    assert isinstance(allo.customize(gemm), Schedule)
    assert Partition.Cyclic == 2
    assert callable(allo.matmul) and allo.grid.__allo_dsl__ == "grid"
    assert T.bool == T.UInt(1)
    with pytest.raises(AttributeError, match="module 'allo' has no attribute 'nonsense'"):
        _ = allo.nonsense


def test_the_module_file_keeps_the_function():
    import allo.customize

    assert callable(allo.customize)


def test_grid_runs_as_python():
    assert list(allo.grid(2, 2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert list(allo.reduction(3, name="k")) == [0, 1, 2]


def test_helpers_for_modules():
    s = allo.customize(gemm)
    function = find_func_in_module(s.module, "gemm")
    assert find_loop_in_bands(function, "k") == ("S_i_j_0", "k")
    assert find_func_in_module(s.module, "none") is None
    assert MockBuffer("gemm", "C").name == "C"
    assert str(invoke_mlir_parser("module { }")).startswith("module")
    with pytest.raises(AttributeError, match="No such loop 'q'"):
        find_loop_in_bands(function, "q")


def test_captured_names():
    inside = 3

    def kernel(A: int32[SIZE]) -> int32:
        return A[inside] + SIZE

    names = get_global_vars(kernel)
    assert names["inside"] == 3 and names["SIZE"] == SIZE
    assert build_module(kernel).func_args["kernel"][0].shape == (SIZE,)


def kernel_with_a_free_size(A: "int32[depth]") -> int32:
    return A[0]


def test_a_size_of_the_caller_is_found():
    depth = 9
    assert build_module(kernel_with_a_free_size).func_args["kernel_with_a_free_size"][0].shape == (
        depth,
    )


def test_names_given_take_the_place_of_capture():
    text = "def kernel(A: int32[N]) -> int32:\n    return A[N - 1]\n"
    made = build_module(text, global_vars={"int32": int32, "N": 7})
    assert made.func_args["kernel"][0].shape == (7,)
    with pytest.raises(FrontendError, match="The name 'N' is not defined"):
        build_module(text, global_vars={"int32": int32})


def test_what_is_no_function_is_refused():
    with pytest.raises(FrontendError, match="3 is not a Python function"):
        build_module(3)


def test_an_edited_file_is_refused(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("def kernel(x: int32) -> int32:\n    return x\n")
    space = {"int32": int32}
    exec(compile(path.read_text(), str(path), "exec"), space)
    path.write_text("# a new first line\n\ndef kernel(y: int32) -> int32:\n    return y\n")
    with pytest.raises(FrontendError, match="The file of 'kernel' changed after it was imported"):
        build_module(space["kernel"])


def test_memory_and_layout():
    memory = Memory(resource="uram", storage_type="ram_2p", latency=2)
    assert repr(memory) == 'Memory(resource="URAM", storage_type="RAM_2P", latency=2)'
    assert memory.get_memory_space() == 34
    assert decode_memory_space(18) == Memory("BRAM", "RAM_2P")
    with pytest.raises(ValueError, match="Invalid resource 'XRAM'"):
        Memory("XRAM")
    with pytest.raises(ValueError, match="Invalid storage_type"):
        Memory("BRAM", "RAM_9P")
    S, R = Layout.Shard, Layout.Replicate
    assert Layout([S(0), R]).get_placement([2, 2]) == {
        (0, 0): [(0, 0), (0, 1)],
        (1, 0): [(1, 0), (1, 1)],
    }
    tensor = DTensor(1, [2, 2], (8, 4), int32, [S(0), R], name="A")
    assert tensor.get_local_shape() == (4, 4)
