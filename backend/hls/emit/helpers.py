"""Small C++ functions that the emitted code calls where plain C++ would differ from the core IR.

Only those a module uses are printed. ``T`` is the type of the operands, ``U`` its unsigned
twin, ``N`` its width. They state the defined results of division by zero, of shifts past the
width and of conversions out of range (docs/internals/core_ir.md, "Arithmetic").
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..vendors.tables import Vendor


def _rounded(kind: str, suffix: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """Quotients that are rounded down and up, and the remainder that is not negative, of subscripts."""
    quotient = (
        "static inline {kind} allo_{name}({kind} a, {kind} b) {{\n"
        "  {kind} q = a / b;\n"
        "  return (a % b != 0 && (a < 0) {signs} (b < 0)) ? q {step} 1 : q;\n"
        "}}\n"
    )
    down = quotient.format(kind=kind, name=f"floordiv{suffix}", signs="!=", step="-")
    up = quotient.format(kind=kind, name=f"ceildiv{suffix}", signs="==", step="+")
    return {
        f"floordiv{suffix}": ((), f"\n{down}"),
        f"ceildiv{suffix}": ((), f"\n{up}"),
        f"mod{suffix}": (
            (),
            f"""
static inline {kind} allo_mod{suffix}({kind} a, {kind} b) {{
  {kind} r = a % b;
  return r < 0 ? r + b : r;
}}
""",
        ),
    }


_TEXT: dict[str, tuple[tuple[str, ...], str]] = {
    "vector": (
        (),
        """
template <typename T, int N> struct allo_vector {
  T lanes[N];
  T &operator[](int k) { return lanes[k]; }
};
""",
    ),
    "ac_bits": (
        (),
        """
template <int W, int I, bool S> struct allo_bit_reference {
  ac_fixed<W, I, S> &value;
  allo_bit_reference &operator=(const ac_int<W, S> &bits) {
    value.set_slc(0, bits);
    return *this;
  }
};
template <int W, int I, bool S>
static inline allo_bit_reference<W, I, S> allo_assigned(ac_fixed<W, I, S> &value) {
  return allo_bit_reference<W, I, S>{value};
}
template <int W, int I, bool S>
static inline ac_int<W, S> allo_bits(const ac_fixed<W, I, S> &value) {
  return value.template slc<W>(0);
}
""",
    ),
    "bfloat": (
        (),
        """
struct allo_bfloat16 {
  uint16_t bits;
  allo_bfloat16() {}
  allo_bfloat16(float value) { *this = round(value); }
  allo_bfloat16(double value) {
    float nearest = (float)value;
    union { float f; uint32_t i; } u;
    u.f = nearest;
    if ((double)nearest != value && nearest == nearest && (u.i & 1) == 0) {
      bool up = (value > (double)nearest) == (value > 0);
      u.i = up ? u.i + 1 : u.i - 1;
    }
    *this = round(u.f);
  }
  allo_bfloat16(long value) : allo_bfloat16((long long)value) {}
  allo_bfloat16(unsigned long value) { *this = from(value); }
  allo_bfloat16(long long value) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    *this = from(magnitude);
    if (value < 0) bits |= 0x8000;
  }
  allo_bfloat16(unsigned long long value) { *this = from(value); }
  static allo_bfloat16 from(uint64_t value) {
    int shift = 0;
    bool sticky = false;
    for (; value >> 52; shift++) {
      sticky |= value & 1;
      value >>= 1;
    }
    double scale = 1;
    for (int k = 0; k < shift; k++) scale *= 2;
    return allo_bfloat16((double)(value | (sticky ? 1 : 0)) * scale);
  }
  operator float() const {
    union { float f; uint32_t i; } u;
    u.i = (uint32_t)bits << 16;
    return u.f;
  }
  static allo_bfloat16 round(float value) {
    union { float f; uint32_t i; } u;
    u.f = value;
    allo_bfloat16 result;
    if (value != value) {
      result.bits = (uint16_t)((u.i >> 16) | 0x40);
    } else {
      result.bits = (uint16_t)((u.i + 0x7fff + ((u.i >> 16) & 1)) >> 16);
    }
    return result;
  }
};
""",
    ),
    **_rounded("int", ""),
    **_rounded("int64_t", "64"),
    "divs": (
        (),
        """
