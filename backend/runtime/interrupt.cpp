// Ctrl-C during a call of generated code: the call is left where it stands, and nothing of the process is harmed.
//
// Python's handler of SIGINT only makes a note, which the interpreter reads when the call is over. While a call
// runs, the handler here stands before it: it lets Python make its note and then leaves the call, by a long jump
// to where it began, if the signal found it in generated code. That code holds no locks, so it may be left at any
// instruction. Where the signal found it in a library it had called (malloc, memcpy, exp), a timer tries
// again every millisecond until it is back.
#include <cfenv>
#include <csetjmp>
#include <csignal>
#include <cstdint>

#include <pthread.h>
#include <ucontext.h>

#ifdef __linux__
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

constexpr int retry_signal = SIGURG; // by default it does nothing, should one come late
constexpr long retry_ns = 1000000;

struct Range {
  std::uintptr_t low, high;
};

// The one call that may be left: that of the main thread.
struct Call {
  sigjmp_buf start;
  const Range *ranges;
  std::int64_t count;
  pthread_t owner;
  struct sigaction interrupt_before, retry_before;
  sigset_t mask; // of the thread, where the signal found it
  bool retrying;
#ifdef __linux__
  pid_t thread;
  int timer;
#endif
};

Call call;
volatile std::sig_atomic_t active = 0;

std::uintptr_t program_counter(const void *context) {
  const auto *state = static_cast<const ucontext_t *>(context);
#if defined(__linux__) && defined(__x86_64__)
  return static_cast<std::uintptr_t>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__linux__) && defined(__aarch64__)
  return static_cast<std::uintptr_t>(state->uc_mcontext.pc);
#elif defined(__APPLE__) && defined(__x86_64__)
  return static_cast<std::uintptr_t>(state->uc_mcontext->__ss.__rip);
#elif defined(__APPLE__) && defined(__aarch64__)
  return static_cast<std::uintptr_t>(state->uc_mcontext->__ss.__pc);
#else
#error "calls of generated code cannot be interrupted on this machine"
#endif
}

bool in_generated_code(const void *context) {
  const std::uintptr_t at = program_counter(context);
  for (std::int64_t i = 0; i < call.count; ++i)
    if (call.ranges[i].low <= at && at < call.ranges[i].high)
      return true;
  return false;
}

void handle(int signal, siginfo_t *info, void *context);

void install(int signal, struct sigaction *before) {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, retry_signal);
  sigaction(signal, &action, before);
}

// Comes back in a millisecond, and again, in the thread of the call. Uses system calls only.
void keep_trying() {
  if (call.retrying)
    return;
#ifdef __linux__
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = retry_signal;
  event._sigev_un._tid = call.thread;
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &call.timer) != 0)
    return;
  install(retry_signal, &call.retry_before);
  call.retrying = true;
  struct itimerspec every = {{0, retry_ns}, {0, retry_ns}};
  syscall(SYS_timer_settime, call.timer, 0, &every, nullptr);
#endif
}

void stop_trying() {
  if (!call.retrying)
    return;
  call.retrying = false;
#ifdef __linux__
  syscall(SYS_timer_delete, call.timer);
  sigaction(retry_signal, &call.retry_before, nullptr);
#endif
}

void note(int signal, siginfo_t *info, void *context) {
  const struct sigaction &before = call.interrupt_before;
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(signal);
}

void handle(int signal, siginfo_t *info, void *context) {
  if (signal == SIGINT)
    note(signal, info, context);
  if (!active)
    return;
  if (pthread_equal(pthread_self(), call.owner) && in_generated_code(context)) {
    active = 0;
    call.mask = static_cast<const ucontext_t *>(context)->uc_sigmask;
    siglongjmp(call.start, 1);
  }
  keep_trying();
}

void finish() {
  active = 0;
  stop_trying();
  sigaction(SIGINT, &call.interrupt_before, nullptr);
}

} // namespace

extern "C" {

std::int64_t allo_interrupt_abi() { return 1; }

// Calls function(argument) and keeps its result; 1 when the call was left because of SIGINT, else 0. Only the
// main thread may call this, and not from within such a call.
std::int64_t allo_interruptible(std::int64_t (*function)(void *), void *argument,
                                const Range *ranges, std::int64_t count, std::int64_t *result) {
  std::fenv_t floats;
  std::fegetenv(&floats);
  call.ranges = ranges;
  call.count = count;
  call.owner = pthread_self();
  call.retrying = false;
#ifdef __linux__
  call.thread = static_cast<pid_t>(syscall(SYS_gettid));
#endif
  if (sigsetjmp(call.start, 0)) {
    finish();
    pthread_sigmask(SIG_SETMASK, &call.mask, nullptr);
    std::fesetenv(&floats);
    return 1;
  }
  install(SIGINT, &call.interrupt_before);
  active = 1;
  *result = function(argument);
  finish();
  return 0;
}
}
