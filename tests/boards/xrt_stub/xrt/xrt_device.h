// What host programs use of XRT's xrt_device.h, declared as there.
#pragma once
#include <string>
namespace xrt {
struct uuid {};
class device {
 public:
  explicit device(unsigned);
  uuid load_xclbin(const std::string&);
};
}  // namespace xrt
