"""Where operations come from, as CIRCT reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.text.quoting import mlir_string, one_line

_NO_FILE = "-"
"""The file of a place that is in no file of Python."""


class Location:
    """The places in Python of an operation.

    Attributes:
        text: what stands behind the operation.
        shown: the first place as ``file:line:col``, "" where there is none in Python.
    """

    __slots__ = ("shown", "text")

    def __init__(self, text: str, shown: str = "") -> None:
        self.text = text
        self.shown = shown


UNKNOWN = Location(" loc(unknown)")
"""No place: it leaves no comment in the Verilog."""


class Locations:
    """The locations of a design; each has an alias, which is defined behind the modules.

    Attributes:
        files: the files of all places.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._known: dict[tuple[SourcePlace, ...], Location] = {}
        self._last: tuple[SourcePlace | None, Location] = None, UNKNOWN
        """The last place, which many operations have one after the other."""

    def of(self, place: SourcePlace | Sequence[SourcePlace] | None) -> Location:
        """The location of a place, or of several."""
        if not place:
            return UNKNOWN
        if place is self._last[0]:
            return self._last[1]
        if not isinstance(place, SourcePlace):
            return self._of_several(tuple(place))
        found = self._known.get((place,))
        if found is None:
            file = one_line(place.file)
            self.files.add(file)
            shown = f"{file}:{place.line}:{place.col}" if file != _NO_FILE else ""
            found = self._known[(place,)] = Location(f" loc(#p{len(self._known)})", shown)
        self._last = place, found
        return found

    def _of_several(self, places: tuple[SourcePlace, ...]) -> Location:
        parts = [self.of(place) for place in places]
        if len(parts) == 1:
            return parts[0]
        if places not in self._known:
            self._known[places] = Location(f" loc(#p{len(self._known)})", parts[0].shown)
        return self._known[places]

    def definitions(self, files: Mapping[str, str] | None = None) -> list[str]:
        """The lines that define the aliases.

        Args:
            files: other names for files, by the names that they have.
        """
        names = files or {}
        lines = []
        for number, places in enumerate(self._known):
            if len(places) == 1:
                (place,) = places
                file = one_line(place.file)
                inside = f"{mlir_string(names.get(file, file))}:{place.line}:{place.col}"
            else:
                aliases = [self._known[(place,)].text[5:-1] for place in places]
                inside = f"fused[{', '.join(aliases)}]"
            lines.append(f"#p{number} = loc({inside})")
        return lines