template <typename T, typename U> static inline T allo_divs(T a, T b) {
  if (b == T(0)) return T(-1);
  if (b == T(-1)) return T(U(U(0) - U(a)));
  return T(a / b);
}
""",
    ),
    "divu": (
        (),
        """
template <typename U> static inline U allo_divu(U a, U b) {
  return b == U(0) ? U(~U(0)) : U(a / b);
}
""",
    ),
    "rems": (
        (),
        """
template <typename T> static inline T allo_rems(T a, T b) {
  if (b == T(0)) return a;
  return b == T(-1) ? T(0) : T(a % b);
}
""",
    ),
    "remu": (
        (),
        """
template <typename U> static inline U allo_remu(U a, U b) {
  return b == U(0) ? a : U(a % b);
}
""",
    ),
    "fdivs": (
        ("divs",),
        """
template <typename T, typename U> static inline T allo_fdivs(T a, T b) {
  T q = allo_divs<T, U>(a, b);
  if (b == T(0) || b == T(-1)) return q;
  return (a % b != 0 && (a < T(0)) != (b < T(0))) ? T(q - 1) : q;
}
""",
    ),
    "cdivs": (
        ("divs",),
        """
template <typename T, typename U> static inline T allo_cdivs(T a, T b) {
  T q = allo_divs<T, U>(a, b);
  if (b == T(0) || b == T(-1)) return q;
  return (a % b != 0 && (a < T(0)) == (b < T(0))) ? T(q + 1) : q;
}
""",
    ),
    "cdivu": (
        ("divu",),
        """
template <typename U> static inline U allo_cdivu(U a, U b) {
  U q = allo_divu<U>(a, b);
  return (b != U(0) && a % b != 0) ? U(q + 1) : q;
}
""",
    ),
    "shl": (
        (),
        """
template <typename U, int N> static inline U allo_shl(U a, U b) {
  return b >= U(N) && U(N) != U(0) ? U(0) : U(a << int(b));
}
""",
    ),
    "shru": (
        (),
        """
template <typename U, int N> static inline U allo_shru(U a, U b) {
  return b >= U(N) && U(N) != U(0) ? U(0) : U(a >> int(b));
}
""",
    ),
    "shrs": (
        (),
        """
template <typename T, typename U, int N> static inline T allo_shrs(T a, U b) {
  return b >= U(N) && U(N) != U(0) ? T(a >> (N - 1)) : T(a >> int(b));
}
""",
    ),
    "minimum": (
        (),
        """
template <typename F> static inline F allo_minimum(F a, F b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return signbit((float)a) ? a : b;
  return a < b ? a : b;
}
""",
    ),
    "maximum": (
        (),
        """
template <typename F> static inline F allo_maximum(F a, F b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return signbit((float)a) ? b : a;
  return a > b ? a : b;
}
""",
    ),
    "tofloat": (
        (),
        """
template <typename F, int N> static inline F allo_to_float(ap_uint<N> a, bool negative) {
  int shift = 0;
  bool sticky = false;
  while ((a >> 62) != 0) {
    sticky |= a[0];
    a >>= 1;
    shift++;
  }
  double scale = 1;
  for (int k = 0; k < shift; k++) scale *= 2;
  F value = F(F((long long)(a.to_int64() | (sticky ? 1 : 0))) * F(scale));
  return negative ? F(-value) : value;
}
""",
    ),
    "toint": (
        (),
        """
template <typename T, int N> static inline T allo_to_signed(double a) {
  const double limit = (double)(1ULL << (N - 1));
  if (a != a) return T(0);
  if (a <= -limit) return T((int64_t)(~0ULL << (N - 1)));
  if (a >= limit) return T((int64_t)((1ULL << (N - 1)) - 1));
  return T((int64_t)a);
}
template <typename T, int N> static inline T allo_to_unsigned(double a) {
  const double limit = 2.0 * (double)(1ULL << (N - 1));
  if (!(a > 0)) return T(0);
  if (a >= limit) return T(~0ULL);
  return T((uint64_t)a);
}
""",
    ),
    "towide": (
        (),
        """
