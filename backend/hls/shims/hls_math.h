// Math functions of the open csim: the C++ library's, for float, double and half.
#ifndef ALLO_SHIM_HLS_MATH_H
#define ALLO_SHIM_HLS_MATH_H

#include <cmath>

#include "hls_half.h"

namespace hls {

#define ALLO_UNARY(name)                                            \
  static inline float name(float x) { return std::name(x); }        \
  static inline double name(double x) { return std::name(x); }      \
  static inline half name(half x) { return (half)std::name((float)x); }
#define ALLO_BINARY(name)                                                                  \
  static inline float name(float x, float y) { return std::name(x, y); }                   \
  static inline double name(double x, double y) { return std::name(x, y); }                \
  static inline half name(half x, half y) { return (half)std::name((float)x, (float)y); }

ALLO_UNARY(acos)
ALLO_UNARY(acosh)
ALLO_UNARY(asin)
ALLO_UNARY(asinh)
ALLO_UNARY(atan)
ALLO_UNARY(atanh)
ALLO_UNARY(cbrt)
ALLO_UNARY(ceil)
ALLO_UNARY(cos)
ALLO_UNARY(cosh)
ALLO_UNARY(erf)
ALLO_UNARY(erfc)
ALLO_UNARY(exp)
ALLO_UNARY(exp2)
ALLO_UNARY(expm1)
ALLO_UNARY(fabs)
ALLO_UNARY(floor)
ALLO_UNARY(log)
ALLO_UNARY(log10)
ALLO_UNARY(log1p)
ALLO_UNARY(log2)
ALLO_UNARY(rint)
ALLO_UNARY(round)
ALLO_UNARY(sin)
ALLO_UNARY(sinh)
ALLO_UNARY(sqrt)
ALLO_UNARY(tan)
ALLO_UNARY(tanh)
ALLO_UNARY(trunc)
ALLO_BINARY(atan2)
ALLO_BINARY(copysign)
ALLO_BINARY(fmod)
ALLO_BINARY(pow)

#undef ALLO_UNARY
#undef ALLO_BINARY

static inline float rsqrt(float x) { return (float)(1.0 / std::sqrt((double)x)); }
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline half rsqrt(half x) { return (half)(1.0 / std::sqrt((double)x)); }
static inline float fma(float x, float y, float z) { return std::fma(x, y, z); }
static inline double fma(double x, double y, double z) { return std::fma(x, y, z); }
static inline half fma(half x, half y, half z) {
  return (half)((double)x * (double)y + (double)z);
}

}  // namespace hls

#endif
