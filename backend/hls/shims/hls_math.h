// Math functions of the open csim, for float, double and half (half goes through float).
//
// With ALLO_EXACT_MATH the single-precision functions that Allo expands itself are linked from that
// expansion (exact_math.py), so their bits are those of the CPU build and of the Verilog. All
// others, and all without it, are the C++ library's.
#ifndef ALLO_SHIM_HLS_MATH_H
#define ALLO_SHIM_HLS_MATH_H

#include <cmath>

#include "hls_half.h"

#ifdef ALLO_EXACT_MATH
#define ALLO_SINGLE(name)                                 \
  void allo_math_##name(float x, float *r);               \
  static inline float allo_single_##name(float x) {       \
    float r;                                              \
    allo_math_##name(x, &r);                              \
    return r;                                             \
  }
void allo_math_powf(float x, float y, float *r);
static inline float allo_single_pow(float x, float y) {
  float r;
  allo_math_powf(x, y, &r);
  return r;
}
ALLO_SINGLE(rsqrt)
#else
#define ALLO_SINGLE(name) \
  static inline float allo_single_##name(float x) { return std::name(x); }
static inline float allo_single_pow(float x, float y) { return std::pow(x, y); }
static inline float allo_single_rsqrt(float x) { return (float)(1.0 / std::sqrt((double)x)); }
#endif

ALLO_SINGLE(cos)
ALLO_SINGLE(erf)
ALLO_SINGLE(exp)
ALLO_SINGLE(exp2)
ALLO_SINGLE(log)
ALLO_SINGLE(log10)
ALLO_SINGLE(log2)
ALLO_SINGLE(sin)
ALLO_SINGLE(tan)
ALLO_SINGLE(tanh)
#undef ALLO_SINGLE

namespace hls {

#define ALLO_EXPANDED(name)                                                   \
  static inline float name(float x) { return allo_single_##name(x); }         \
  static inline half name(half x) { return (half)allo_single_##name((float)x); }
#define ALLO_UNARY(name)                                       \
  static inline float name(float x) { return std::name(x); }   \
  static inline double name(double x) { return std::name(x); } \
  static inline half name(half x) { return (half)std::name((float)x); }
#define ALLO_DOUBLE(name) \
  static inline double name(double x) { return std::name(x); }
#define ALLO_BINARY(name)                                                \
  static inline float name(float x, float y) { return std::name(x, y); } \
  static inline double name(double x, double y) { return std::name(x, y); } \
  static inline half name(half x, half y) { return (half)std::name((float)x, (float)y); }

ALLO_EXPANDED(cos) ALLO_DOUBLE(cos)
ALLO_EXPANDED(erf) ALLO_DOUBLE(erf)
ALLO_EXPANDED(exp) ALLO_DOUBLE(exp)
ALLO_EXPANDED(exp2) ALLO_DOUBLE(exp2)
ALLO_EXPANDED(log) ALLO_DOUBLE(log)
ALLO_EXPANDED(log10) ALLO_DOUBLE(log10)
ALLO_EXPANDED(log2) ALLO_DOUBLE(log2)
ALLO_EXPANDED(sin) ALLO_DOUBLE(sin)
ALLO_EXPANDED(tan) ALLO_DOUBLE(tan)
ALLO_EXPANDED(tanh) ALLO_DOUBLE(tanh)
ALLO_EXPANDED(rsqrt)
ALLO_UNARY(acos)
ALLO_UNARY(acosh)
ALLO_UNARY(asin)
ALLO_UNARY(asinh)
ALLO_UNARY(atan)
ALLO_UNARY(atanh)
ALLO_UNARY(cbrt)
ALLO_UNARY(ceil)
ALLO_UNARY(cosh)
ALLO_UNARY(erfc)
ALLO_UNARY(expm1)
ALLO_UNARY(fabs)
ALLO_UNARY(floor)
ALLO_UNARY(log1p)
ALLO_UNARY(rint)
ALLO_UNARY(round)
ALLO_UNARY(sinh)
ALLO_UNARY(sqrt)
ALLO_UNARY(trunc)
ALLO_BINARY(atan2)
ALLO_BINARY(copysign)
ALLO_BINARY(fmod)

#undef ALLO_EXPANDED
#undef ALLO_UNARY
#undef ALLO_DOUBLE
#undef ALLO_BINARY

static inline float pow(float x, float y) { return allo_single_pow(x, y); }
static inline double pow(double x, double y) { return std::pow(x, y); }
static inline half pow(half x, half y) { return (half)allo_single_pow((float)x, (float)y); }
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline float fma(float x, float y, float z) { return std::fma(x, y, z); }
static inline double fma(double x, double y, double z) { return std::fma(x, y, z); }
static inline half fma(half x, half y, half z) {
  return (half)((double)x * (double)y + (double)z);
}

}  // namespace hls

#endif
