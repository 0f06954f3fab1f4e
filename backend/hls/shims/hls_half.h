// The 16-bit float of the open csim: the compiler's own type.
#ifndef ALLO_SHIM_HLS_HALF_H
#define ALLO_SHIM_HLS_HALF_H

typedef _Float16 half;

#endif
