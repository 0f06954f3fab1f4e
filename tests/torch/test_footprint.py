"""Memory of the import of GPT-2: no copy of a weight that is an argument, one of each constant."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

from allo.frontend import from_pytorch
from tests.torch.models import Gpt, GptBlock


def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


layers, length, words, as_args = json.loads(sys.argv[1])
model = Gpt(words, 768, 0, length).eval()
model.h = nn.ModuleList([GptBlock(768, 12, length) for _ in range(layers)])
for block in model.h:
    block.mlp = nn.Sequential(
        nn.Linear(768, 3072), nn.GELU(approximate="tanh"), nn.Linear(3072, 768)
    )
own = [p.detach().numpy() for p in [*model.parameters(), *model.buffers()]]
before = peak()
tokens = torch.zeros(1, length, dtype=torch.long)
s = from_pytorch(model, [tokens], target="mlir", weights_as_args=as_args)
held = [op for op in s.module.body.operations if op.operation.name == "memref.global"]
types = [op.operation.attributes["type"].value for op in held]
print(json.dumps({
    "parameters": sum(p.numel() for p in model.parameters()),
    "bytes": sum(array.nbytes for array in own),
    "before": before,
    "peak": peak(),
    "arguments": len(s.weight_data),
    "shared": sum(any(np.shares_memory(w, array) for array in own) for w in s.weight_data),
    "arrays": len({w.__array_interface__["data"][0] for w in s.weight_data}),
    "own": len(own),
    "constants": sum(int(np.prod(t.shape)) * 4 for t in types),
}))
"""


def footprint(layers: int, length: int, words: int, as_args: bool) -> dict[str, Any]:
    """What a process of its own measures: peaks of its resident memory, and whose the arrays are."""
    given = json.dumps([layers, length, words, as_args])
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def test_gpt2_124m_is_imported_without_a_copy_of_its_weights() -> None:
    found = footprint(12, 1024, 50257, as_args=True)
    assert found["parameters"] == 124_439_808
    assert found["arguments"] == found["shared"] == found["arrays"] == found["own"]
    assert found["peak"] - found["before"] < found["bytes"] / 4
    assert found["peak"] < 4e9


def test_constants_are_held_once_and_take_no_more_than_their_share_of_4_gb() -> None:
    """One layer of GPT-2 and 1,000 words: a sixteenth of the whole (3.5 GB, of which PyTorch 0.8)."""
    found = footprint(1, 32, 1000, as_args=False)
    assert found["constants"] < 1.05 * found["bytes"]
    assert found["peak"] - found["before"] < 8 * found["bytes"]
