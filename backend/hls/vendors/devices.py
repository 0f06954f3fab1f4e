"""Devices and boards by their published names."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UnsupportedDeviceError


@dataclass(frozen=True, slots=True)
class Device:
    """A board or accelerator card.

    Attributes:
        part: the FPGA part in the vendor's spelling.
        family: ``alveo``, ``zynqmp``, ``zynq7`` or ``versal``.
        memory: default external memory of a kernel port, ``HBM``, ``DDR`` or ``LPDDR``.
        ip_catalog: whether ``export_design`` packs an IP rather than running implementation.
    """

    name: str
    part: str
    family: str
    memory: str
    ip_catalog: bool = False


_DEVICES = (
    Device("ultra96v2", "xczu3eg-sbva484-1-e", "zynqmp", "DDR", ip_catalog=True),
    Device("pynqz2", "xc7z020clg400-1", "zynq7", "DDR", ip_catalog=True),
    Device("zedboard", "xc7z020clg484-1", "zynq7", "DDR", ip_catalog=True),
    Device("zcu102", "xczu9eg-ffvb1156-2-e", "zynqmp", "DDR"),
    Device("zcu104", "xczu7ev-ffvc1156-2-e", "zynqmp", "DDR"),
    Device("zcu106", "xczu7ev-ffvc1156-2-e", "zynqmp", "DDR"),
    Device("zcu111", "xczu28dr-ffvg1517-2-e", "zynqmp", "DDR"),
    Device("vck190", "xcvc1902-vsva2197-2MP-e-S", "versal", "DDR"),
    Device("vhk158", "xcvh1582-vsva3697-2MP-e-S", "versal", "HBM"),
    Device("u200", "xcu200-fsgd2104-2-e", "alveo", "DDR"),
    Device("u250", "xcu250-figd2104-2L-e", "alveo", "DDR"),
    Device("u280", "xcu280-fsvh2892-2L-e", "alveo", "HBM"),
)
DEVICES = {device.name: device for device in _DEVICES}


def find_device(name: str) -> Device:
    """The device of this name.

    Raises:
        UnsupportedDeviceError: when no device has it; the message lists those there are.
    """
    if name not in DEVICES:
        raise UnsupportedDeviceError(
            f"Device {name} not supported. Available devices: {', '.join(DEVICES)}."
        )
    return DEVICES[name]
