"""Schedules found for whole models: those of Stream-HLS, float32, at 2,560 DSP and with 512 multipliers.

scripts/python benchmarks/autoschedule_models.py [--model NAME ...] [--budget DSPS ...] [--seconds S]

Each model is a plain kernel of ``designs/networks``, one function a layer and no schedule. The limit is the
bound of 512 multiplications a cycle, what 2,560 DSP make at the 5 DSP of a published multiplier and adder,
times 1.15. Ours take 2, as the adder is made of lookup tables: 1,024 DSP are as many multipliers as the
published designs have (``--budget 1024``), where the DSPs of exponentials and divisions count too.

Every design is run in the in-process simulator on random arguments. Its cycles are those simulated, which
must be those of the report; every element is compared with the CPU build of the same schedule, which must
have the same bits, and with NumPy. DSPs, lookup tables and the share of a U280 are estimates of the design.
Seconds are of the whole search, of processor time, as other programs may share the machine, and of the clock.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE, resources_of
from allo.designs.networks.chains import SEVEN_BALANCED, SEVEN_UNBALANCED, THREE_PRODUCTS
from allo.designs.networks.convolutions import RESIDUAL_BLOCK, SEPARABLE_BLOCK
from allo.designs.networks.network import Network
from allo.designs.networks.perceptrons import AUTOENCODER, FEED_FORWARD, RESIDUAL_MLP
from allo.designs.networks.transformer import ATTENTION
from allo.errors import CapacityWarning
from allo.explore import FoundSchedule
from benchmarks.harness import Row, command_line, finish

CLOCK = 300.0
PUBLISHED_PAIRS = 512
"""Multiplications a cycle of the bound: 2,560 DSP at 5 DSP a pair."""
PAIRS = {2560: "dsp_2560", 1024: "pairs_512"}
"""Budgets of DSPs, by what the figures of each are called."""
WITHIN = 1.15
TOLERANCE = 1e-4
"""Of the largest element, against NumPy, which adds in another order."""
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Model:
    """A network, and what Stream-HLS published for it: cycles and DSPs of RTL at a limit of 2,560 DSP.

    Attributes:
        bound: cycles to stay within 1.15 times; None for those of 512 multiplications a cycle.
    """

    network: Network
    published: int
    published_dsp: int | None
    bound: int | None = None

    @property
    def least(self) -> int:
        """The cycles of the bound."""
        return self.bound or -(-self.network.multiplications // PUBLISHED_PAIRS)


MODELS = {
    "autoencoder": Model(AUTOENCODER, 39_178, 3_124),
    "residual_mlp": Model(RESIDUAL_MLP, 39_782, 2_354),
    "feed_forward": Model(FEED_FORWARD, 65_997, 2_944),
    "attention": Model(ATTENTION, 35_143, 3_216),
    "residual_block": Model(RESIDUAL_BLOCK, 2_092_531, 300),
    "separable_block": Model(SEPARABLE_BLOCK, 134_541, 572, bound=112 * 112 * 8),
    "seven_balanced": Model(SEVEN_BALANCED, 5_680, 2_560),
    "seven_unbalanced": Model(SEVEN_UNBALANCED, 10_036, 2_560),
    "three_products": Model(THREE_PRODUCTS, 49_092, 2_507),
}


def search(network: Network, budget: int, seconds: float) -> FoundSchedule:
    """A schedule of the plain kernel on a budget of DSPs of a U280."""
    return allo.autoschedule(
        network.kernel,
        device="u280",
        max_dsp=budget,
        clock_mhz=CLOCK,
        seconds=seconds,
        reassociate=True,
        subnormals="flush",
        inputs=network.inputs,
        cache=False,
        timer=time.process_time,
    )


def simulated(network: Network, found: FoundSchedule) -> int:
    """Run a design beside the CPU build of its schedule and NumPy; the cycles it took.

    Raises:
        RuntimeError: results or cycles differ.
    """
    hardware = found.build(
        target="verilog",
        simulator="jit",
        clock_mhz=CLOCK,
        subnormals="flush",
        device=DEFAULT_DEVICE,
    )
    arrays = network.inputs(np.random.default_rng(12))
    got = hardware(*arrays)
    # LLVM takes minutes to optimise thousands of copies of a body, and the bits are the same without
    wanted = found.build(subnormals="flush", opt_level=0)(*arrays)
    reference = network.reference(*arrays)
    if got.tobytes() != wanted.tobytes():
        raise RuntimeError(f"{found.top_func_name}: RTL and CPU differ.")
    if np.abs(got - reference).max() > TOLERANCE * np.abs(reference).max():
        raise RuntimeError(f"{found.top_func_name}: RTL and NumPy differ.")
    if hardware.cycles != found.trace.cycles:
        raise RuntimeError(f"{found.top_func_name}: not the cycles of the report.")
    return int(hardware.cycles)


def row_of(name: str, budget: int, seconds: float) -> Row:
    """One model on one budget."""
    model = MODELS[name]
    began, worked = time.monotonic(), time.process_time()
    found = search(model.network, budget, seconds)
    took, work = time.monotonic() - began, time.process_time() - worked
    cycles = simulated(model.network, found)
    trace = found.trace
    taken = next(t for t in trace.tried if t.cycles == trace.cycles).resources
    share = max(taken.get(k, 0) / resources_of(DEFAULT_DEVICE)[k] for k in ("dsp", "lut"))
    key = f"networks.{name}.{PAIRS[budget]}"
    note = (
        f"published {model.published:,} at {model.published_dsp or 0:,} DSP; {taken.get('dsp', 0):,} DSP, "
        f"{taken.get('lut', 0):,} LUT, {share:.0%} of the device; search {took:.0f} s ({work:.0f} s of "
        f"processor time), {len(trace.tried)} reports, gap {trace.gap or 0:.1%}; simulated, bits of the CPU"
    )
    return Row(
        f"{name}, {budget:,} DSP", cycles, "cycles", f"{WITHIN:g} x bound", WITHIN * model.least, True, note,
        {
            f"{key}.cycles": cycles,
            f"{key}.dsp": taken.get("dsp", 0),
            f"{key}.lut": taken.get("lut", 0),
            f"{key}.search_ms": round(1000 * work),
        },
    )  # fmt: skip


def main() -> int:
    """Search, simulate, compare, print, write; 1 when a model is not within the limit."""
    parser = command_line(__doc__)
    parser.add_argument("--model", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--budget", nargs="+", type=int, choices=list(PAIRS), default=list(PAIRS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    warnings.simplefilter("ignore", CapacityWarning)
    rows: list[Row] = []
    for budget in given.budget:
        for name in given.model:
            rows.append(row_of(name, budget, given.seconds))
            print(f"{rows[-1].what}: {rows[-1].value:,.0f}; {rows[-1].note}", flush=True)
    return finish("autoschedule_models", "Schedules found for models", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
