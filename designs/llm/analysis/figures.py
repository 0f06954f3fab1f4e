"""The model's figure: latency against sequence length and against MAC a cycle, FPGA beside GPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import gpu as model_gpu
from .data import Format, Fpga, Gpu, ModelInputError, Transformer
from .search import Plan, evaluate, plan_decode, plan_prefill

# Colour-blind safe (Okabe and Ito), one colour a device in every panel.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_GPU_COLOUR = "#444444"


def draw(
    path: Path,
    fpgas: list[Fpga],
    gpu: Gpu,
    model: Transformer,
    form: Format,
    length: int,
) -> Path:
    """Write the figure as PNG (or what the suffix of ``path`` says) and return its path.

    Raises:
        ModelInputError: when matplotlib is not installed.
    """
    plt = _matplotlib()
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.6), sharey="row", constrained_layout=True)
    lengths = _lengths(model)
    for row, stage in enumerate(("prefill", "decode")):
        drawn = _Drawn(stage, fpgas, gpu, model, form)
        _against_length(axes[row][0], drawn, lengths)
        _against_macs(axes[row][1], drawn, length)
    axes[0][0].set_title("Balanced design of each device, against sequence length")
    axes[0][1].set_title(f"Against multipliers, {length} tokens")
    axes[1][0].set_xlabel("tokens")
    axes[1][1].set_xlabel("MAC per cycle, all operators of the layer")
    axes[0][0].set_ylabel(f"prefill, ms ({form})")
    axes[1][0].set_ylabel(f"decode, ms per token ({form})")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(f"{model.title} on spatial accelerators, batch 1", fontsize=13)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ModelInputError(
            "Drawing needs matplotlib, which is not installed.", help="pip install matplotlib."
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _lengths(model: Transformer) -> list[int]:
    powers = [2**k for k in range(5, 15) if 2**k < model.longest]
    return [*powers, model.longest]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What both columns of a row draw."""

    stage: str
    fpgas: list[Fpga]
    gpu: Gpu
    model: Transformer
    form: Format

    def plan(self, device: Fpga, length: int) -> Plan | None:
        try:
            if self.stage == "prefill":
                return plan_prefill(device, self.model, self.form, length)
            return plan_decode(device, self.model, self.form, length)
        except ModelInputError:
            return None

    def design(self, device: Fpga, length: int, macs: int) -> Plan:
        return evaluate(device, self.model, self.form, self.stage, length, macs)

    def on_gpu(self, length: int, tuned: bool) -> float:
        """Milliseconds."""
        run = getattr(model_gpu, self.stage)
        milliseconds: float = run(self.gpu, self.model, length, tuned=tuned).seconds * 1e3
        return milliseconds


def _against_length(axis: Any, drawn: _Drawn, lengths: list[int]) -> None:
    for device, colour in zip(drawn.fpgas, _COLOURS, strict=False):
        plans = [(n, drawn.plan(device, n)) for n in lengths]
        points = [(n, plan.seconds * 1e3) for n, plan in plans if plan]
        if points:
            axis.plot(*zip(*points, strict=True), "o-", ms=4, color=colour, label=device.title)
    for tuned, style, note in ((False, "--", "PyTorch"), (True, ":", "roofline")):
        times = [drawn.on_gpu(n, tuned) for n in lengths]
        axis.plot(
            lengths, times, style, color=_GPU_COLOUR, label=f"{drawn.gpu.title}, 16 bits, {note}"
        )
    axis.set_xscale("log", base=2)
    axis.set_xticks(lengths, [str(n) for n in lengths])
    _finish(axis)


def _against_macs(axis: Any, drawn: _Drawn, length: int) -> None:
    for device, colour in zip(drawn.fpgas, _COLOURS, strict=False):
        best = drawn.plan(device, length)
        if best is None:
            continue
        sweep = [drawn.design(device, length, 2**k) for k in range(3, 17)]
        points = [(p.parallelism.total, p.seconds * 1e3) for p in sweep]
        inside = [point for point in points if point[0] <= best.parallelism.total]
        inside.append((best.parallelism.total, best.seconds * 1e3))
        axis.plot(*zip(*points, strict=True), "-", lw=0.7, alpha=0.45, color=colour)
        axis.plot(*zip(*inside, strict=True), "-", lw=2, color=colour)
        axis.plot(*inside[-1], "o", ms=7, color=colour)
    for tuned, style in ((False, "--"), (True, ":")):
        time = drawn.on_gpu(length, tuned)
        axis.axhline(time, ls=style, color=_GPU_COLOUR)
    axis.annotate(
        "thick: fits the device; dot: its best design",
        (0.98, 0.96),
        xycoords="axes fraction",
        ha="right",
        va="top",
        fontsize=8,
        color="#555555",
    )
    axis.set_xscale("log")
    _finish(axis)


def _finish(axis: Any) -> None:
    axis.set_yscale("log")
    axis.grid(True, which="major", color="#dddddd", lw=0.6)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
