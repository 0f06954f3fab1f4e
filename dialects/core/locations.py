"""Between MLIR locations and places in the user's Python."""

from __future__ import annotations

from .._mlir import ir
from ..diagnostics import SourcePlace


def location_of(place: SourcePlace | None) -> ir.Location:
    """The MLIR location of a place, in the current context."""
    if place is None:
        return ir.Location.unknown()
    end_line = place.end_line or place.line
    end_col = place.end_col or place.col
    return ir.Location.file(_written(place.file), place.line, place.col, end_line, end_col)


def _written(file: str) -> str:
    """A file's name as MLIR and reports take it: bytes that are not UTF-8 are spelled out, as ``\\xe9``."""
    if file.isascii():
        return file
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def place_of(op: ir.Operation | ir.OpView | ir.Location) -> SourcePlace | None:
    """The user's source range of an operation; of a fused location, its first known part."""
    location = op if isinstance(op, ir.Location) else op.location
    return _first_file(_of_its_kind(location) if type(location) is ir.Location else location)


def _of_its_kind(location: ir.Location) -> ir.Location:
    """The location of a diagnostic, which MLIR gives without its class."""
    for kind in (ir.FileLineColLoc, ir.NameLoc, ir.CallSiteLoc, ir.FusedLoc):
        if location.typeid == kind.static_typeid:
            return kind(location)
    return location


def _first_file(location: ir.Location) -> SourcePlace | None:
    if isinstance(location, ir.FileLineColLoc):
        return SourcePlace(
            location.filename,
            location.start_line,
            location.start_col,
            location.end_line,
            location.end_col,
        )
    if isinstance(location, ir.NameLoc):
        return _first_file(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return _first_file(location.callee)
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, map(_first_file, location.locations)), None)
    return None
