"""The linker configuration of a Vitis kernel: which memory bank each port uses."""

from __future__ import annotations

from collections.abc import Mapping

from allo.dialects.diagnostics import OptionError
from allo.dialects.options import read_options


def bank_name(bank: int | str) -> str:
    """A bank as the linker spells it: ``HBM[3]`` for the channel 3."""
    return f"HBM[{bank}]" if isinstance(bank, int) else bank


Banks = str | tuple[str, ...]
"""The memory of an argument, or those over which its rows are spread."""


def bank_names(given: int | str | tuple[int | str, ...]) -> Banks:
    """A bank, or several, as the linker spells them."""
    return tuple(map(bank_name, given)) if isinstance(given, tuple) else bank_name(given)


def placement(top: str, port: str, bank: str) -> str:
    """The line that places a port of the first instance of ``top`` in a bank."""
    return f"sp={top}_1.{port}:{bank}"


def generate_hbm_config(
    top_func_name: str,
    hbm_mapping: Mapping[str, int | str],
    arg_name_mapping: Mapping[str, str] | None = None,
) -> str:
    """The text of ``<top>.cfg``, which places ports of a Vitis kernel in memory banks.

    Args:
        top_func_name: the kernel.
        hbm_mapping: a name to a channel of HBM (``3``) or a bank (``"HBM[3]"``, ``"DDR[0]"``).
        arg_name_mapping: the names in the C++ of those names of ``hbm_mapping`` that differ there.

    Raises:
        OptionError: ``hbm_mapping`` holds what names no bank; it is a ``ValueError``.
    """
    checked = read_options("vitis_hls", {"hbm_mapping": hbm_mapping}, {})["hbm_mapping"] or {}
    names = arg_name_mapping or {}
    lines = []
    for name, bank in checked.items():
        if isinstance(bank, tuple):
            raise OptionError(
                "Option hbm_mapping of target vitis_hls takes one memory a port in generate_hbm_config.",
                help=f"{name!r} is given {list(bank)}. Name each of its ports, such as '{name}_0'.",
            )
        lines.append(placement(top_func_name, names.get(name, name), bank_name(bank)))
    return "\n".join(["[connectivity]", *lines]) + "\n"
