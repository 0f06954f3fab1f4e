// hls::task as its documentation says: the function runs again and again beside the others, and is never joined.
#pragma once
#include <thread>

#define hls_thread_local static

namespace hls {

class task {
 public:
  template <typename F, typename... Streams> task(F &body, Streams &...streams) {
    std::thread([&body, &streams...] {
      for (;;) body(streams...);
    }).detach();
  }
};

}  // namespace hls
