"""The analytical model as a command: a table of devices, and a figure.

    scripts/python designs/llm/analysis/model.py --model llama2-7b --format W4A8 --png out/model.png

The equations are in ``equations.py``, devices and transformers in ``../data/*.toml``, the search
for the largest balanced design in ``search.py``, the GPU's roofline in ``gpu.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from allo.designs.llm.analysis import gpu as model_gpu
from allo.designs.llm.analysis.data import (
    Format,
    Fpga,
    Gpu,
    ModelInputError,
    Transformer,
    devices,
    parse_format,
    transformer,
)
from allo.designs.llm.analysis.figures import draw
from allo.designs.llm.analysis.search import Plan, macs_to_match, plan_decode, plan_prefill
from allo.errors import AlloError

REFERENCE_CLOCK_HZ = 250e6


def summary(
    found: list[Fpga | Gpu], model: Transformer, form: Format, length: int
) -> list[dict[str, Any]]:
    """One row a device: prefill of ``length`` tokens, then decoding with the cache full."""
    return [
        _fpga_row(device, model, form, length)
        if isinstance(device, Fpga)
        else _gpu_row(device, model, length)
        for device in found
    ]


def _fpga_row(device: Fpga, model: Transformer, form: Format, length: int) -> dict[str, Any]:
    row: dict[str, Any] = {"device": device.title, "format": str(form)}
    try:
        prefill = plan_prefill(device, model, form, length)
        decode = plan_decode(device, model, form)
    except ModelInputError as error:
        return row | {"note": error.message}
    return row | _figures("prefill", prefill) | _figures("decode", decode)


def _figures(stage: str, plan: Plan) -> dict[str, Any]:
    return {
        f"{stage}_m": plan.macs,
        f"{stage}_layers": plan.parallelism.layers,
        f"{stage}_macs": plan.parallelism.total * plan.parallelism.layers,
        f"{stage}_ms": plan.seconds * 1e3,
        f"{stage}_joules": plan.joules,
        f"{stage}_limit": plan.tight,
    }


def _gpu_row(device: Gpu, model: Transformer, length: int) -> dict[str, Any]:
    row: dict[str, Any] = {"device": device.title, "format": "16 bits"}
    try:
        prefill = model_gpu.prefill(device, model, length)
        decode = model_gpu.decode(device, model, model.longest)
    except ModelInputError as error:
        return row | {"note": error.message}
    for stage, time in (("prefill", prefill), ("decode", decode)):
        row |= {
            f"{stage}_ms": time.seconds * 1e3,
            f"{stage}_roofline_ms": time.roofline * 1e3,
            f"{stage}_joules": time.seconds * device.power_w,
            f"{stage}_limit": "launching" if time.overhead > time.roofline else time.limit,
        }
    return row


def render(rows: list[dict[str, Any]], stage: str, title: str) -> Table:
    """The rows of one stage, ``"prefill"`` or ``"decode"``, as a table for the terminal."""
    table = Table(title=title, title_justify="left", pad_edge=False)
    rate = "tokens/s" if stage == "decode" else "M"
    for name in ("device", "format", "ms", rate, "MAC/cycle", "J", "limit"):
        left = name in ("device", "format", "limit")
        table.add_column(name, justify="left" if left else "right")
    for row in rows:
        if "note" in row:
            table.add_row(row["device"], row["format"], "does not fit", style="dim")
            continue
        fast = 1e3 / row["decode_ms"] if stage == "decode" else row.get("prefill_m")
        table.add_row(
            row["device"],
            row["format"],
            _number(row[f"{stage}_ms"], row.get(f"{stage}_roofline_ms")),
            _count(fast),
            _count(row.get(f"{stage}_macs")),
            f"{row[f'{stage}_joules']:.2f}",
            row[f"{stage}_limit"],
        )
    return table


def _number(value: float, roofline: float | None) -> str:
    return f"{value:.2f}" if roofline is None else f"{value:.2f} ({roofline:.2f})"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="gpt2-355m", help="a name of data/models.toml")
    parser.add_argument("--format", default="W4A8", help="bits of weights and activations")
    parser.add_argument("--length", type=int, default=128, help="prompt length in tokens")
    parser.add_argument("--devices", help="comma-separated names of data/devices.toml")
    parser.add_argument("--gpu", default="a100", help="the GPU drawn beside the FPGAs")
    parser.add_argument("--png", type=Path, help="draw the figure here")
    parser.add_argument("--json", type=Path, help="write the rows here")
    return parser.parse_args(given)


def _chosen(names: str | None) -> list[Fpga | Gpu]:
    known = devices()
    if names is None:
        return list(known.values())
    if unknown := [name for name in names.split(",") if name not in known]:
        raise ModelInputError(
            f"There is no device named {unknown[0]!r}.", help=f"known: {', '.join(known)}."
        )
    return [known[name] for name in names.split(",")]


def run(given: list[str] | None = None) -> None:
    """Print the table and write what is asked for.

    Raises:
        ModelInputError: when a name, format, length or device cannot be taken.
    """
    options = _arguments(given)
    model, form = transformer(options.model), parse_format(options.format)
    chosen = _chosen(options.devices)
    rows = summary(chosen, model, form, options.length)
    console = Console()
    console.print(render(rows, "prefill", f"{model.title}, prefill of {options.length} tokens"))
    console.print(render(rows, "decode", f"{model.title}, one token, {model.longest} cached"))
    console.print("GPU: as PyTorch runs it, the roofline alone in brackets.", style="dim")
    gpu = devices().get(options.gpu)
    if not isinstance(gpu, Gpu):
        raise ModelInputError(f"There is no GPU named {options.gpu!r}.")
    reached = model_gpu.prefill(gpu, model, options.length).seconds
    needed = macs_to_match(reached, model, options.length, REFERENCE_CLOCK_HZ)
    console.print(
        f"To match the prefill of {gpu.title}, {reached * 1e3:.2f} ms, a balanced design with C = 1 "
        f"at 250 MHz needs M = {needed:,.0f} MAC a cycle."
    )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
        console.print(f"wrote {options.json}")
    if options.png:
        fpgas = [device for device in chosen if isinstance(device, Fpga)]
        console.print(f"drew {draw(options.png, fpgas, gpu, model, form, options.length)}")


def main() -> int:
    """The command: errors of the input are one readable text and status 1."""
    try:
        run()
    except AlloError as error:
        Console(stderr=True).print(f"error: {error}", markup=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
