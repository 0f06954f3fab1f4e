// What host programs use of XRT's xrt_bo.h, declared as there.
#pragma once
#include <cstddef>
#include "xrt/xrt_device.h"
enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE = 0, XCL_BO_SYNC_BO_FROM_DEVICE };
using memory_group = unsigned;
namespace xrt {
class bo {
 public:
  bo(const xrt::device&, std::size_t, memory_group);
  void write(const void*);
  void read(void*);
  void sync(xclBOSyncDirection);
};
}  // namespace xrt
