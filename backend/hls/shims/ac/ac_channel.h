// Catapult's FIFO class over the FIFOs of csim, whose processes run side by side.
#ifndef ALLO_SHIM_AC_CHANNEL_H
#define ALLO_SHIM_AC_CHANNEL_H

#include "hls_stream.h"

template <typename T> class ac_channel : public hls::stream<T> {
 public:
  using hls::stream<T>::stream;

  bool nb_write(T &value) { return this->write_nb(value); }
  bool nb_read(T &value) { return this->read_nb(value); }
  unsigned num_free() { return this->full() ? 0 : 1; }
  bool available(unsigned count) { return this->size() >= count; }
};

#endif
