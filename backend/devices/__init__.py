"""The device families: one record each, and the registry of all of them.

``families()`` names them, ``family(name)`` is the record of one, and ``register(record)`` adds one.
Everything that differs between families is a field of the record; nothing else compares names.
"""

from .bitstream import Bitstream, Pll
from .cells import Cells, RegisteredBlock
from .delays import OperatorDelays, SignalDelays
from .record import DeviceRecord, Netlist
from .registry import (
    DEFAULT_DEVICE,
    families,
    family,
    family_of_part,
    register,
    resources_of,
    routed,
    routers,
    synthesised,
    unregister,
)
from .tools import CellUse, Cost, Part, Routing, Synthesis

__all__ = [
    "DEFAULT_DEVICE",
    "Bitstream",
    "CellUse",
    "Cells",
    "Cost",
    "DeviceRecord",
    "Netlist",
    "OperatorDelays",
    "Part",
    "Pll",
    "RegisteredBlock",
    "Routing",
    "SignalDelays",
    "Synthesis",
    "families",
    "family",
    "family_of_part",
    "register",
    "resources_of",
    "routed",
    "routers",
    "synthesised",
    "unregister",
]
