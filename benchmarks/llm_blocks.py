"""What benchmarks of the accelerator for blocks share: a design in simulated RTL, compared step by step."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import numpy as np

from allo.backend.sim import RTLModule
from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.host import make_block_memories, step
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows
from allo.designs.llm.wide.memories import Memories
from allo.designs.llm.wide.parameters import Wide
from benchmarks.llm_wide import CLOCK_MHZ, cpu_seconds, same_bits


@dataclass(frozen=True, slots=True)
class Built:
    """A design for blocks in the in-process engine, and what its report says.

    Attributes:
        size: clock and elements, in words.
        seconds: of the processor, which it took.
    """

    module: RTLModule
    wide: Wide
    block: Block
    size: str
    seconds: float


def build_blocks(config: Architecture, wide: Wide, block: Block) -> Built:
    """Build a design for simulation."""
    began = cpu_seconds()
    module = schedule_block(config, wide, block).build(
        target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ
    )
    module.build_model()
    size = ", ".join(f"{n:,} {kind}" for kind, n in module.report.resources.items())
    size = f"{module.report.fmax_mhz:.0f} MHz with {config.layers} layers, {size}"
    built = Built(module, wide, block, size, cpu_seconds() - began)
    print(f"{size}; built in {built.seconds:.0f} s of CPU", file=sys.stderr, flush=True)
    return built


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was simulated: its rows, cycles, those foretold, and logits that were compared."""

    rows: int
    cycles: int
    foretold: int
    compared: int

    @property
    def off(self) -> float:
        """How far from what is foretold, as a share."""
        return abs(self.foretold / self.cycles - 1)


@dataclass(slots=True)
class Simulated:
    """A model on a built design. Every step's logits are compared with the reference, bit for bit.

    Attributes:
        steps: what it has taken.
    """

    built: Built
    weights: QuantizedModel
    steps: list[Taken] = field(default_factory=list)
    memories: Memories = field(init=False)
    model: RowsGPT = field(init=False)

    def __post_init__(self) -> None:
        self.memories = make_block_memories(self.weights, self.built.wide, self.built.block)
        self.model = RowsGPT(self.weights, self.built.wide, self.built.block)

    @property
    def hidden(self) -> np.ndarray:
        """What the rows of the last step ended in, of the reference."""
        return self.model.hidden

    def step(self, rows: Rows, spoken: int = 1) -> np.ndarray:
        """The logits after the last rows.

        Raises:
            SystemExit: they are not those of the reference.
        """
        built, module = self.built, self.built.module
        got = step(module, self.weights, built.wide, built.block, self.memories, rows, spoken)
        same_bits(got, self.model.step(rows, spoken), "logits")
        seen = (rows.places + 1).tolist()
        foretold = predict_rows(
            module.report, self.weights.config, built.wide, built.block, seen, spoken
        )
        self.steps.append(Taken(len(rows), module.cycles or 0, foretold.cycles, got.size))
        return got
