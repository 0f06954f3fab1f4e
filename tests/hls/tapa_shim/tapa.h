// As much of TAPA's programming interface as generated code uses, for compiling it with g++:
// FIFOs of unlimited depth, a thread for each task.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace tapa {

template <typename T> class mmap {
  T *ptr_;

 public:
  explicit mmap(T *ptr) : ptr_(ptr) {}
  operator T *() const { return ptr_; }
};

template <typename T, int N> struct vec_t {
  T lanes[N];
  T &operator[](int k) { return lanes[k]; }
};

struct fifo {
  std::mutex mutex;
  std::condition_variable filled;
};

template <typename T> class istream : protected fifo {
 protected:
  std::deque<T> items_;

 public:
  T read() {
    std::unique_lock<std::mutex> lock(mutex);
    filled.wait(lock, [this] { return !items_.empty(); });
    T value = items_.front();
    items_.pop_front();
    return value;
  }
};

template <typename T> class ostream : public istream<T> {
 public:
  void write(const T &value) {
    std::lock_guard<std::mutex> lock(this->mutex);
    this->items_.push_back(value);
    this->filled.notify_one();
  }
};

template <typename T, int DEPTH> class stream : public ostream<T> {
 public:
  explicit stream(const char *) {}
};

template <typename A> auto hold(A &&argument) {
  if constexpr (std::is_copy_constructible<std::decay_t<A>>::value) {
    return std::decay_t<A>(argument);
  } else {
    return std::ref(argument);
  }
}

class task {
  std::vector<std::thread> threads_;

 public:
  template <typename F, typename... A> task &invoke(F kernel, A &&...arguments) {
    threads_.emplace_back(kernel, hold(arguments)...);
    return *this;
  }
  ~task() {
    for (auto &thread : threads_) thread.join();
  }
};

template <typename T> mmap<T> read_only_mmap(std::vector<T> &v) { return mmap<T>(v.data()); }
template <typename T> mmap<T> write_only_mmap(std::vector<T> &v) { return mmap<T>(v.data()); }
template <typename T> mmap<T> read_write_mmap(std::vector<T> &v) { return mmap<T>(v.data()); }

template <typename F, typename... A> void invoke(F &&top, const std::string &, A &&...arguments) {
  top(arguments...);
}

}  // namespace tapa
