"""What a build asks of the HLS back end: mode, device, clock, memory mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allo.dialects.passes.flush_subnormals import FLUSH
from allo.dialects.passes.run_time_checks import NO_CHECKS, Checks
from allo.target import BuildRequest

from ..errors import ReservedNameError
from .connectivity import Banks, bank_names
from .devices import DEVICES, PROCESSING_SYSTEMS

_DEFAULT_DEVICES = {"pynq": "pynqz2"}
_DEFAULT_MHZ = 300.0
_RESERVED_TOPS = {"vitis_hls": ("kernel",), "tapa": ("kernel",)}


@dataclass(frozen=True, slots=True)
class HlsOptions:
    """Checked options of one build.

    Attributes:
        device: name of the device (checked when a project is written).
        frequency: clock in MHz.
        hbm_mapping: user's argument name or ``output_<i>`` to ``HBM[0]``, ``DDR[1]``, or to several of
            these, over which the rows of the array are spread.
        num_output_args: trailing output arguments of a void top, None to infer.
        timeout_s: limit of one run of an external tool, in seconds.
        fallback: whether csyn and cosim use Allo's own Verilog where the vendor's tool is missing.
        progress: called with each line a tool prints, or None.
        checks: what csim checks when it runs.
        flush: whether subnormal floats are zeros.
    """

    mode: str | None
    project: Path | None
    device: str = "u280"
    frequency: float = _DEFAULT_MHZ
    hbm_mapping: Mapping[str, Banks] = field(default_factory=dict)
    num_output_args: int | None = None
    mappings: tuple[Any, ...] = ()
    timeout_s: float = 3600.0
    fallback: bool = True
    progress: Any = None
    checks: Checks = NO_CHECKS
    flush: bool = False

    @property
    def period_ns(self) -> float:
        """The clock period in nanoseconds."""
        return 1000.0 / self.frequency


def read_options(request: BuildRequest, platform: str) -> HlsOptions:
    """The options of a request, which are checked.

    Raises:
        ReservedNameError: a top function whose name the project needs.
    """
    _check_top(request, platform)
    settings = request.settings
    device = settings["device"] or _DEFAULT_DEVICES.get(platform, "u280")
    return HlsOptions(
        request.mode,
        Path(request.project).absolute() if request.project else None,
        device,
        settings["frequency"] or _usual_mhz(platform, device),
        {name: bank_names(bank) for name, bank in (settings["hbm_mapping"] or {}).items()},
        settings["num_output_args"],
        settings["mappings"] or (),
        settings["timeout"],
        settings["fallback"],
        settings["progress"],
        Checks(settings["check_bounds"], settings["check_dependences"]),
        settings.get("subnormals") == FLUSH,
    )


def _usual_mhz(platform: str, device: str) -> float:
    """The clock of a build that names none: on a PYNQ board, one that its processing system makes."""
    board = DEVICES.get(device)
    system = PROCESSING_SYSTEMS.get(board.family) if platform == "pynq" and board else None
    return system.usual_mhz if system else _DEFAULT_MHZ


def _check_top(request: BuildRequest, platform: str) -> None:
    if request.mode is not None and request.top in _RESERVED_TOPS.get(platform, ()):
        raise ReservedNameError(
            f"The top function cannot be named {request.top}: the {platform} project "
            "uses this name itself.",
            help="rename the Python function.",
        )