template <int N> static inline ap_uint<N> allo_magnitude(double a) {
  union { double f; uint64_t i; } u;
  u.f = a;
  int exponent = (int)((u.i >> 52) & 0x7ff) - 1075;
  ap_uint<N> mantissa = (u.i & ((1ULL << 52) - 1)) | (1ULL << 52);
  if (exponent >= N || exponent <= -53) return 0;
  return exponent >= 0 ? ap_uint<N>(mantissa << exponent) : ap_uint<N>(mantissa >> -exponent);
}
template <int N> static inline ap_int<N> allo_to_wide_signed(double a) {
  double limit = 1;
  for (int k = 0; k < N - 1; k++) limit *= 2;
  ap_int<N> lowest = 1;
  lowest <<= N - 1;
  if (a != a) return 0;
  if (a <= -limit) return lowest;
  if (a >= limit) return ap_int<N>(~lowest);
  ap_int<N> value = allo_magnitude<N>(a);
  return a < 0 ? ap_int<N>(-value) : value;
}
template <int N> static inline ap_uint<N> allo_to_wide_unsigned(double a) {
  double limit = 1;
  for (int k = 0; k < N; k++) limit *= 2;
  if (!(a > 0)) return 0;
  if (a >= limit) return ap_uint<N>(-1);
  return allo_magnitude<N>(a);
}
""",
    ),
    "count": (
        (),
        """
template <typename U, int N> static inline U allo_ctpop(U a) {
  int count = 0;
  for (int k = 0; k < N; k++) count += int((a >> k) & U(1));
  return U(count);
}
template <typename U, int N> static inline U allo_ctlz(U a) {
  int count = 0;
  for (int k = N - 1; k >= 0 && ((a >> k) & U(1)) == U(0); k--) count++;
  return U(count);
}
template <typename U, int N> static inline U allo_cttz(U a) {
  int count = 0;
  for (int k = 0; k < N && ((a >> k) & U(1)) == U(0); k++) count++;
  return U(count);
}
""",
    ),
    "power": (
        (),
        """
template <typename T, typename U> static inline T allo_ipow(T a, T b) {
  if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? ((b & T(1)) != T(0) ? T(-1) : T(1)) : T(0);
  U base = U(a), result = U(1);
  for (T n = b; n > T(0); n = T(n >> 1)) {
    if ((n & T(1)) != T(0)) result = U(result * base);
    base = U(base * base);
  }
  return T(result);
}
template <typename F, typename T> static inline F allo_fpow(F a, T b) {
  F base = a, result = (F)1.0;
  bool inverse = b < T(0);
  for (long long n = inverse ? -(long long)b : (long long)b; n > 0; n >>= 1) {
    if (n & 1) result = result * base;
    base = base * base;
  }
  return inverse ? (F)1.0 / result : result;
}
""",
    ),
}


# Classes that do not cast to plain integers above 64 bits need a function for it.
_INT_CAST = re.compile(r"\bint\((b|\(a >> k\) & U\(1\))\)")
_WIDE_TO_INT = """
static inline int allo_int(long long a) { return (int)a; }
template <int W, bool S> static inline int allo_int(const WIDE &a) { return a.to_int(); }
"""


class Helpers:
    """The helper functions one module uses."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def use(self, name: str, function: str | None = None) -> str:
        """Ask for a helper to be printed; its C++ name is ``allo_<function or name>``."""
        for needed in _TEXT[name][0]:
            self.use(needed)
        self._used.add(name)
        return f"allo_{function or name}"

    def text(self, vendor: Vendor) -> str:
        """The helpers asked for, in an order in which they compile, in a vendor's spelling."""
        text = "\n".join(text.strip("\n") for text in self._ordered()) + "\n"
        for name, template in (("ap_uint", vendor.unsigned_int), ("ap_int", vendor.signed_int)):
            text = text.replace(f"{name}<N>", template.format(bits="N"))
        if not vendor.word_literals:
            return text
        wide = vendor.signed_int.format(bits="W").replace("true", "S")
        return _WIDE_TO_INT.replace("WIDE", wide) + _INT_CAST.sub(r"allo_int(\1)", text)

    def __bool__(self) -> bool:
        return bool(self._used)

    def _ordered(self) -> Iterable[str]:
        return (text for name, (_, text) in _TEXT.items() if name in self._used)
