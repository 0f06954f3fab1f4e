"""Read Jane Austen's novels out of the Debian package r-cran-janeaustenr, one paragraph a line.

    apt-get download r-cran-janeaustenr && dpkg -x r-cran-janeaustenr_*.deb novels
    scripts/python scripts/language_model/novels.py novels

The package holds each novel as a character vector of R in a "lazy-load database": a folder of
compressed objects in R's serialisation (R Internals, section 1.8). What is read of that format here
is what these vectors use.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import lzma
import re
import struct
import zlib
from pathlib import Path
from typing import Any

from allo.designs.llm.language.prose import NOVELS

FOLDER = "usr/lib/R/site-library/janeaustenr/data"
HEADING = re.compile(
    r"(?i)(chapter|volume) [ivxlc\d]+|the end|finis|by( jane austen)?|jane austen|[* ]+"
    r"|persuasion|\(18\d\d\)"
)
EDITORS_NOTE = "A NOTE ON THE TEXT"


class Reader:
    """Reads one serialised object of R: pairs lists, strings and vectors."""

    def __init__(self, raw: bytes) -> None:
        self.file = io.BytesIO(raw)
        if self.file.read(2) != b"X\n":
            raise ValueError("the object is not in R's binary form")
        if self.integer(skip=8) == 3:
            self.file.read(self.integer())
        self.symbols: list[Any] = []

    def integer(self, skip: int = 0) -> int:
        (value,) = struct.unpack(">i", self.file.read(4))
        self.file.read(skip)
        return value

    def item(self) -> Any:
        """The next object; a vector with attributes is (values, attributes)."""
        flags = self.integer()
        kind, has_attributes, has_tag = flags & 255, flags & 0x200, flags & 0x400
        if kind == 254:
            return None
        if kind == 255:
            return self.symbols[(flags >> 8) - 1]
        if kind == 1:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == 2:
            attributes = self.item() if has_attributes else None
            tag = self.item() if has_tag else None
            return [(tag, self.item()), *(self.item() or []), *(attributes or [])]
        if kind == 9:
            length = self.integer()
            return None if length < 0 else self.file.read(length).decode()
        values = self.vector(kind)
        return (values, dict(self.item())) if has_attributes else values

    def vector(self, kind: int) -> list[Any]:
        length = self.integer()
        if kind in (10, 13):
            return [self.integer() for _ in range(length)]
        if kind in (16, 19):
            return [self.item() for _ in range(length)]
        raise ValueError(f"objects of R's type {kind} are not read")


def unpack(raw: bytes) -> bytes:
    """An object of the database: its size, then bytes compressed in one of three ways."""
    if raw[4:5] == b"2":
        return bz2.decompress(raw[5:])
    return zlib.decompress(raw[4:])


def read_novels(folder: Path) -> dict[str, list[str]]:
    """The lines of each novel, by name, in the order of the names."""
    values, names = Reader(gzip.decompress((folder / "Rdata.rdx").read_bytes())).item()
    places, titles = dict(zip(names["names"], values, strict=True))["variables"]
    database = (folder / "Rdata.rdb").read_bytes()
    novels = {}
    for title, (start, length) in zip(titles["names"], places, strict=True):
        lines = Reader(unpack(database[start : start + length])).item()
        novels[title] = lines[0] if isinstance(lines, tuple) else lines
    return novels


def paragraphs(lines: list[str]) -> list[str]:
    """The paragraphs of a novel without headings, marks of emphasis and the editor's note."""
    text = "\n".join(lines).split(EDITORS_NOTE)[0]
    text = text.replace("_", "").replace("\N{POUND SIGN}", "L")
    found = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return [p for p in found if p and not HEADING.fullmatch(p) and not p.isupper()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="the unpacked Debian package")
    parser.add_argument("--out", type=Path, default=NOVELS)
    args = parser.parse_args()
    found = [p for lines in read_novels(args.package / FOLDER).values() for p in paragraphs(lines)]
    raw = ("\n".join(found) + "\n").encode()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(found)} paragraphs, {len(raw)} bytes, {args.out.stat().st_size} in {args.out}")
    print("short ones:", sorted({p for p in found if len(p) < 12})[:60])


if __name__ == "__main__":
    main()
