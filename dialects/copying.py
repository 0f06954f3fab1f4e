"""What holds MLIR or machine code is not copied or pickled as it stands: a named error says what to do."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex

from .diagnostics import BuildError


class BuiltOnce:
    """A built module: compiled code and simulators belong to one object of one process."""

    top_func_name: str

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse ``copy`` and ``pickle``.

        Raises:
            BuildError: always.
        """
        raise BuildError(
            f"The built module of {self.top_func_name} can be neither copied nor pickled: it holds "
            "compiled code of this process.",
            help="call s.build(...) again, in the process that needs it; what was compiled is cached.",
        )
