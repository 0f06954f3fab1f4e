"""Schedules by module path: what a pattern names, and what is called on it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from allo.customize import Partition
from allo.errors import HandleTypeError, ScheduleError, UnknownHandleError
from allo.frontend import from_pytorch
from allo.torch import ModelSchedule
from tests.torch.models import Gpt, LeNet
from tests.torch.support import arrays, assert_close, check_hardware, initialised, tensor

TOKENS = torch.tensor([[3, 0, 10, 7, 7]])


@pytest.fixture
def s() -> ModelSchedule:
    made: ModelSchedule = from_pytorch(initialised(Gpt()), [TOKENS], target="mlir", library=False)
    return made


def function(s: Any, name: str) -> str:
    """The text of a function of the module."""
    return str(s.module).split(f"func.func @{name}(")[1].split("func.func")[0]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("h.*.attn.qkv", ["h.0.attn.qkv", "h.1.attn.qkv"]),
        ("h.1.mlp.?", ["h.1.mlp.0", "h.1.mlp.1", "h.1.mlp.2"]),
        ("h.[1-9].ln_*", ["h.1.ln_1", "h.1.ln_2"]),
        ("**.proj", ["h.0.attn.proj", "h.1.attn.proj"]),
        ("h.0.attn.**", ["h.0.attn.qkv", "h.0.attn.proj", "h.0.attn"]),
        ("", [""]),
    ],
)
def test_a_pattern_names_modules(s: ModelSchedule, pattern: str, paths: list[str]) -> None:
    assert s[pattern].paths == paths


def test_a_call_acts_on_all_that_match(s: ModelSchedule) -> None:
    s["h.*.attn.qkv"].pipeline("k1")
    assert s.primitive_sequences == [
        ("pipeline", ["h_0_attn_qkv:k1", 1, False], {}),
        ("pipeline", ["h_1_attn_qkv:k1", 1, False], {}),
    ]
    assert s.steps == ['s["h.*.attn.qkv"].pipeline("k1")']
    assert "pipeline_ii" not in function(s, "h_0_attn_proj")


def test_where_one_refuses_all_stay(s: ModelSchedule) -> None:
    s.split("h_1_attn_qkv:k1", 4)
    before, done = str(s.module), list(s.primitive_sequences)
    with pytest.raises(UnknownHandleError, match="No such loop 'k1'"):
        s["h.*.attn.qkv"].pipeline("k1")
    assert str(s.module) == before
    assert s.primitive_sequences == done and len(s.steps) == 1


def test_pipeline_without_a_loop_takes_the_innermost_ones(s: ModelSchedule) -> None:
    s["h.0.attn.*"].pipeline()
    for name in ("h_0_attn_qkv", "h_0_attn_proj"):
        found = re.findall(
            r'loop_name = "(\w+)"(, op_name = "\w+")?, pipeline_ii', function(s, name)
        )
        assert sorted(loop for loop, _ in found) == ["j0", "k1", "o0"]
    assert len(s.primitive_sequences) == 6


def test_a_loop_of_one_nest_and_the_arrays_of_a_module(s: ModelSchedule) -> None:
    s["h.*.attn"].pipeline("matmul_1.k1")
    s["h.*.mlp.0"].partition("weight", Partition.Cyclic, 1, 4)
    s["h.*.mlp"].partition("1", dim=3)
    assert [args[0] for _, args, _ in s.primitive_sequences[2:]] == [
        "h_0_mlp_0:g_h_0_mlp_0_weight",
        "h_1_mlp_0:g_h_1_mlp_0_weight",
        "h_0_mlp:h_0_mlp_1_out",
        "h_1_mlp:h_1_mlp_1_out",
    ]
    assert_close(s.build()(TOKENS.numpy()), s.origin.model(TOKENS))


def test_primitives_return_handles_one_or_a_list(s: ModelSchedule) -> None:
    outer, inner = s["ln_f"].get_loops()["layer_norm"].loops.keys() - {"k0", "r0", "j0"}
    assert {outer, inner} == {"i0", "i1"}
    fused = s["h.*.mlp.1"].fuse("i1", "i2")
    assert [handle.func for handle in fused] == ["h_0_mlp_1", "h_1_mlp_1"]
    s["h.*.mlp.1"].pipeline("i1_i2_fused")
    assert_close(s.build()(TOKENS.numpy()), s.origin.model(TOKENS))


def test_the_schedule_of_a_part_is_composed_on_every_instance(s: ModelSchedule) -> None:
    hidden = tensor(1, 5, 8)
    part = from_pytorch(s.origin.model.h[0].mlp, [hidden], target="mlir", library=False)
    part["0"].pipeline("k1")
    part["2"].split("k1", 4)
    s["h.*.mlp"].compose(part)
    for name in ("h_0_mlp_0", "h_1_mlp_0"):
        assert function(s, name).count("pipeline_ii") == 1
    assert "k1.inner" in function(s, "h_1_mlp_2")
    assert_close(s.build()(TOKENS.numpy()), s.origin.model(TOKENS))


def test_a_schedule_of_other_shapes_is_not_composed(s: ModelSchedule) -> None:
    part = from_pytorch(s.origin.model.h[0].mlp, [tensor(1, 3, 8)], target="mlir")
    message = (
        r"the schedule is of forward\(f32\[1x3x8\]\) .* but h_0_mlp here is h_0_mlp\(f32\[1x5x8\]\)"
    )
    with pytest.raises(ScheduleError, match=message):
        s["h.*.mlp"].compose(part)
    with pytest.raises(HandleTypeError, match="compose takes a Schedule, not str"):
        s["h.*.mlp"].compose("mlp")


def test_pipelines_by_path_save_cycles() -> None:
    image = tensor(1, 1, 8, 8)
    s = from_pytorch(initialised(LeNet()), [image], target="mlir", verify=True, library=False)
    plain = check_hardware(s, image).cycles
    s["**"].pipeline()
    assert check_hardware(s, image).cycles < 0.5 * plain
    assert_close(s.build()(image.numpy()), arrays(s.origin.model(image)))


# --- refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "near"),
    [("h.*.atn.qkv", "h.*.attn.qkv"), ("h.0.mpl", "h.0.mlp"), ("h.?.ln1", "h.?.ln_1")],
)
def test_a_path_that_names_nothing(s: ModelSchedule, pattern: str, near: str) -> None:
    message = (
        f"No module of the model matches {pattern!r}.\n"
        f".*help: did you mean {near!r}\\? its modules are wte, wpe, h.0.ln_1, "
    )
    message = message.replace(pattern, re.escape(pattern)).replace(near, re.escape(near))
    with pytest.raises(UnknownHandleError, match=re.compile(message, re.DOTALL)) as caught:
        s[pattern]  # names nothing
    place = caught.value.place
    assert place is not None and place.file == __file__
    assert "# names nothing" in place.excerpt()


def test_a_module_that_computes_nothing() -> None:
    s = from_pytorch(initialised(LeNet()), [tensor(1, 1, 8, 8)], target="mlir")
    with pytest.raises(UnknownHandleError, match="Module 'drop' computes nothing, and has no"):
        s["drop"]


def test_a_primitive_that_there_is_not(s: ModelSchedule) -> None:
    with pytest.raises(UnknownHandleError, match="no primitive 'pipelined'") as caught:
        s["h.*"].pipelined("i0")
    assert "did you mean 'pipeline'?" in str(caught.value)


def test_a_container_has_no_loop_of_its_own(s: ModelSchedule) -> None:
    with pytest.raises(UnknownHandleError, match=r"No function of 'h.\*.mlp' has a loop") as caught:
        s["h.*.mlp"].pipeline()
    assert 'name the modules in it, as in s["h.*.mlp.**"]' in str(caught.value)


# --- explain ------------------------------------------------------------------------------------


def test_explain_tells_what_each_operator_became(s: ModelSchedule) -> None:
    rows = {(row.path, row.operator): row for row in s.explain("h.0.attn").rows}
    assert rows["h.0.attn.qkv", "aten.linear.default"].became == (
        "plain nest linear of h_0_attn_qkv; no kernel of the library: library=False keeps it"
    )
    assert rows["h.0.attn", "aten.softmax.int"].became.startswith(
        "plain nest softmax of h_0_attn; no kernel"
    )
    assert rows["h.0.attn", "aten.transpose.int"].became.startswith(
        "no operation: another subscript"
    )
    lines = {row.place.rpartition(":")[0] for row in rows.values()}
    assert [line.rpartition("/")[2] for line in lines] == ["models.py"]
    assert "h.1" not in str(s.explain("h.0.attn"))
    with pytest.raises(UnknownHandleError, match=r"No module of the model matches 'h.2'"):
        s.explain("h.2")
