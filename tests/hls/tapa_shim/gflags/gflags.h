#pragma once
#include <string>
#define DEFINE_string(name, value, text) static std::string FLAGS_##name = value
namespace gflags {
inline void ParseCommandLineFlags(int *, char ***, bool) {}
}  // namespace gflags
