"""Tokens of GPT-2 355M and LLaMA-3.2-1B on a GPU by PyTorch, in batches of 1 and 8.

A step is one token of each sequence: as PyTorch runs it, as one graph of CUDA, and compiled and as one
graph. Weights are random, of 16 bits, and the cache is filled to a position. PyTorch and a GPU are needed,
and nothing of Allo:

python3 benchmarks/llm_gpu.py out.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

STEPS, RUNS, WARM = 64, 5, 3
FORMS = "eager", "graph", "compiled"
POSITIONS = 127, 1023


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder's sizes; ``gated`` is LLaMA's block (root mean square, rotary positions, SwiGLU)."""

    name: str
    layers: int
    width: int
    heads: int
    shared: int
    ffn: int
    vocab: int
    gated: bool


SHAPES = (
    Shape("gpt2-355m", 24, 1024, 16, 16, 4096, 50257, gated=False),
    Shape("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, gated=True),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds of a step, tokens a second of all sequences, and the card's watts meanwhile."""

    model: str
    batch: int
    position: int
    form: str
    step_ms: float
    tokens_s: float
    watts: float | None


class Decoder:
    """A decoder of random weights, and the keys and values of a batch of sequences."""

    def __init__(self, shape: Shape, batch: int, position: int) -> None:
        self.shape, self.batch, self.position = shape, batch, position
        self.head = shape.width // shape.heads
        joined = shape.width + 2 * shape.shared * self.head
        first = 2 * shape.ffn if shape.gated else shape.ffn
        sizes = (
            (joined, shape.width),
            (shape.width, shape.width),
            (first, shape.width),
            (shape.width, shape.ffn),
        )
        self.layers = [[_random(*size) for size in sizes] for _ in range(shape.layers)]
        self.embedding = _random(shape.vocab, shape.width)
        self.positions = _random(position + 1, shape.width)
        self.gain, self.shift = _random(shape.width), _random(shape.width)
        cache = shape.layers, 2, batch, shape.shared, position + 1, self.head
        self.cache = _random(*cache)
        angles = torch.outer(
            torch.tensor([float(position)]), 10000 ** (-torch.arange(0, self.head, 2) / self.head)
        )
        self.cosine, self.sine = (f(angles).half().cuda() for f in (torch.cos, torch.sin))

    def _norm(self, x: Tensor) -> Tensor:
        size = (self.shape.width,)
        if self.shape.gated:
            return functional.rms_norm(x, size, self.gain, 1e-5)
        return functional.layer_norm(x, size, self.gain, self.shift, 1e-5)

    def _turned(self, x: Tensor) -> Tensor:
        if not self.shape.gated:
            return x
        left, right = x.chunk(2, dim=-1)
        return torch.cat(
            (left * self.cosine - right * self.sine, right * self.cosine + left * self.sine), dim=-1
        )

    def step(self, tokens: Tensor) -> Tensor:
        """The likeliest next token of each sequence."""
        shape, batch = self.shape, self.batch
        x = self.embedding[tokens]
        if not shape.gated:
            x = x + self.positions[self.position]
        for (joined, out, up, down), (keys, values) in zip(self.layers, self.cache, strict=True):
            flat = (self._norm(x) @ joined.T).view(batch, -1, 1, self.head)
            query, key, value = flat.split((shape.heads, shape.shared, shape.shared), dim=1)
            keys[:, :, self.position :] = self._turned(key)
            values[:, :, self.position :] = value
            mixed = functional.scaled_dot_product_attention(
                self._turned(query), keys, values, enable_gqa=shape.heads != shape.shared
            )
            x = x + mixed.reshape(batch, -1) @ out.T
            raised = self._norm(x) @ up.T
            if shape.gated:
                gate, other = raised.chunk(2, dim=-1)
                bent = functional.silu(gate) * other
            else:
                bent = functional.gelu(raised, approximate="tanh")
            x = x + bent @ down.T
        return (self._norm(x) @ self.embedding.T).argmax(dim=-1)


def _random(*size: int) -> Tensor:
    return torch.randn(*size, device="cuda", dtype=torch.float16) * 0.02


def replayed(one: Callable[[Tensor], Tensor], tokens: Tensor) -> Callable[[], object]:
    """A step as one graph of CUDA, whose tokens are those that the step before chose."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM):
            tokens.copy_(one(tokens))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tokens.copy_(one(tokens))
    return graph.replay


@contextmanager
def watched() -> Iterator[list[float]]:
    """Watts of the card, ten times a second."""
    found: list[float] = []
    over = threading.Event()
    command = ["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]

    def ask() -> None:
        while not over.wait(0.1):
            said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
            if said.returncode == 0:
                found.append(float(said.stdout.split()[0]))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def measure(shape: Shape, batch: int, position: int, form: str) -> Measured:
    """The median of some runs of many steps."""
    decoder = Decoder(shape, batch, position)
    tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
    with torch.no_grad():
        one = torch.compile(decoder.step) if form == "compiled" else decoder.step
        step = (lambda: tokens.copy_(one(tokens))) if form == "eager" else replayed(one, tokens)
        for _ in range(WARM):
            step()
        times = []
        with watched() as watts:
            began = time.perf_counter()
            while len(times) < RUNS or time.perf_counter() - began < 2:
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(STEPS):
                    step()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - start) / STEPS)
    seconds = statistics.median(times)
    power = statistics.median(watts) if watts else None
    return Measured(shape.name, batch, position, form, 1e3 * seconds, batch / seconds, power)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="where to write the figures")
    file = parser.parse_args().file
    rows = [
        measure(shape, batch, position, form)
        for shape in SHAPES
        for position in POSITIONS
        for batch in (1, 8)
        for form in FORMS
    ]
    for row in rows:
        sys.stdout.write(
            f"{row.model:14} batch {row.batch} position {row.position:5} "
            f"{row.form:8} {row.step_ms:8.3f} ms "
            f"{row.tokens_s:9.1f} tokens/s {row.watts or 0:6.0f} W\n"
        )
    told = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    if file:
        file.write_text(json.dumps({**told, "rows": [asdict(r) for r in rows]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
