"""C++ kernels of AMD's NPU, under their published name."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects.diagnostics import UnsupportedTargetError


class ExternalModule:
    """A C++ kernel for AMD's NPU, which has no back end here.

    Raises:
        UnsupportedTargetError: always; an ``IPModule`` is C++ that every back end runs.
    """

    def __init__(
        self, top: str, impl_path: str, input_idx: Sequence[int], output_idx: Sequence[int]
    ) -> None:
        del impl_path, input_idx, output_idx
        raise UnsupportedTargetError(
            f"The kernel {top} is for AMD's NPU, and target aie is not supported.",
            help="ask allo.backend.aie.is_available() first, or call plain C++ by allo.IPModule.",
        )


__all__ = ["ExternalModule"]
