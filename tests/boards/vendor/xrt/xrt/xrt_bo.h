// A stub of XRT's native API by its documents: xrt::bo. Host and device have a copy each.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "xrt_device.h"

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE = 0, XCL_BO_SYNC_BO_FROM_DEVICE };

namespace xrt {
using memory_group = std::uint32_t;
class bo {
 public:
  struct Copies {
    std::vector<char> host, device;
    memory_group group;
  };
  bo(const device &, std::size_t size, memory_group group)
      : copies(std::make_shared<Copies>(Copies{std::vector<char>(size), std::vector<char>(size, 0x5a), group})) {}
  void write(const void *data) { std::memcpy(copies->host.data(), data, copies->host.size()); }
  void read(void *data) { std::memcpy(data, copies->host.data(), copies->host.size()); }
  void sync(xclBOSyncDirection way) {
    if (way == XCL_BO_SYNC_BO_TO_DEVICE)
      copies->device = copies->host;
    else
      copies->host = copies->device;
  }
  std::shared_ptr<Copies> copies;
};
}  // namespace xrt
