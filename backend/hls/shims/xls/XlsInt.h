// Integers of any width as XLS[cc] spells them, over ac_int.
#ifndef ALLO_SHIM_XLS_INT_H
#define ALLO_SHIM_XLS_INT_H

#include <ac_int.h>
#include <stdint.h>

template <int W, bool S = true> using XlsInt = ac_int<W, S>;

#endif
