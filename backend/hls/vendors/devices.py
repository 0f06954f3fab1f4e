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


@dataclass(frozen=True, slots=True)
class ProcessingSystem:
    """What clocks a Zynq board's processing system makes for the kernel.

    Attributes:
        name: of its IP in Vivado.
        pll_mhz: the I/O PLL of the boards, which two dividers of six bits divide.
        most_mhz: the highest clock that the data sheet allows.
        usual_mhz: the clock of a project that names none.
    """

    name: str
    pll_mhz: int
    most_mhz: int
    usual_mhz: float

    def clock_below(self, frequency: float) -> float | None:
        """The fastest clock it makes that is not above ``frequency``; None where there is none."""
        if frequency > self.most_mhz:
            return None
        fitting = [d for d in _DIVISORS if self.pll_mhz / d <= frequency * (1 + 1e-9)]
        return self.pll_mhz / fitting[0] if fitting else None


_DIVISORS = sorted({a * b for a in range(1, 64) for b in range(1, 64)})
PROCESSING_SYSTEMS = {
    "zynq7": ProcessingSystem("processing_system7", 1000, 250, 100.0),
    "zynqmp": ProcessingSystem("zynq_ultra_ps_e", 1500, 400, 300.0),
}
"""By family; UG585 and DS187, UG1085 and DS925 of AMD."""

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
