// hls::stream of the open csim.
//
// Inside a dataflow region a stream holds as many elements as its declared depth, and a process that
// finds it full or empty lets the others run (allo_dataflow.h). Outside regions, where code runs in
// order, a stream holds any number.
#ifndef ALLO_SHIM_HLS_STREAM_H
#define ALLO_SHIM_HLS_STREAM_H

#include <stddef.h>

#include <deque>
#include <string>

#include "allo_dataflow.h"

namespace hls {

template <typename T, int DEPTH = 0> class stream : public allo_csim::Channel {
  std::deque<T> data_;

  stream(const stream &);
  stream &operator=(const stream &);

 public:
  stream() : Channel(-1, DEPTH) {}
  explicit stream(const std::string &) : Channel(-1, DEPTH) {}
  stream(int id, size_t depth) : Channel(id, depth) {}

  size_t size() const { return data_.size(); }

  void write(const T &value) {
    put();
    data_.push_back(value);
  }
  T read() {
    get();
    T value = data_.front();
    data_.pop_front();
    return value;
  }
  void read(T &value) { value = read(); }
  bool write_nb(const T &value) {
    if (!may_put()) return false;
    write(value);
    return true;
  }
  bool read_nb(T &value) {
    if (!may_get()) return false;
    value = read();
    return true;
  }
  void operator<<(const T &value) { write(value); }
  void operator>>(T &value) { value = read(); }
};

}  // namespace hls

#endif
