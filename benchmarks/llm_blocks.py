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
from allo.designs.llm.wide.block.host import (
    cached_pairs,
    ended,
    make_block_memories,
    put_cache,
    step,
)
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows
from allo.designs.llm.wide.block.tokens.ended import Ended
from allo.designs.llm.wide.block.tokens.resident import Shared
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
    """A model on a built design. What a step gives is compared with the reference, bit for bit.

    That is its logits, and what its last rows end in where the design tells it.

    Attributes:
        shared: its memories, in a design that has a draft head as well.
        steps: what it has taken.
    """

    built: Built
    weights: QuantizedModel
    shared: Shared | None = None
    steps: list[Taken] = field(default_factory=list)
    memories: Memories = field(init=False)
    model: RowsGPT = field(init=False)

    def __post_init__(self) -> None:
        self.memories = self.shared or make_block_memories(
            self.weights, self.built.wide, self.built.block
        )
        self.model = RowsGPT(self.weights, self.built.wide, self.block)

    @property
    def block(self) -> Block:
        """The parameters of what runs."""
        return self.shared.resident.sizes.block if self.shared else self.built.block

    def resume(self, kept: dict[str, np.ndarray]) -> None:
        """Go on behind keys and values of the one sequence, named as the reference's."""
        for name, array in kept.items():
            self.model.cache(name)[0, :, : array.shape[1]] = array
        put_cache(self.memories, self.built.wide, self.built.block, self.model)

    def same_cache(self) -> None:
        """Compare the keys and values of the one sequence with the reference's.

        Raises:
            RuntimeError: they are not the same.
        """
        for mine, theirs in cached_pairs(
            self.memories, self.built.wide, self.built.block, self.model
        ):
            if not np.array_equal(mine, theirs):
                raise RuntimeError("Keys or values are not those of the reference.")

    def step(self, rows: Rows, spoken: int = 1, given: Ended | None = None) -> np.ndarray:
        """The logits after the last rows.

        Args:
            given: what each row is given, of a design with an entrance.

        Raises:
            RuntimeError: they, or what the rows end in, are not those of the reference.
        """
        built, module = self.built, self.built.module
        got = step(
            module, self.weights, built.wide, built.block, self.memories, rows, spoken, given
        )
        same_bits(got, self.model.step(rows, spoken, given), "logits")
        if built.block.hidden:
            told = ended(self.weights, built.wide, built.block, self.memories, spoken)
            assert self.model.ended is not None
            same_bits(told.levels, self.model.ended.levels, "levels of what rows end in")
            same_bits(told.steps, self.model.ended.steps, "steps of what rows end in")
        taken = Taken(len(rows), module.cycles or 0, self.foretell(rows, spoken), got.size)
        self.steps.append(taken)
        return got

    def foretell(self, rows: Rows, spoken: int) -> int:
        """The cycles that a step is foretold."""
        built, seen = self.built, (rows.places + 1).tolist()
        report = built.module.report
        return predict_rows(
            report, self.weights.config, built.wide, self.block, seen, spoken
        ).cycles
