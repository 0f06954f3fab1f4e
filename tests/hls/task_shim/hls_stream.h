// As much of hls::stream as generated code uses beside hls::task: FIFOs that threads may share, of unlimited depth.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>

namespace hls {

template <typename T> class stream {
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> words_;

 public:
  void write(const T &word) {
    std::lock_guard<std::mutex> lock(mutex_);
    words_.push_back(word);
    filled_.notify_all();
  }
  T read() {
    std::unique_lock<std::mutex> lock(mutex_);
    filled_.wait(lock, [this] { return !words_.empty(); });
    T word = words_.front();
    words_.pop_front();
    return word;
  }
};

}  // namespace hls
