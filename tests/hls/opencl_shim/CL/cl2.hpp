// What a host program of Allo needs of OpenCL, for tests: a buffer has memory of its own on the "device",
// which holds what is migrated, and a task calls the kernel through shim_call.
#pragma once
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

typedef int cl_int;
typedef unsigned long cl_ulong;
#define CL_SUCCESS 0
#define CL_MEM_READ_WRITE 1
#define CL_MEM_WRITE_ONLY 2
#define CL_MEM_READ_ONLY 4
#define CL_MEM_USE_HOST_PTR 8
#define CL_QUEUE_PROFILING_ENABLE 2
#define CL_MIGRATE_MEM_OBJECT_HOST 1
#define CL_DEVICE_TYPE_ACCELERATOR 8
#define CL_PLATFORM_NAME 1
#define CL_PROFILING_COMMAND_START 2
#define CL_PROFILING_COMMAND_END 3

void shim_call(void **arguments);

namespace cl {

struct Device {};

struct Platform {
  static cl_int get(std::vector<Platform> *found) { return found->resize(1), CL_SUCCESS; }
  template <int what> std::string getInfo() const { return "Xilinx"; }
  cl_int getDevices(int, std::vector<Device> *found) const { return found->resize(1), CL_SUCCESS; }
};

struct Context {
  Context(const Device &, void *, void *, void *, cl_int *error) { *error = CL_SUCCESS; }
};

struct Program {
  using Binaries = std::vector<std::pair<const void *, size_t>>;
  Program(const Context &, const std::vector<Device> &, const Binaries &, void *, cl_int *error) {
    *error = CL_SUCCESS;
  }
};

struct Buffer {
  Buffer(const Context &, int flags, size_t size, void *host, cl_int *error)
      : host(static_cast<char *>(host)), device(std::make_shared<std::vector<char>>(size, '\xa5')) {
    bool aligned = reinterpret_cast<size_t>(host) % 4096 == 0;
    *error = flags & CL_MEM_USE_HOST_PTR && aligned ? CL_SUCCESS : -1;
  }
  char *host;
  std::shared_ptr<std::vector<char>> device;
};

struct Kernel {
  Kernel(const Program &, const char *, cl_int *error) { *error = CL_SUCCESS; }
  cl_int setArg(unsigned position, const Buffer &buffer) {
    arguments[position] = buffer.device->data();
    return CL_SUCCESS;
  }
  cl_int setArg(unsigned position, size_t, void *value) {
    arguments[position] = value;
    return CL_SUCCESS;
  }
  std::map<unsigned, void *> arguments;
};

struct Event {
  template <int what> cl_ulong getProfilingInfo() const { return what; }
};

struct CommandQueue {
  CommandQueue(const Context &, const Device &, int, cl_int *error) { *error = CL_SUCCESS; }
  cl_int enqueueMigrateMemObjects(const std::vector<Buffer> &buffers, int flags) {
    for (const Buffer &b : buffers) {
      if (flags & CL_MIGRATE_MEM_OBJECT_HOST) std::memcpy(b.host, b.device->data(), b.device->size());
      else std::memcpy(b.device->data(), b.host, b.device->size());
    }
    return CL_SUCCESS;
  }
  cl_int enqueueTask(const Kernel &kernel, void *, Event *) {
    std::vector<void *> arguments;
    for (const auto &pair : kernel.arguments) {
      if (pair.first != arguments.size()) return -1;
      arguments.push_back(pair.second);
    }
    shim_call(arguments.data());
    return CL_SUCCESS;
  }
  cl_int finish() { return CL_SUCCESS; }
};

}  // namespace cl
