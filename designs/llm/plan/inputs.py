"""What a plan is asked for: a model by name or by its folder, a device by name or by its file."""

from __future__ import annotations

from pathlib import Path

from ..analysis.data import Fpga, ModelInputError, Transformer, fpga, load_devices, transformer
from ..checkpoints.architecture import read_architecture
from ..conditions import check_design
from ..config import Architecture

CONFIGURATION = "config.json"


def model_of(asked: str) -> Transformer:
    """A transformer by name, or that of a folder with ``config.json``; its weights are not read.

    Raises:
        ModelInputError: no such name, or a model that the wide accelerator does not have.
        CheckpointFileError, ConfigurationError: the configuration is damaged, or of no known family.
    """
    path = Path(asked)
    if not path.is_dir():
        return transformer(asked)
    found = read_architecture(path / CONFIGURATION)
    check_design("wide", found, ModelInputError)
    return transformer_of(path.resolve().name, found)


def transformer_of(name: str, found: Architecture) -> Transformer:
    """The shape of an architecture, as plans know it."""
    return Transformer(
        name=name,
        title=name,
        layers=found.layers,
        heads=found.heads,
        hidden=found.d,
        ffn=found.ffn,
        longest=found.context,
        vocab=found.vocab if found.has_head else 0,
        kv_heads=found.kv_heads,
        gated=found.gated,
        encoder=not found.causal,
    )


def device_of(asked: str) -> Fpga:
    """An FPGA by name, or the one in a file of devices.

    Raises:
        ModelInputError: no such name, or a file with none or with several FPGAs.
    """
    path = Path(asked)
    if path.suffix != ".toml":
        return fpga(asked)
    found = [one for one in load_devices(path).values() if isinstance(one, Fpga)]
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise ModelInputError(
            f"A plan is for one FPGA, and the file {path} has {names}.",
            help="give a file with one entry of kind fpga, as designs/llm/data/devices.toml has them.",
        )
    return found[0]
