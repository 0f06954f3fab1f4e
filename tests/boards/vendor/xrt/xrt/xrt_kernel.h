// A stub of XRT's native API by its documents: xrt::kernel, xrt::run. A run is asked of the test by two pipes.
#pragma once
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include "xrt_bo.h"

enum ert_cmd_state { ERT_CMD_STATE_COMPLETED = 4, ERT_CMD_STATE_ERROR = 5 };

namespace xrt {
class kernel {
 public:
  kernel(const device &, const uuid &, const std::string &name) { std::ofstream("kernel") << name; }
  int group_id(int index) const { return 100 + index; }
};
class run {
 public:
  explicit run(const kernel &) {}
  void set_arg(int index, bo &buffer) {
    if (buffer.copies->group != static_cast<memory_group>(100 + index)) throw std::runtime_error("wrong bank");
    buffers_.emplace(index, buffer);
  }
  template <typename T> void set_arg(int index, const T &value) {
    std::ofstream file(std::to_string(index) + ".arg", std::ios::binary);
    file.put('v').write(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void start() {
    for (auto &each : buffers_) {
      std::ofstream file(std::to_string(each.first) + ".arg", std::ios::binary);
      auto &held = each.second.copies->device;
      file.put('b').write(held.data(), static_cast<std::streamsize>(held.size()));
    }
    std::ofstream("go") << "run\n";
    std::ifstream answer("done");
    std::string said;
    if (!std::getline(answer, said)) throw std::runtime_error("the device has gone");
    for (auto &each : buffers_) {
      std::ifstream file(std::to_string(each.first) + ".arg", std::ios::binary);
      file.get();
      auto &held = each.second.copies->device;
      file.read(held.data(), static_cast<std::streamsize>(held.size()));
    }
  }
  ert_cmd_state wait() { return ERT_CMD_STATE_COMPLETED; }

 private:
  std::map<int, bo> buffers_;
};
}  // namespace xrt
