// Catapult's FIFO class over the FIFOs of csim, whose processes run side by side.
#ifndef ALLO_SHIM_AC_CHANNEL_H
#define ALLO_SHIM_AC_CHANNEL_H

#include "hls_stream.h"

template <typename T> using ac_channel = hls::stream<T>;

#endif
