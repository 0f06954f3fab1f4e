"""The GPU beside the FPGA: a roofline per operator, plus what launching a layer's kernels costs."""

from __future__ import annotations

from dataclasses import dataclass

from .data import Gpu, ModelInputError, Transformer
from .equations import WEIGHTED, decode_work, prefill_work

BYTES = 2  # weights and activations of 16 bits


@dataclass(frozen=True, slots=True)
class GpuTime:
    """Seconds of one pass over all layers.

    Attributes:
        roofline: sum over the operators of the larger of arithmetic and memory time.
        overhead: launching, beyond the roofline; zero for tuned software (CUDA graphs).
        limit: ``"compute"`` or ``"memory"``, whichever bounds more of the roofline.
    """

    roofline: float
    overhead: float
    limit: str

    @property
    def seconds(self) -> float:
        """Roofline and overhead."""
        return self.roofline + self.overhead


def prefill(gpu: Gpu, model: Transformer, length: int, *, tuned: bool = False) -> GpuTime:
    """Seconds to take in a prompt of ``length`` tokens; ``tuned`` leaves the overhead out."""
    return _pass(gpu, model, prefill_work(model, length), length, length, tuned)


def decode(gpu: Gpu, model: Transformer, length: int, *, tuned: bool = False) -> GpuTime:
    """Seconds for the token after ``length`` others."""
    return _pass(gpu, model, decode_work(model, length), 1, length + 1, tuned)


def _pass(
    gpu: Gpu, model: Transformer, work: dict[str, int], rows: int, keys: int, tuned: bool
) -> GpuTime:
    d, ffn = model.hidden, model.ffn
    weights = {i: d * ffn if i in ("f1", "f2") else d * d for i in WEIGHTED}
    if model.layers * sum(weights.values()) * BYTES > gpu.dram_gb * 1e9:
        raise ModelInputError(
            f"The weights of {model.name} do not fit the {gpu.dram_gb:g} GB of {gpu.name}."
        )
    bound = {"compute": 0.0, "memory": 0.0}
    for operator, macs in work.items():
        moved = weights.get(operator, keys * d) + rows * d
        compute = 2 * macs / (gpu.tflops * 1e12)
        memory = moved * BYTES / (gpu.dram_gbs * 1e9)
        bound["compute" if compute > memory else "memory"] += max(compute, memory)
    overhead = 0.0 if tuned else gpu.layer_overhead_us * 1e-6
    return GpuTime(
        model.layers * sum(bound.values()),
        model.layers * overhead,
        max(bound, key=lambda name: bound[name]),
    )
