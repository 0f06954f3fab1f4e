"""The device families: one record each, and the registry of all of them.

``families()`` names them, ``family(name)`` is the record of one, and ``register(record)`` adds one.
Everything that differs between families is a field of the record; nothing else compares names.
"""

from .fields.bitstream import Bitstream, Pll
from .fields.cells import Cells, RegisteredBlock
from .fields.delays import MappingDelays, OperatorDelays, SignalDelays
from .fields.tools import CellUse, Cost, Part, Routing, SizedCost, Synthesis
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

__all__ = [
    "DEFAULT_DEVICE",
    "Bitstream",
    "CellUse",
    "Cells",
    "Cost",
    "DeviceRecord",
    "Netlist",
    "MappingDelays",
    "OperatorDelays",
    "Part",
    "Pll",
    "RegisteredBlock",
    "Routing",
    "SignalDelays",
    "SizedCost",
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
