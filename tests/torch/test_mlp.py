"""A multi-layer perceptron from PyTorch on the CPU, as C++ and in hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import functions_of
from allo.errors import ModelError
from allo.frontend import from_pytorch
from allo.ir.types import AlloType, Fixed, Int, float16, float32, float64
from tests.torch.support import (
    arrays,
    assert_close,
    assert_equal_bits,
    check,
    check_csim,
    check_hardware,
    initialised,
    tensor,
)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 9)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(9, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.act(self.fc1(x))
        return self.fc2(hidden) + x[:, :4] * 0.5


@pytest.fixture(scope="module")
def schedule() -> Any:
    return check(MLP(), tensor(2, 6))


def test_hardware_has_the_bits_of_the_cpu(schedule: Any) -> None:
    check_hardware(schedule, tensor(2, 6, seed=3))


def test_csim_has_the_bits_of_the_cpu(schedule: Any, tmp_path: Path) -> None:
    check_csim(schedule, tmp_path, tensor(2, 6, seed=4))


def test_each_module_is_a_function(schedule: Any) -> None:
    assert schedule.module_paths == {"fc1": "fc1", "act": "act", "fc2": "fc2", "forward": ""}
    with schedule.context:
        assert list(functions_of(schedule.module)) == list(schedule.module_paths)


def test_arguments_and_constants_have_the_names_of_the_model(schedule: Any) -> None:
    text = str(schedule.module)
    assert "func.func @forward(%arg0: memref<2x6xf32>)" in text
    assert 'arg_names = ["x"]' in text
    for name in ("g_fc1_weight", "g_fc1_bias", "g_fc2_weight", "g_fc2_bias"):
        assert f'memref.global "private" constant @{name} ' in text


def test_operations_have_the_lines_of_the_model(schedule: Any) -> None:
    lines = Path(__file__).read_text().splitlines()
    first = next(k for k, line in enumerate(lines, 1) if "hidden = self.act" in line)
    with schedule.context:
        places = {name: place_of(op) for name, op in functions_of(schedule.module).items()}
    assert {p.file for p in places.values() if p} == {__file__}
    found = {name: p.line for name, p in places.items() if p}
    assert found == {"fc1": first, "act": first, "fc2": first + 1, "forward": first}
    assert f'"{__file__}":{first + 1}:9' in schedule.module.operation.get_asm(
        enable_debug_info=True
    )


def test_it_is_an_ordinary_schedule() -> None:
    s = check(MLP(), tensor(2, 6), library=False)
    plain = check_hardware(s, tensor(2, 6)).cycles
    s.pipeline("fc1:k1")
    s.pipeline("fc2:k1")
    assert check_hardware(s, tensor(2, 6)).cycles < 0.7 * plain


def test_llvm_is_a_function_on_arrays() -> None:
    model, x = initialised(MLP()), tensor(2, 6)
    assert_close(from_pytorch(model, [x])(x.numpy()), model(x))


def test_an_hls_target_takes_its_result_last(tmp_path: Path) -> None:
    model, x = initialised(MLP()), tensor(2, 6)
    built = from_pytorch(model, [x], target="vhls", project=str(tmp_path / "a.prj"))
    result = np.zeros((2, 4), np.float32)
    built(x.numpy(), result)
    assert_close(result, model(x))


@pytest.mark.parametrize("target", ["llvm", "vhls"])
def test_weights_can_be_arguments(target: str, tmp_path: Path) -> None:
    model, x = initialised(MLP()), tensor(2, 6)
    built = from_pytorch(
        model, [x], target=target, project=str(tmp_path / "a.prj"), weights_as_args=True
    )
    names = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")
    assert_equal_bits(built.weight_data, arrays([dict(model.named_parameters())[n] for n in names]))
    result = np.zeros((2, 4), np.float32)
    got = built(x.numpy()) if target == "llvm" else (built(x.numpy(), result), result)[1]
    assert_close(got, model(x))


def test_weights_as_arguments_leave_no_constant(schedule: Any) -> None:
    s = check(MLP(), tensor(2, 6), weights_as_args=True)
    assert "memref.global" not in str(s.module)
    check_hardware(s, tensor(2, 6))


def test_a_sequence_has_functions_by_kind_and_number() -> None:
    s = check(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), tensor(5, 4))
    assert list(s.module_paths.values()) == ["0", "1", "2", ""]
    assert list(s.module_paths) == ["linear_0", "tanh_1", "linear_2", "forward"]


def test_a_module_called_twice_is_one_function() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(self.fc(x))

    s = check(Twice(), tensor(2, 3))
    assert s.module_paths == {"fc": "fc", "forward": ""}
    assert str(s.module).count("call @fc(") == 2


def test_the_types_of_parts_can_be_chosen() -> None:
    model, x = initialised(MLP()), tensor(2, 6)
    types = {
        "default": float32,
        "inputs": float16,
        "fc2": [float32, float16, float64],
        "outputs": float64,
    }
    s = from_pytorch(model, [x], target="mlir", op_dtypes=types)
    text = str(s.module)
    assert "func.func @forward(%arg0: memref<2x6xf16>) -> memref<2x4xf64>" in text
    assert "func.func @fc2(%arg0: memref<2x9xf32>) -> memref<2x4xf64>" in text
    assert "@g_fc2_weight : memref<4x9xf16>" in text
    assert_close(s.build()(x.numpy().astype(np.float16)), model(x).double(), tolerance=5e-3)


def test_a_type_of_a_module_is_that_of_all_its_values() -> None:
    model, x = initialised(MLP()), tensor(2, 6)
    s = from_pytorch(model, [x], target="mlir", op_dtypes={"fc2": Fixed(24, 12)})
    assert "func.func @fc2(%arg0: memref<2x9xf32>) -> memref<2x4xi24>" in str(s.module)
    text = s.source.split("def fc2(")[1].split("def ")[0]
    assert "linear_input: type_0[2, 9]" in text
    assert "g_fc2_weight: type_0[4, 9]" in text
    np.testing.assert_allclose(s.build()(x.numpy()), arrays(model(x))[0], atol=0.01)
    check_hardware(s, x)


def test_fixed_point_of_the_whole_model() -> None:
    model, x = initialised(MLP()), tensor(2, 6)
    s = from_pytorch(model, [x], target="mlir", op_dtypes={"default": Fixed(32, 16)})
    assert "f32" not in str(s.module).split("func.func @fc2")[1].split("func.func")[0]
    got = s.build()(x.numpy())
    np.testing.assert_allclose(np.asarray(got, np.float32), arrays(model(x))[0], atol=2e-3)
    check_hardware(s, x)


def test_a_key_of_op_dtypes_that_names_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="op_dtypes has the key 'fc3', which names no operator"):
        from_pytorch(MLP(), [tensor(2, 6)], op_dtypes={"fc3": float16})


@pytest.mark.parametrize("given", ["int", "float8", "stream<f32, 2>", 8, ["float16"]])
def test_a_value_of_op_dtypes_that_is_no_type_is_refused(given) -> None:
    with pytest.raises(ModelError, match=r"op_dtypes\['fc1'\] is .*, and no type") as caught:
        from_pytorch(MLP(), [tensor(2, 6)], op_dtypes={"fc1": given})
    assert 'its name as in "float16" or "Fixed(16, 8)"' in caught.value.help


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("float16", float16), ("f64", float64), ("Fixed(24, 12)", Fixed(24, 12)), ("Int(9)", Int(9))],
)
def test_a_type_may_be_given_by_its_name(name: str, dtype: AlloType) -> None:
    model = initialised(MLP())
    named = {"default": name, "fc2": ["float32", name, name]}
    typed = {"default": dtype, "fc2": [float32, dtype, dtype]}
    texts = [
        str(from_pytorch(model, [tensor(2, 6)], target="mlir", op_dtypes=types).module)
        for types in (named, typed)
    ]
    assert texts[0] == texts[1]


def test_verbose_prints_the_kernels_and_the_core_ir(capsys: pytest.CaptureFixture[str]) -> None:
    from_pytorch(initialised(MLP()), [tensor(2, 6)], target="mlir", verbose=True)
    printed = capsys.readouterr().out
    assert "def fc1(x: float32[2, 6]) -> float32[2, 9]:" in printed
    assert "func.func @fc1" in printed
