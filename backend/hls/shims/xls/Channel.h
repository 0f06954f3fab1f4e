// Channels of an XLS[cc] block, for running it as plain C++.
#ifndef ALLO_SHIM_XLS_CHANNEL_H
#define ALLO_SHIM_XLS_CHANNEL_H

#include <deque>

enum __xls_channel_dir { __xls_channel_dir_In, __xls_channel_dir_Out };

template <typename T, __xls_channel_dir DIR = __xls_channel_dir_In> class __xls_channel {
  std::deque<T> items_;

 public:
  T read() {
    T value = items_.front();
    items_.pop_front();
    return value;
  }
  void write(const T &value) { items_.push_back(value); }
};

#endif
