"""What a build asks of the HLS back end, checked: mode, device, clock, memory mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allo.target import BuildRequest

from .errors import HlsConfigError, InvalidModeError, ReservedNameError

_MODES = {
    "vivado_hls": ("csim", "csyn", "cosim", "impl", "custom", "debug"),
    "vitis_hls": ("csim", "csyn", "cosim", "sw_emu", "hw_emu", "hw"),
    "pynq": ("csim", "csyn", "impl"),
    "tapa": ("csim", "fast_hw_emu", "hw_emu", "hw"),
    "catapult": ("csim", "csyn"),
    "intel_hls": (),
}
_DEFAULT_DEVICES = {"pynq": "pynqz2"}
_RESERVED_TOPS = {"vitis_hls": ("kernel",), "tapa": ("kernel",)}
_KEYS = frozenset(
    {"device", "frequency", "mode", "hbm_mapping", "num_output_args", "mappings"}
    | {"timeout", "fallback", "progress"}
)


@dataclass(frozen=True, slots=True)
class HlsOptions:
    """Checked options of one build.

    Attributes:
        device: name of the device (checked when a project is written).
        frequency: clock in MHz.
        hbm_mapping: user's argument name or ``output_<i>`` to ``HBM[0]``, ``DDR[1]``.
        num_output_args: trailing output arguments of a void top, None to infer.
        timeout_s: limit of one run of an external tool, in seconds.
        fallback: whether csyn and cosim use Allo's own Verilog where the vendor's tool is missing.
        progress: called with each line a tool prints, or None.
    """

    mode: str | None
    project: Path | None
    device: str = "u280"
    frequency: float = 300.0
    hbm_mapping: Mapping[str, str] = field(default_factory=dict)
    num_output_args: int | None = None
    mappings: tuple[Any, ...] = ()
    timeout_s: float = 3600.0
    fallback: bool = True
    progress: Any = None

    @property
    def period_ns(self) -> float:
        return 1000.0 / self.frequency


def read_options(request: BuildRequest, platform: str) -> HlsOptions:
    """The options of a request.

    Raises:
        InvalidModeError: a mode the target lacks, or a project without a mode.
        ReservedNameError: a top function whose name the project needs.
        HlsConfigError: a key or value of ``configs`` that means nothing.
    """
    configs = {**request.configs, **request.options}
    _check_mode(request, platform)
    for key in configs:
        if key not in _KEYS:
            raise HlsConfigError(
                f"configs has no key {key!r} for target {request.target}.",
                help=f"known keys: {', '.join(sorted(_KEYS))}.",
            )
    frequency = configs.get("frequency", 300)
    if isinstance(frequency, bool) or not isinstance(frequency, (int, float)) or frequency <= 0:
        raise HlsConfigError(
            f"configs['frequency'] must be a positive number of MHz, not {frequency!r}."
        )
    count = configs.get("num_output_args")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise HlsConfigError(f"configs['num_output_args'] must be a count, not {count!r}.")
    project = Path(request.project).expanduser().absolute() if request.project else None
    return HlsOptions(
        request.mode,
        project,
        str(configs.get("device", _DEFAULT_DEVICES.get(platform, "u280"))),
        float(frequency),
        _hbm_mapping(configs.get("hbm_mapping") or {}),
        count,
        tuple(configs.get("mappings") or ()),
        float(configs.get("timeout", 3600)),
        bool(configs.get("fallback", True)),
        configs.get("progress"),
    )


def _check_mode(request: BuildRequest, platform: str) -> None:
    modes = _MODES[platform]
    if not modes and (request.mode is not None or request.project is not None):
        raise InvalidModeError(
            f"Target {request.target} gives text only; it has no mode and no project.",
            help=f"write s.build(target={request.target!r}).hls_code to a file.",
        )
    if request.project is not None and request.mode is None:
        raise InvalidModeError(
            "mode must be specified when project is specified.",
            help=f"modes of {request.target}: {', '.join(modes)}.",
        )
    if request.mode is not None and request.mode not in modes:
        raise InvalidModeError(
            f"Invalid mode {request.mode!r} for target {request.target}.",
            help=f"modes of {request.target}: {', '.join(modes)}.",
        )
    if request.mode is not None and request.top in _RESERVED_TOPS.get(platform, ()):
        raise ReservedNameError(
            f"The top function cannot be named {request.top}: the {platform} project "
            "uses this name itself.",
            help="rename the Python function.",
        )


def _hbm_mapping(mapping: Any) -> dict[str, str]:
    if not isinstance(mapping, Mapping):
        raise HlsConfigError(
            f"configs['hbm_mapping'] must be a dict, not {type(mapping).__name__}.",
            help='write {"A": 0, "output_0": "HBM[1]"}.',
        )
    return {name: _channel(name, value) for name, value in mapping.items()}


def _channel(name: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"HBM[{value}]"
    if isinstance(value, str):
        return value
    raise HlsConfigError(
        f"hbm_mapping[{name!r}] must be a channel number or a memory bank, not {value!r}.",
        help='write 3, "HBM[3]" or "DDR[1]".',
    )
