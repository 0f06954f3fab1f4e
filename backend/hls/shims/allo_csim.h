// Between the caller's NumPy arrays and the C++ types of a top function.
//
// A value of N bits travels in a container: the next power of two of bytes, little end first.
#ifndef ALLO_SHIM_CSIM_H
#define ALLO_SHIM_CSIM_H

#include <stdint.h>
#include <string.h>

#include <memory>
#include <vector>

#include "allo_dataflow.h"

namespace allo_csim {

// Arrays whose C++ type is not laid out as the container: copied in, copied out.
template <typename T, typename C> struct Narrow {
  static void read(T *to, const char *from) {
    C value;
    memcpy(&value, from, sizeof(C));
    *to = (T)value;
  }
  static void write(char *to, const T &from) {
    C value = (C)from;
    memcpy(to, &value, sizeof(C));
  }
  enum { size = sizeof(C) };
};

template <typename T, int BITS, int BYTES> struct Wide {
  static void read(T *to, const char *from) {
    T value = 0;
    for (int k = BITS - 1; k >= 0; k--) {
      value <<= 1;
      value[0] = (from[k / 8] >> (k % 8)) & 1;
    }
    *to = value;
  }
  static void write(char *to, const T &from) {
    memset(to, from < 0 ? 0xff : 0, BYTES);
    for (int k = 0; k < BITS; k++) {
      char bit = (char)(1 << (k % 8));
      to[k / 8] = (char)(from[k] ? to[k / 8] | bit : to[k / 8] & ~bit);
    }
  }
  enum { size = BYTES };
};

template <typename T, typename How> class Converted {
  std::unique_ptr<T[]> values_;
  size_t count_;
  char *home_;

 public:
  Converted(void *home, size_t count)
      : values_(new T[count]), count_(count), home_((char *)home) {
    for (size_t k = 0; k < count; k++) How::read(&values_[k], home_ + k * How::size);
  }
  T *data() { return values_.get(); }
  void write_back() {
    for (size_t k = 0; k < count_; k++) How::write(home_ + k * How::size, values_[k]);
  }
};

// An array without bits between its elements: bit k of it is bit k of the bytes.
class Packed {
  std::vector<char> bytes_;
  char *home_;
  size_t count_, cell_, bits_;
  bool signed_;

 public:
  Packed(void *home, size_t count, size_t cell, size_t bits, bool has_sign)
      : bytes_((count * bits + 7) / 8), home_((char *)home), count_(count), cell_(cell), bits_(bits),
        signed_(has_sign) {
    for (size_t k = 0; k < count_; k++)
      for (size_t b = 0, to = k * bits_; b < bits_; b++, to++)
        bytes_[to / 8] |= (home_[k * cell_ + b / 8] >> b % 8 & 1) << to % 8;
  }
  char *data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  void write_back() {
    for (size_t k = 0; k < count_; k++) {
      size_t last = k * bits_ + bits_ - 1;
      char *cell = home_ + k * cell_;
      memset(cell, signed_ && bytes_[last / 8] >> last % 8 & 1 ? 0xff : 0, cell_);
      for (size_t b = 0, from = k * bits_; b < bits_; b++, from++) {
        char bit = (char)(1 << b % 8);
        cell[b / 8] = (char)(bytes_[from / 8] >> from % 8 & 1 ? cell[b / 8] | bit : cell[b / 8] & ~bit);
      }
    }
  }
};

// An array whose lines of 64 bytes lie on several channels in turn: line k is line k / N of part k % N.
template <int N> class Dealt {
  std::vector<char> parts_[N];
  char *home_;
  size_t bytes_;

  template <typename Move> void each(Move move) {
    for (size_t at = 0; at < bytes_; at += 64)
      move(parts_[at / 64 % N].data() + at / 64 / N * 64, home_ + at, bytes_ - at < 64 ? bytes_ - at : 64);
  }

 public:
  Dealt(void *home, size_t bytes) : home_((char *)home), bytes_(bytes) {
    for (auto &part : parts_) part.resize((bytes + 64 * N - 1) / (64 * N) * 64);
    each([](char *part, char *whole, size_t count) { memcpy(part, whole, count); });
  }
  char *part(int channel) { return parts_[channel].data(); }
  void join() {
    each([](char *part, char *whole, size_t count) { memcpy(whole, part, count); });
  }
};

// A stream argument of a top function: a word W is elements T side by side, as many as make an array's row.
// What goes in is written before the run; what has come out is in the array when the port goes away.
template <typename S, typename W, typename T, typename How> class Port {
  S stream_;
  char *home_;
  long long *count_;
  size_t rows_;
  bool fills_;
  enum { lanes = sizeof(W) / sizeof(T) };

 public:
  Port(int id, size_t rows, bool fills, void *home, void *count)
      : stream_(id, 0), home_((char *)home), count_((long long *)count), rows_(rows), fills_(fills) {
    size_t words = *count_ * rows_;
    if (fills_) stream_.limit(words);
    for (size_t k = 0; k < (fills_ ? 0 : words); k++) {
      W word;
      for (int lane = 0; lane < lanes; lane++)
        How::read((T *)&word + lane, home_ + (k * lanes + lane) * How::size);
      stream_.write(word);
    }
    Pool::here().ports.push_back({&stream_, fills_});
  }
  ~Port() {
    Pool::here().ports.pop_back();
    size_t words = stream_.size();
    for (size_t k = 0; k < (fills_ ? words : 0); k++) {
      W word = stream_.read();
      for (int lane = 0; lane < lanes; lane++)
        How::write(home_ + (k * lanes + lane) * How::size, ((T *)&word)[lane]);
    }
    *count_ = fills_ ? words / rows_ : *count_ - (words + rows_ - 1) / rows_;
  }
  S &stream() { return stream_; }
};

// Loops that may take long look here: whether the caller wants the run to end.
extern volatile int wanted_end;

struct Ended {};

static inline void poll() {
  if (__builtin_expect(wanted_end, 0)) throw Ended{};
}

struct Assertion {
  int site;
};

// A subscript out of range: which check, and the subscripts and extents it tells.
struct OutOfBounds {
  int check;
  std::vector<long long> words;
};

// Runs `body` on a thread whose stack, and those of its processes, hold the kernel's local arrays; the Status.
int run(void (*body)(void **), void **arguments, size_t stack_bytes, size_t fiber_bytes);

}  // namespace allo_csim

#endif
