"""The text side of the emitter: lines, indentation, source comments, unique names."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.text.quoting import one_line


class Writer:
    """C++ text, one line a call, indented by the contexts it is in."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._level = 0

    def line(self, text: str = "", place: SourcePlace | None = None) -> None:
        """Append a line, with ``// file.py:line`` behind it when its source is known."""
        file = one_line(os.path.basename(place.file)) if place else ""
        comment = f"\t// {file}:{place.line}" if place else ""
        self._lines.append(f"{'  ' * self._level}{text}{comment}" if text else "")

    def outdented(self, text: str) -> None:
        """Append a line one level further out, as pragmas of a loop are printed."""
        self._lines.append("  " * max(0, self._level - 1) + text)

    @contextlib.contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines that are written inside the ``with`` statement by one level."""
        self._level += 1
        yield
        self._level -= 1

    @contextlib.contextmanager
    def block(self, head: str, place: SourcePlace | None = None, tail: str = "}") -> Iterator[None]:
        """``head {`` … ``}``."""
        self.line(f"{head} {{", place)
        with self.indented():
            yield
        self.line(tail)

    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(self._lines) + "\n"


_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl concept const const_cast constexpr continue decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    register reinterpret_cast requires return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename union unsigned
    using virtual void volatile wchar_t while xor xor_eq
    """.split()
)
_TAKEN = frozenset(
    """
    std hls half min max fmod int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
    ap_int ap_uint ap_fixed ap_ufixed main linux unix assert NAN INFINITY NULL EOF errno stdin
    stdout stderr signbit isnan isinf DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS HUGE
    M_E M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_LN2 M_LN10 M_LOG2E M_LOG10E M_SQRT2 M_SQRT1_2
    INT_MAX INT_MIN UINT_MAX
    """.split()
)
RESERVED = _KEYWORDS | _TAKEN
# Types and objects of the standard library, which the text opens by `using namespace std`, and of
# the C library: a function of such a name cannot be called by it. Variables may have these names.
_STANDARD = frozenset(
    """
    allocator array atomic basic_string bit_and bit_not bit_or bit_xor cerr cin clog codecvt collate
    common_type complex conditional cout ctype daylight decay deque divides enable_if equal_to errc
    error_category error_code exception extent false_type filebuf fpos fstream function greater
    greater_equal gslice hash ifstream ignore initializer_list ios iostream istream iterator lconv
    less less_equal list literals locale logical_and logical_not logical_or map memory_order messages
    minus modulus multimap multiplies multiset negate new_handler not_equal_to nothrow ofstream
    ostream pair placeholders plus pointer_traits queue rank ratio retval set shared_ptr signgam
    size_t slice stack streambuf streamoff streampos streamsize string stringbuf stringstream
    timezone tm true_type tuple tuple_element tuple_size tzname uint ulong unique_ptr ushort
    valarray valtype vector weak_ptr wstring
    """.split()
)


class Names:
    """Identifiers of one scope: the user's where they exist, ``v<n>`` otherwise, each used once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next = 0

    def fresh(self) -> str:
        """The next free ``v<n>``."""
        while True:
            name = f"v{self._next}"
            self._next += 1
            if name not in self._taken:
                self._taken.add(name)
                return name

    def of(self, wanted: str | None) -> str:
        """``wanted`` as a C++ identifier no one else has; a fresh name for None."""
        if not wanted:
            return self.fresh()
        base = name = identifier(wanted)
        stem = f"{base}_" if base[-1].isdigit() else base
        count = 0
        while name in self._taken:
            count += 1
            name = f"{stem}{count}"
        self._taken.add(name)
        return name


def identifier(text: str) -> str:
    """``text`` as a valid C++ identifier that is no keyword, macro or name the headers bring."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"_{name}"
    name = re.sub(r"^_+(?=\w)", "", name) if name.startswith("__") else name
    return f"{name}_" if name in RESERVED else name


def function_identifier(text: str) -> str:
    """``text`` as the identifier of a function that the text can call."""
    name = identifier(text)
    return f"{name}_" if name in _STANDARD else name
