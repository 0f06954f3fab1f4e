#include "fiber.hpp"

#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace allo {

Stack::Stack(std::size_t bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (bytes + page - 1) / page * page + page;
  void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    return;
  base_ = memory;
  // Beyond the kernel's limit of mappings (32,000 stacks) stacks go without a guard.
  if (mprotect(memory, page, PROT_NONE) == 0)
    guard_ = page;
}

Stack::Stack(Stack &&other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), guard_(other.guard_) {}

Stack &Stack::operator=(Stack &&other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(guard_, other.guard_);
  return *this;
}

Stack::~Stack() {
  if (base_)
    munmap(base_, bytes_);
}

Stack StackPool::take() {
  if (free_.empty())
    return Stack(bytes_);
  Stack stack = std::move(free_.back());
  free_.pop_back();
  return stack;
}

void StackPool::give(Stack stack) { free_.push_back(std::move(stack)); }

#ifdef ALLO_UCONTEXT

namespace {
// makecontext passes ints only, so pointers travel in halves.
void start(unsigned entry_high, unsigned entry_low, unsigned argument_high, unsigned argument_low) {
  const auto join = [](unsigned high, unsigned low) {
    return (static_cast<std::uint64_t>(high) << 32) | low;
  };
  auto entry = reinterpret_cast<FiberEntry>(join(entry_high, entry_low));
  entry(reinterpret_cast<void *>(join(argument_high, argument_low)));
  std::abort();
}
} // namespace

void make_context(Context &context, const Stack &stack, std::size_t reserved, FiberEntry entry,
                  void *argument) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack.low();
  context.state.uc_stack.ss_size = stack.size() - reserved;
  context.state.uc_link = nullptr;
  const auto e = reinterpret_cast<std::uint64_t>(entry);
  const auto a = reinterpret_cast<std::uint64_t>(argument);
  makecontext(&context.state, reinterpret_cast<void (*)()>(start), 4,
              static_cast<unsigned>(e >> 32), static_cast<unsigned>(e),
              static_cast<unsigned>(a >> 32), static_cast<unsigned>(a));
}

void switch_context(Context &from, Context &to) { swapcontext(&from.state, &to.state); }

#else

extern "C" void allo_switch_stack(void **save, void *load);
extern "C" void allo_fiber_start();

// The registers a callee keeps are pushed on the stack that is left; the stack pointer is all a context holds.
// A new stack is laid out as if it had been left just before allo_fiber_start, which finds the
// entry in rbx and its argument in r12.
asm(R"(
  .text
  .p2align 4
  .globl allo_switch_stack
  .hidden allo_switch_stack
  .type allo_switch_stack, @function
allo_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size allo_switch_stack, .-allo_switch_stack

  .p2align 4
  .globl allo_fiber_start
  .hidden allo_fiber_start
  .type allo_fiber_start, @function
allo_fiber_start:
  movq %r12, %rdi
  xorl %ebp, %ebp
  callq *%rbx
  ud2
  .size allo_fiber_start, .-allo_fiber_start
)");

void make_context(Context &context, const Stack &stack, std::size_t reserved, FiberEntry entry,
                  void *argument) {
  auto top = reinterpret_cast<std::uintptr_t>(stack.low() + stack.size() - reserved);
  top &= ~static_cast<std::uintptr_t>(15);
  auto *slots = reinterpret_cast<void **>(top) - 7;
  slots[0] = nullptr;                                   // r15
  slots[1] = nullptr;                                   // r14
  slots[2] = nullptr;                                   // r13
  slots[3] = argument;                                  // r12
  slots[4] = reinterpret_cast<void *>(entry);           // rbx
  slots[5] = nullptr;                                   // rbp
  slots[6] = reinterpret_cast<void *>(allo_fiber_start); // return address
  context.stack_pointer = slots;
}

void switch_context(Context &from, Context &to) {
  allo_switch_stack(&from.stack_pointer, to.stack_pointer);
}

#endif

} // namespace allo
