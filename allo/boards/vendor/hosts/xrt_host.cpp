// Runs the kernel of design.hpp once by XRT: host <xclbin>, written by Allo.
// NAME.bin holds the bytes of argument NAME, as driver.py has them; what the kernel writes goes back there.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

#include "design.hpp"

static std::vector<char> read_file(const std::string &name, std::size_t bytes) {
  std::vector<char> data(bytes);
  std::ifstream file(name, std::ios::binary);
  if (!file.read(data.data(), static_cast<std::streamsize>(bytes)))
    throw std::runtime_error(name + " does not hold " + std::to_string(bytes) + " bytes");
  return data;
}

// Where the bytes of the whole array that lie in a piece are, line by line.
template <typename Move> static void each_line(const Argument &argument, Move move) {
  const std::size_t all = argument.line * argument.pieces;
  std::size_t at = argument.piece * argument.line;
  for (std::size_t in = 0; at < argument.bytes; at += all, in += argument.line)
    move(in, at, std::min(argument.line, argument.bytes - at));
}

static std::vector<char> piece_of(const Argument &argument, const std::vector<char> &whole) {
  if (argument.pieces == 1) return whole;
  std::vector<char> piece(argument.piece_bytes);
  each_line(argument, [&](std::size_t in, std::size_t at, std::size_t count) {
    std::memcpy(piece.data() + in, whole.data() + at, count);
  });
  return piece;
}

static void run(const char *image) {
  xrt::device device(0);
  xrt::uuid loaded = device.load_xclbin(std::string(image));
  xrt::kernel kernel(device, loaded, KERNEL);
  xrt::run run(kernel);
  std::vector<xrt::bo> buffers;
  int index = 0;
  for (const Argument &argument : ARGUMENTS) {
    std::vector<char> data = read_file(std::string(argument.name) + ".bin", argument.bytes);
    if (argument.array) {
      data = piece_of(argument, data);
      xrt::bo buffer(device, data.size(), kernel.group_id(index));
      buffer.write(data.data());
      buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      run.set_arg(index, buffer);
      buffers.push_back(buffer);
    } else {
      std::uint64_t value = 0;
      std::memcpy(&value, data.data(), argument.bytes);
      if (argument.bytes == 4)
        run.set_arg(index, static_cast<std::uint32_t>(value));
      else
        run.set_arg(index, value);
    }
    ++index;
  }
  run.start();
  if (run.wait() != ERT_CMD_STATE_COMPLETED) throw std::runtime_error("the run did not end well");
  std::size_t taken = 0;
  for (const Argument &argument : ARGUMENTS) {
    if (!argument.array) continue;
    xrt::bo &buffer = buffers[taken++];
    if (!argument.stored) continue;
    std::vector<char> data(argument.pieces == 1 ? argument.bytes : argument.piece_bytes);
    buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    buffer.read(data.data());
    if (argument.pieces > 1) {
      std::vector<char> whole = read_file(std::string(argument.name) + ".bin", argument.bytes);
      each_line(argument, [&](std::size_t in, std::size_t at, std::size_t count) {
        std::memcpy(whole.data() + at, data.data() + in, count);
      });
      data = whole;
    }
    std::ofstream(std::string(argument.name) + ".bin", std::ios::binary)
        .write(data.data(), static_cast<std::streamsize>(data.size()));
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " <xclbin>\n";
    return 1;
  }
  try {
    run(argv[1]);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
