"""The operator library: what hardware computes an operation of the core IR.

The compiler asks ``OperatorLibrary(device, clock_mhz).find(op, operand_types, result_type)``
and gets an :class:`~allo.backend.rtl.operators.spec.Operator`: either combinational, which it
emits in place, or a pipelined unit, which it instantiates.
"""

from .library import OperatorLibrary, register_operator, supported_operations
from .spec import Operator, Resources

__all__ = [
    "Operator",
    "OperatorLibrary",
    "Resources",
    "register_operator",
    "supported_operations",
]
