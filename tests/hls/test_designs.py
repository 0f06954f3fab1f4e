"""Whole designs through csim: they leave what the CPU build leaves, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo.designs.llm
from allo.designs.llm.build import Design, memories_and_session, schedule
from allo.designs.llm.network.weights import load_weights
from allo.designs.polybench.suite import DESIGNS


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_polybench_project_equals_the_cpu_build(design, tmp_path):
    s = design.schedule()
    mod = s.build(target="vitis_hls", mode="csim", project=str(tmp_path / "p"))
    arguments = design.inputs(np.random.default_rng(4))
    np.testing.assert_array_equal(mod(*arguments), s.build()(*arguments))


def test_transformer_project_speaks_as_the_simulator(tmp_path):
    data = Path(allo.designs.llm.__file__).parent / "data" / "char_gpt_w8a8.npz"
    weights, design = load_weights(data), Design()
    s = schedule(weights.config, design)
    targets = {
        "simulator": {},
        "vitis_hls": {"mode": "csim", "project": str(tmp_path / "gpt.prj")},
    }
    tokens, left = {}, {}
    for target, request in targets.items():
        memories, session = memories_and_session(weights, design, s.build(target, **request))
        prompt = np.array([3, 1, 4, 1, 5, 9, 2, 6])
        tokens[target] = [step.token for step in session.generate(prompt, 8)]
        left[target] = memories.arguments()
    assert tokens["vitis_hls"] == tokens["simulator"]
    for mine, theirs in zip(left["vitis_hls"], left["simulator"], strict=True):
        np.testing.assert_array_equal(mine, theirs)
