"""``allo network FILE``: a quantised network in its interpreter, on the CPU and in simulated hardware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from allo.backend import devices
from allo.backend.devices import DEFAULT_DEVICE
from allo.dialects.diagnostics import ModelError
from allo.frontend import from_qonnx, from_tflite
from allo.models.energy.estimate import Energy, energy_of
from allo.models.origin import EachSample
from allo.models.streams.schedule import StreamSchedule
from allo.models.trial import Trial, synthesised, try_network
from allo.qonnx.executor import executor, float_activations
from allo.qonnx.trees.entry import evaluator, from_trees_for_trial
from allo.qonnx.trees.reading import is_ensemble
from allo.tflite.interpreter import interpreter

from .build import write_text
from .network_project import write_project

Arrays = list[list[np.ndarray[Any, Any]]]
_LABELS = "labels"
_CLOCK_MHZ = 200.0


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def network(
        file: Annotated[
            Path, typer.Argument(help="a .onnx file of QONNX or of trees, or a .tflite file")
        ],
        data: Annotated[
            Path | None,
            typer.Option(help=".npy of samples, or .npz of inputs by name and labels; else random"),
        ] = None,
        samples: Annotated[int, typer.Option(help="of the data, at most")] = 100,
        simulate: Annotated[int, typer.Option(help="samples that run in hardware")] = 10,
        device: Annotated[str, typer.Option(help="device family")] = DEFAULT_DEVICE,
        clock: Annotated[
            float | None,
            typer.Option(help="clock in MHz to build for; 200, or the board's, where left out"),
        ] = None,
        output: Annotated[Path | None, typer.Option("-o", help="write the JSON here")] = None,
        picture: Annotated[
            Path | None, typer.Option(help="write the layers with their cycles here, as SVG")
        ] = None,
        project: Annotated[
            Path | None, typer.Option(help="write a project for the board here, and try nothing")
        ] = None,
        board: Annotated[
            str,
            typer.Option(help="of the project: a Zynq board or a card; `allo boards` lists them"),
        ] = "pynq-z2",
        batch: Annotated[int, typer.Option(help="samples of a call on the board")] = 64,
        streams: Annotated[
            bool, typer.Option("--streams", help="put the layers side by side, on streams")
        ] = False,
        fps: Annotated[
            float | None, typer.Option(help="images a second, for which streams choose foldings")
        ] = None,
        synthesize: Annotated[
            str | None,
            typer.Option(
                help="a family: its cells by Yosys, and its clock where nextpnr routes it"
            ),
        ] = None,
        energy: Annotated[
            bool,
            typer.Option("--energy", help="estimate that of a sample, from simulated activity"),
        ] = False,
        static_mw: Annotated[
            float | None, typer.Option(help="static power of the part, from its data sheet")
        ] = None,
    ) -> None:
        """Try a quantised network on data, and show accuracy, cycles and cost of its hardware."""
        options = {"streams": streams, "target_fps": fps}
        if project is not None:
            schedule = _schedule(file, samples=batch, **options)
            _pipelined(schedule)
            write_project(schedule, board, project, clock)
            typer.echo(f"{project}: {batch} samples a call on {board}; batches.py streams them.")
            return
        console = Console(stderr=True, highlight=False)
        with console.status(f"reading {file}") as status:
            mhz = clock or _CLOCK_MHZ
            if streams:
                options["clock_mhz"] = mhz
            found = tried(file, data, samples, simulate, device, mhz, status.update, **options)
            if synthesize is not None:
                status.update(f"synthesising for {synthesize}")
                found = _synthesised(found, _schedule(file, **options), synthesize, mhz)
            if energy:
                status.update("counting what changes")
                made = _schedule(file, **options)
                found = replace(found, energy=_energy(made, data, device, mhz, static_mw))
        typer.echo(str(found), nl=False)
        if output is not None:
            write_text(output, found.to_json())
        if picture is not None:
            write_text(picture, found.picture)
        if not found.is_right:
            raise typer.Exit(1)


def tried(
    file: Path,
    data: Path | None,
    samples: int,
    simulate: int,
    device: str,
    clock: float,
    progress: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> Trial:
    """A network tried on data; ``options`` of ``from_tflite`` or ``from_qonnx``.

    Raises:
        ModelError: a file of another kind, or data that do not fit.
    """
    schedule, judges = _read(file, options)
    _pipelined(schedule)
    calls, labels = _samples(schedule, data, samples)
    return try_network(
        schedule,
        judges,
        calls,
        labels,
        simulate=simulate,
        device=device,
        clock_mhz=clock,
        progress=progress,
    )


def _schedule(file: Path, **options: Any) -> Any:
    """The schedule of a network."""
    if file.suffix == ".tflite":
        return from_tflite(file, target="mlir", **options)
    if file.suffix == ".onnx" and file.is_file() and is_ensemble(file):
        return from_trees_for_trial(file, options)
    if file.suffix == ".onnx":
        return from_qonnx(file, target="mlir", **options)
    raise ModelError(
        f"{file} is of no known kind.", help="give a .onnx file of QONNX or a .tflite file."
    )


def _energy(
    schedule: Any, data: Path | None, device: str, clock: float, static_mw: float | None
) -> Energy:
    """The energy of the first sample."""
    _pipelined(schedule)
    built = schedule.build(target="verilog", device=device, clock_mhz=clock)
    calls, _ = _samples(schedule, data, 1)
    weights = [] if isinstance(schedule, StreamSchedule) else schedule.weight_data
    return energy_of(built, *calls[0], *weights, static_mw=static_mw)


def _synthesised(trial: Trial, schedule: Any, name: str, clock: float) -> Trial:
    """The trial with what open tools make of the hardware for a family."""
    _pipelined(schedule)
    made = synthesised(schedule, name, clock, route=name in devices.routed())
    return replace(trial, synthesised=made)


def _pipelined(schedule: Any) -> None:
    """Pipeline the inner loops of layers on arrays; those on streams are, and an ensemble has none."""
    if not isinstance(schedule, StreamSchedule) and any(c.nests for c in schedule.choices):
        schedule["**"].pipeline()


def _read(file: Path, options: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """The schedule of a network, and the other ways to run it."""
    schedule = _schedule(file, **options)
    if file.suffix == ".tflite":
        return schedule, {"TFLite's interpreter": interpreter(file)}
    if is_ensemble(file):
        return schedule, {"ONNX's evaluator": evaluator(file)}
    judges = {"qonnx's executor": executor(file)}
    plain = float_activations(file)
    return schedule, judges if plain is None else {**judges, "activations in float32": plain}


def _samples(
    schedule: Any, data: Path | None, most: int
) -> tuple[Arrays, np.ndarray[Any, Any] | None]:
    """The inputs of each sample, and the labels where there are any."""
    origin = schedule.origin
    wanted = (origin.one if isinstance(origin, EachSample) else origin).inputs()
    if data is None:
        return [_random(wanted, seed) for seed in range(most)], None
    try:
        read = np.load(data)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{data} cannot be read: {error}.", help="give a file of numpy.save or numpy.savez."
        ) from error
    arrays = [read] if isinstance(read, np.ndarray) else [read[n] for n in read if n != _LABELS]
    labels = None
    if not isinstance(read, np.ndarray) and _LABELS in read:
        labels = np.asarray(read[_LABELS]).reshape(-1)[:most]
    if len(arrays) != len(wanted):
        raise ModelError(
            f"{data} has {len(arrays)} inputs, and the network {len(wanted)}.",
            help=f"give them in the network's order; labels are called {_LABELS!r}.",
        )
    calls = []
    for number in range(min(most, min(map(len, arrays)))):
        calls.append(
            [_fitted(a[number], like, data) for a, like in zip(arrays, wanted, strict=True)]
        )
    return calls, labels


def _fitted(
    sample: np.ndarray[Any, Any], like: np.ndarray[Any, Any], data: Path
) -> np.ndarray[Any, Any]:
    if sample.size != like.size:
        raise ModelError(
            f"A sample of {data} has the shape {list(sample.shape)}, and the input of the network "
            f"{list(like.shape)}.",
            help="the first dimension of the data counts the samples.",
        )
    if like.dtype.kind in "iu" and not np.array_equal(sample, sample.astype(like.dtype)):
        raise ModelError(
            f"A sample of {data} has elements that {like.dtype} does not have.",
            help="give the integers that the network takes: value / scale + zero point, rounded.",
        )
    return sample.reshape(like.shape).astype(like.dtype)


def _random(like: list[np.ndarray[Any, Any]], seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    found = []
    for array in like:
        if array.dtype.kind in "iu":
            kind = np.iinfo(array.dtype)
            made = rng.integers(kind.min, kind.max, array.shape, endpoint=True)
        else:
            made = rng.standard_normal(array.shape)
        found.append(made.astype(array.dtype))
    return found
