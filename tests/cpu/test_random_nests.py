"""Random loop nests: the CPU build with its order of loops and without gives the same bits."""

from __future__ import annotations

import importlib.util
import random
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import allo
from allo.backend.cpu.lowering import llvm

EXTENT = 14
ARRAYS = ("A", "B", "C", "V")
SEEDS = range(40)


class _Writer:
    """Makes one kernel of nests whose subscripts are in range."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        parameters = ", ".join(f"{n}: float32[{EXTENT}, {EXTENT}]" for n in ARRAYS[:3])
        self._lines = [f"def kernel({parameters}, V: float32[{2 * EXTENT}]):"]
        for _ in range(self._rng.randint(1, 2)):
            self._loop(1, [], self._rng.randint(2, 3))
        return "import allo\nfrom allo.ir.types import float32\n\n" + "\n".join(self._lines) + "\n"

    def _loop(self, depth: int, indices: list[str], more: int) -> None:
        name = f"i{self._count}"
        self._count += 1
        low, high = "1", str(EXTENT - self._rng.choice([1, 1, 2, 4]))
        if indices and self._rng.random() < 0.25:
            outer = self._rng.choice(indices)
            low, high = self._rng.choice([(f"{outer} + 1", high), (low, outer)])
        self._put(depth, f"for {name} in range({low}, {high}):")
        inside = [*indices, name]
        if more == 1:
            for _ in range(self._rng.randint(1, 2)):
                self._statement(depth + 1, inside)
            return
        if self._rng.random() < 0.3:
            self._statement(depth + 1, inside)
        for _ in range(self._rng.choice([1, 1, 1, 2])):
            self._loop(depth + 1, inside, more - 1)
        if self._rng.random() < 0.3:
            self._statement(depth + 1, inside)

    def _statement(self, depth: int, indices: list[str]) -> None:
        target = self._element(indices)
        value = f"{self._element(indices)} * {self._element(indices)}"
        kind = self._rng.random()
        if kind < 0.6:
            self._put(depth, f"{target} = {target} * 0.5 + {value}")
        elif kind < 0.8:
            self._put(depth, f"{target} = {value} - {self._element(indices)}")
        else:
            name = f"s{self._count}"
            self._count += 1
            self._put(depth, f"{name}: float32 = {value}")
            self._put(depth, f"{target} = {name} * 0.25 + {self._element(indices)}")

    def _element(self, indices: list[str]) -> str:
        name = self._rng.choice(ARRAYS)
        if name == "V" and self._rng.random() < 0.5:
            return f"V[{' + '.join(self._rng.choices(indices, k=2))}]"
        count = 1 if name == "V" else 2
        return f"{name}[{', '.join(self._subscript(indices) for _ in range(count))}]"

    def _subscript(self, indices: list[str]) -> str:
        index = self._rng.choice(indices)
        return self._rng.choice([index] * 6 + [f"{index} - 1", f"{EXTENT - 1} - {index}"])

    def _put(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)


def loaded(text: str, folder: Path) -> ModuleType:
    path = folder / "nest.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("nest", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(module: allo.LLVMModule) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    shapes = [(EXTENT, EXTENT)] * 3 + [(2 * EXTENT,)]
    arrays = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    module(*arrays)
    return arrays


def compare(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Compare both builds of one kernel; whether the order of loops made a difference to its text."""
    text = _Writer(seed).text()
    schedule = allo.customize(loaded(text, folder).kernel)
    ordered = schedule.build()
    with monkeypatch.context() as patch:
        patch.setattr(llvm, "order_loops", lambda module: None)
        plain = schedule.build()
    for name, ours, theirs in zip(ARRAYS, results(ordered), results(plain), strict=True):
        same = (ours.view(np.uint32) == theirs.view(np.uint32)) | (
            np.isnan(ours) & np.isnan(theirs)
        )
        assert same.all(), f"seed {seed}: {name} differs in {(~same).sum()} elements\n{text}"
    return str(ordered.intermediate_module) != str(plain.intermediate_module)


def test_random_nests_keep_their_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = Counter(compare(seed, tmp_path, monkeypatch) for seed in SEEDS)
    assert changed[True] >= len(SEEDS) // 4, "the nests are such that nothing is ordered"
