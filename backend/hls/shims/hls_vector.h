// hls::vector of the open csim: a fixed number of elements that travel together.
#ifndef ALLO_SHIM_HLS_VECTOR_H
#define ALLO_SHIM_HLS_VECTOR_H

#include <cstddef>

namespace hls {

template <typename T, size_t N> class vector {
  T data_[N];

 public:
  vector() : data_() {}
  vector(const T &value) {
    for (size_t k = 0; k < N; k++) data_[k] = value;
  }
  T &operator[](size_t k) { return data_[k]; }
  const T &operator[](size_t k) const { return data_[k]; }
  static constexpr size_t size() { return N; }
  T *begin() { return data_; }
  T *end() { return data_ + N; }
  const T *begin() const { return data_; }
  const T *end() const { return data_ + N; }
};

}  // namespace hls

#endif
