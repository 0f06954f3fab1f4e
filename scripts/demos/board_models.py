"""Two small models on an ULX3S 85F: bitstreams, and their answers through the port of a simulated board.

    scripts/demo board_models [--model NAME …] [--tokens N] [--no-bitstream] [--out FOLDER]

The character transformer of `designs/llm` has its weights, tables and cache in the board's SDRAM; LeNet of
`designs/torch`, quantised to int8, has its weights in the device. The host's own code calls each simulated
board, and every token and every score is compared with the reference in NumPy. The status is 1 when one
differs, or the clock of 50 MHz is not reached.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import allo
from allo.boards import connect, simulate
from allo.designs.llm.build import Design, memories_and_session, schedule
from allo.designs.llm.checkpoints.integer_model import QuantizedGPT
from allo.designs.llm.network.corpus import encode
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights

BOARD, CLOCK_MHZ = "ulx3s-85f", 50.0
BUILD_MHZ = 110.0
"""What operators are pipelined for: wires and the shell take the rest of a clock of 50 MHz."""
DESIGN = Design(lanes=4, block=1)
PATIENCE_S = 10.0
TABLES = ("token_table", "position_table", "scales", "biases", "affine", "factors")
SEED, IMAGES = 2026, 8


def transformer() -> Any:
    """The decode step of the character model; what it reads comes from the board's memory."""
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    memory: dict[str, Any] = {"weights": "m_axi", "cache": "m_axi"}
    memory |= {name: {"kind": "m_axi", "bundle": "tables"} for name in TABLES}
    return schedule(weights.config, DESIGN).build(
        target="verilog", board=BOARD, clock_mhz=BUILD_MHZ, configs={"interface": memory}
    )


def tokens(device: Any, count: int) -> tuple[int, list[int]]:
    """How many tokens after one character are the reference's, and the cycles of each."""
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    _, session = memories_and_session(weights, DESIGN, device)
    prompt = encode("o")
    steps = list(session.generate(prompt, count))
    wanted = QuantizedGPT(weights).generate(prompt, count)
    equal = sum(int(step.token) == int(token) for step, token in zip(steps, wanted, strict=True))
    return equal, [step.cycles for step in steps]


def quantised() -> tuple[Any, list[Any]]:
    """LeNet with int8 weights and activations, and images."""
    import torch

    from allo.designs.torch.lenet import LeNet

    torch.manual_seed(SEED)
    images = [torch.rand(1, 1, 8, 8) for _ in range(IMAGES)]
    return allo.quantize(LeNet().eval(), images, "w8a8"), images


def lenet() -> Any:
    """LeNet, a row of a convolution at once."""
    from allo.designs.torch.lenet import schedule_integers

    s = schedule_integers(quantised()[0].customize())
    return s.build(target="verilog", board=BOARD, clock_mhz=BUILD_MHZ)


def scores(device: Any, count: int) -> tuple[int, list[int]]:
    """How many images have the scores of the reference, and the cycles of each."""
    model, images = quantised()
    equal, cycles = 0, []
    for image in images[:count]:
        equal += np.array_equal(np.ravel(device(image.numpy())), np.ravel(model.reference(image)))
        cycles.append(device.cycles)
    return equal, cycles


Answers = Callable[[Any, int], tuple[int, list[int]]]
MODELS: dict[str, tuple[Callable[[], Any], Answers]] = {
    "transformer": (transformer, tokens),
    "lenet": (lenet, scores),
}


def answers(name: str, count: int) -> dict[str, Any]:
    """What a model says through the serial port of a simulated board."""
    build, ask = MODELS[name]
    began = time.perf_counter()
    module = build()
    with simulate(module) as port, connect(port, module, patience=PATIENCE_S) as device:
        equal, cycles = ask(device, count)
    return {"equal": equal, "of": count, "cycles": cycles, "seconds": time.perf_counter() - began}


def main() -> int:
    """Run the demonstration; 1 when anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--tokens", type=int, default=2, help="tokens, or images")
    parser.add_argument("--no-bitstream", action="store_true")
    parser.add_argument("--out", type=Path, default=root / "out" / "board_models")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    good, figures = True, {}
    for name in options.model:
        found = answers(name, options.tokens)
        good &= found["equal"] == found["of"]
        if not options.no_bitstream:
            made = MODELS[name][0]().bitstream(
                options.out / f"{name}.bit", clock_mhz=CLOCK_MHZ, timeout=7200
            )
            found |= {"fmax_mhz": made.fmax_mhz, "cells": made.cells, "made_in_s": made.seconds}
        figures[name] = found
        sys.stdout.write(f"{name}: {json.dumps(found)}\n")
    (options.out / "board_models.json").write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
