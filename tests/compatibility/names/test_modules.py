"""The modules of back ends that published programs import, and what they hold."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

import allo
from allo.backend.hls import is_available
from allo.backend.vitis import generate_hbm_config
from allo.errors import InvalidModeError, ToolMissingError
from allo.ir.types import float32, int32


def add(A: int32[6], B: int32[6]) -> int32[6]:
    C: int32[6]
    for i in range(6):
        C[i] = A[i] + B[i]
    return C


def scale(A: float32[6], k: float32, B: float32[6]):
    for i in range(6):
        B[i] = A[i] * k


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("llvm", "LLVMModule"),
        ("simulator", "LLVMOMPModule"),
        ("ip", "IPModule"),
        ("hls", "HLSModule"),
        ("xls", "XLSCCModule"),
        ("vitis", "generate_hbm_config"),
        ("pynq", "is_available"),
        ("tapa", "is_available"),
        ("catapult", "is_available"),
    ],
)
def test_published_modules_hold_their_names(name, member):
    imported = importlib.import_module(f"allo.backend.{name}")
    assert callable(getattr(imported, member))
    assert getattr(allo.backend, name) is imported


@pytest.mark.parametrize(
    ("path", "member"), [("llvm", "LLVMModule"), ("simulator", "LLVMOMPModule")]
)
def test_modules_are_made_directly_from_mlir(path, member):
    make = getattr(importlib.import_module(f"allo.backend.{path}"), member)
    s = allo.customize(scale)
    mod = make(s.module, top_func_name="scale")
    a, b = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    mod(a, 0.5, b)
    np.testing.assert_array_equal(b, a / 2)


def test_text_of_a_module_is_parsed_at_its_published_path():
    llvm = allo.backend.llvm
    text = str(allo.customize(add).module)
    mod = llvm.LLVMModule(llvm.invoke_mlir_parser(text), "add")
    a = np.arange(6, dtype=np.int32)
    np.testing.assert_array_equal(mod(a, a), 2 * a)


def test_an_external_function_at_its_published_path(tmp_path):
    source = tmp_path / "twice.cpp"
    source.write_text(
        "void twice(int a[4], int b[4]) { for (int i = 0; i < 4; i++) b[i] = 2 * a[i]; }"
    )
    twice = allo.backend.ip.IPModule(top="twice", impl=str(source), link_hls=False)
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    twice(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_the_memory_banks_of_a_kernel():
    text = generate_hbm_config(
        "my_kernel", {"inp_addr_0": 0, "A": "DDR[0]", "output_0": "HBM[7]"}, {"output_0": "v2"}
    )
    assert text == (
        "[connectivity]\nsp=my_kernel_1.inp_addr_0:HBM[0]\nsp=my_kernel_1.A:DDR[0]\n"
        "sp=my_kernel_1.v2:HBM[7]\n"
    )
    assert generate_hbm_config("top", {}) == "[connectivity]\n"


def test_a_memory_bank_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"Option hbm_mapping of target vitis_hls takes") as caught:
        generate_hbm_config("my_kernel", {"inp_addr_0": [1, 2]})
    assert caught.value.help.startswith("'inp_addr_0' is given [1, 2].")


def test_an_unknown_back_end_is_named():
    with pytest.raises(AttributeError, match="module 'allo.backend' has no attribute 'vivado'"):
        _ = allo.backend.vivado


@pytest.mark.parametrize("backend", ["vivado_hls", "vitis_hls", "tapa", "pynq", "catapult"])
def test_a_guard_tells_the_tool_from_what_runs_here(backend):
    assert is_available(backend)
    assert not is_available(backend, tool=True)


def test_a_guard_without_a_compiler_or_of_an_unknown_target(monkeypatch):
    assert not is_available("verilator_hls")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert not is_available("vitis_hls")


@pytest.mark.parametrize("mode", ["csim", "sw_emu", "cosim", "hw_emu", "hw"])
def test_what_the_guard_promises_runs(mode, tmp_path):
    a = np.arange(6, dtype=np.int32)
    mod = allo.customize(add).build("vitis_hls", mode=mode, project=str(tmp_path / "p"))
    found = np.zeros(6, np.int32)
    mod(a, a, found)
    np.testing.assert_array_equal(found, 2 * a)


def test_hardware_without_fallback_needs_the_tool():
    mod = allo.customize(add).build("vitis_hls", mode="hw", fallback=False)
    a = np.arange(6, dtype=np.int32)
    with pytest.raises(AssertionError, match=r"v\+\+ is not available; mode hw needs it\."):
        mod(a, a, a.copy())


def test_a_guard_by_mode_says_what_the_mode_does():
    s = allo.customize(add)
    assert is_available("vivado_hls", mode="debug")
    assert s.build("vivado_hls", mode="debug")().cycles > 0
    for mode in ("impl", "custom"):
        assert not is_available("vivado_hls", mode=mode)
        with pytest.raises(ToolMissingError, match=f"mode {mode} needs it"):
            s.build("vivado_hls", mode=mode)()
    assert not allo.backend.pynq.is_available("impl")
    with pytest.raises(InvalidModeError, match="Invalid mode 'hwemu' for target vitis_hls"):
        is_available("vitis_hls", mode="hwemu")


def test_emulation_says_where_it_runs(caplog):
    mod = allo.customize(add).build("vitis_hls", mode="sw_emu")
    mod(np.arange(6, dtype=np.int32), np.arange(6, dtype=np.int32))
    assert [record.getMessage() for record in caplog.records] == [
        "v++ is not on PATH: sw_emu of add runs on Allo's own csim instead (fallback=False forbids it)."
    ]


def test_the_bindings_of_mlir_have_their_published_names(tmp_path):
    program = (
        "import allo._mlir.ir, allo._mlir.dialects.scf as scf\n"
        "from allo._mlir.ir import Context, Module\n"
        "from allo._mlir.dialects import affine, arith, func, memref\n"
        "import allo\n"
        "from allo.ir.types import int32\n"
        "def f(A: int32[4]):\n"
        "    for i in range(4):\n"
        "        A[i] = 1\n"
        "s = allo.customize(f)\n"
        "op = s.module.body.operations[0]\n"
        "loop = op.body.blocks[0].operations[1]\n"
        "print(isinstance(op, func.FuncOp), isinstance(loop, affine.AffineForOp),\n"
        "      isinstance(s.module, Module), scf.ForOp.__name__,\n"
        "      allo._mlir.ir.Context is Context)\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    said = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=60, check=False
    )
    assert said.stdout.split() == ["True", "True", "True", "ForOp", "True"], said.stderr


def test_a_dialect_that_is_not_there_is_an_import_error():
    with pytest.raises(ModuleNotFoundError, match=r"allo\._mlir\.dialects\.nonsense"):
        importlib.import_module("allo._mlir.dialects.nonsense")
