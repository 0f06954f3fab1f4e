// What host programs use of XRT's xrt_kernel.h, declared as there.
#pragma once
#include <string>
#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
namespace xrt {
class kernel {
 public:
  kernel(const xrt::device&, const xrt::uuid&, const std::string&);
  int group_id(int) const;
};
class run {
 public:
  explicit run(const kernel&);
  template <typename T>
  void set_arg(int, T&&);
  void start();
  int wait();
};
}  // namespace xrt
