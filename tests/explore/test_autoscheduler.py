"""``allo.autoscheduler``: the published interface."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.autoscheduler import DFG, AutoschedulerConfig, dataflow_optimization_pass
from allo.autoscheduler.config import AutoschedulerConfig as SameConfig
from allo.autoscheduler.dfg import DFG as SAME_DFG
from allo.autoscheduler.passes import dataflow_optimization_pass as same_pass
from allo.errors import AutoscheduleError
from tests.explore import kernels


def test_the_published_paths() -> None:
    assert (SameConfig, SAME_DFG, same_pass) == (
        AutoschedulerConfig,
        DFG,
        dataflow_optimization_pass,
    )


def test_each_setter_returns_the_configuration() -> None:
    made = AutoschedulerConfig.builder()
    assert made == AutoschedulerConfig() and made.dsp_limit == 2560 and made.tiling_limit == 4
    chained = (
        made.with_dsp_factors({"mulf": 3})
        .with_dsp_limit(100)
        .with_tiling_limit(8)
        .with_mem_w_ports(1)
        .with_mem_r_ports(2)
        .with_kind("node")
        .with_debug_point("loop_opts")
        .enable_debug_lp()
        .disable_debug_lp()
        .enable_verify()
        .disable_verify()
        .with_verbose(False)
    )
    assert chained is made
    assert made == AutoschedulerConfig(
        {"mulf": 3}, 100, 8, 1, 2, "node", "loop_opts", False, False, False
    )


def test_the_pass_makes_a_faster_schedule_of_the_same_bits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    s = allo.customize(kernels.product)
    config = AutoschedulerConfig.builder().with_dsp_limit(40).enable_debug_lp()
    found = dataflow_optimization_pass(s, config)
    assert found.estimate().cycles < s.estimate().cycles / 10
    assert found.estimate().resources["dsp"] <= 40
    text = capsys.readouterr().out
    assert "DFGAnalysisResult" in text and "bound of the model" in text
    rng = np.random.default_rng(1)
    A, B = (rng.standard_normal(n).astype(np.float32) for n in ((12, 16), (16, 14)))
    ours, wanted = np.zeros((12, 14), np.float32), np.zeros((12, 14), np.float32)
    found.build()(A, B, ours)
    s.build()(A, B, wanted)
    assert ours.tobytes() == wanted.tobytes()
    factors = [a[1] for name, a, _ in found.primitive_sequences if name == "split"]
    assert all(factor <= 4 for factor in factors)


def test_orders_alone_and_stops() -> None:
    s = allo.customize(kernels.product)
    config = AutoschedulerConfig.builder().with_kind("graph").with_verbose(False)
    found = dataflow_optimization_pass(s, config)
    assert not any(name in ("split", "unroll") for name, _, _ in found.primitive_sequences)
    assert found.estimate().cycles < s.estimate().cycles / 2
    assert dataflow_optimization_pass(s, config.with_debug_point("mlir_preprocess")) is s


def test_the_model_alone(capsys: pytest.CaptureFixture[str]) -> None:
    graph = DFG.from_module(allo.customize(kernels.product).module)
    found = graph.create_performance_model(dsp_limit=64)
    ((number, order),) = found.loop_permutations
    ((_, factors),) = found.tiling_factors
    assert number == 0 and sorted(order) == [0, 1, 2] and max(factors) <= 4
    plain = graph.create_performance_model(enable_tile=False)
    assert plain.tiling_factors == [(0, [1, 1, 1])]
    pinned = graph.create_performance_model(pinned_permutations=[(0, [0, 1, 2])])
    assert pinned.loop_permutations == [(0, [0, 1, 2])]
    graph.print_as_dot()
    assert capsys.readouterr().out.startswith("digraph dfg {\n  t0")


@pytest.mark.parametrize("make", ["with_kind", "with_debug_point"])
def test_names_that_are_none_are_refused(make: str) -> None:
    with pytest.raises(AutoscheduleError, match="there is no"):
        getattr(AutoschedulerConfig.builder(), make)("fast")


def test_a_limit_that_cannot_be_kept_is_a_runtime_error() -> None:
    config = AutoschedulerConfig.builder().with_dsp_limit(0)
    with pytest.raises(RuntimeError, match="One unit for mulf"):
        dataflow_optimization_pass(allo.customize(kernels.product), config)
    graph = DFG.from_module(allo.customize(kernels.product).module)
    with pytest.raises(RuntimeError, match="Optimization failed with status INFEASIBLE"):
        graph.create_performance_model(dsp_limit=0)
