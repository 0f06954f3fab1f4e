// Fibers: functions that run on stacks of their own and switch among each other on one thread.
#pragma once

#include <cstddef>
#include <vector>

#if !defined(__x86_64__) && !defined(ALLO_UCONTEXT)
#define ALLO_UCONTEXT 1
#endif

#ifdef ALLO_UCONTEXT
#include <ucontext.h>
#endif

namespace allo {

// A place execution can be left at and returned to.
struct Context {
#ifdef ALLO_UCONTEXT
  ucontext_t state;
#else
  void *stack_pointer = nullptr;
#endif
};

using FiberEntry = void (*)(void *);

// A stack with a guard page below it: an overflow is a segmentation fault, not corruption.
class Stack {
public:
  Stack() = default;
  explicit Stack(std::size_t bytes);
  Stack(Stack &&other) noexcept;
  Stack &operator=(Stack &&other) noexcept;
  Stack(const Stack &) = delete;
  Stack &operator=(const Stack &) = delete;
  ~Stack();

  bool valid() const { return base_ != nullptr; }
  char *low() const { return static_cast<char *>(base_) + guard_; }
  std::size_t size() const { return bytes_ - guard_; }

private:
  void *base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t guard_ = 0;
};

// Stacks of one size, kept for the next run.
class StackPool {
public:
  explicit StackPool(std::size_t bytes) : bytes_(bytes) {}
  Stack take();
  void give(Stack stack);

private:
  std::size_t bytes_;
  std::vector<Stack> free_;
};

// Makes `context` call entry(argument) on `stack`, below `reserved` bytes at its top, when first switched to.
// The entry never returns.
void make_context(Context &context, const Stack &stack, std::size_t reserved, FiberEntry entry,
                  void *argument);

// Leaves the running code in `from` and continues `to`.
void switch_context(Context &from, Context &to);

} // namespace allo
