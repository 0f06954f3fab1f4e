// Processes of a dataflow region, run side by side by the open csim.
//
// Each process is a fiber on one thread; it runs until a stream is full or empty or it ends, so a run is
// deterministic. When no process can go on, the run ends and reports what each one waits for.
#ifndef ALLO_SHIM_DATAFLOW_H
#define ALLO_SHIM_DATAFLOW_H

#include <stddef.h>

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "fiber.hpp"

namespace allo_csim {

enum State { READY, PUTTING, GETTING, JOINING, FINISHED };

struct EmptyRead {
  int stream;
};
struct Deadlock {};
struct NoMemory {};

class Channel;

struct Process {
  allo::Context context;
  allo::Stack stack;
  const std::function<void(int)> *body;
  Process *parent;
  int index, call, site;
  State state;
  Channel *channel;
  size_t fill;
  int children;
};

// What a caller learns of a process that did not finish.
struct Record {
  int index, parent, call, state, stream, site;
  long long fill, depth;
};

class Scheduler {
  allo::Context main_;
  std::deque<Process *> ready_;
  std::vector<std::unique_ptr<Process>> all_;
  Process *current_ = nullptr;
  std::exception_ptr failure_;
  size_t stack_bytes_;

  static void enter(void *argument) {
    Scheduler *self = (Scheduler *)argument;
    Process *me = self->current_;
    try {
      (*me->body)(me->call);
    } catch (...) {
      self->failure_ = std::current_exception();
    }
    me->state = FINISHED;
    if (me->parent && --me->parent->children == 0) self->resume(me->parent);
    self->leave();
  }

 public:
  explicit Scheduler(size_t stack_bytes) : stack_bytes_(stack_bytes) {}

  Process *current() { return current_; }

  void add(int call, const std::function<void(int)> &body) {
    std::unique_ptr<Process> process(new Process());
    process->stack = allo::Stack(stack_bytes_);
    if (!process->stack.valid()) throw NoMemory{};
    process->body = &body;
    process->parent = current_;
    process->index = (int)all_.size();
    process->call = call;
    process->site = -1;
    process->state = READY;
    process->channel = nullptr;
    allo::make_context(process->context, process->stack, 0, enter, this);
    ready_.push_back(process.get());
    all_.push_back(std::move(process));
  }
  void resume(Process *process) {
    process->state = READY;
    ready_.push_back(process);
  }
  // Let the others run; returns when someone resumed this process.
  void leave() { allo::switch_context(current_->context, main_); }

  void join(int children) {
    current_->children = children;
    current_->state = JOINING;
    leave();
  }
  void run() {
    while (!ready_.empty()) {
      current_ = ready_.front();
      ready_.pop_front();
      allo::switch_context(main_, current_->context);
      if (failure_) {
        current_ = nullptr;
        std::rethrow_exception(failure_);
      }
      if (current_->state == FINISHED) current_->stack = allo::Stack();
    }
    current_ = nullptr;
    for (auto &process : all_) {
      if (process->state != FINISHED) throw Deadlock{};
    }
  }
  std::vector<Record> records() const;
};

struct Run {
  Scheduler *scheduler;
  size_t stack_bytes;
  std::vector<Record> blocked;
};

static inline Run &run_state() {
  static thread_local Run state;
  return state;
}

static inline Process *running() {
  Scheduler *scheduler = run_state().scheduler;
  return scheduler ? scheduler->current() : nullptr;
}

class Channel {
  int id_;
  size_t depth_;
  std::deque<Process *> waiting_[2];

 public:
  Channel(int id, size_t depth) : id_(id), depth_(depth) {}
  virtual ~Channel() {}
  virtual size_t fill() const = 0;
  int id() const { return id_; }
  size_t declared_depth() const { return depth_; }
  size_t depth() const { return running() ? depth_ : 0; }

 protected:
  // Block the running process; false outside processes, where nobody could resume it.
  bool wait(State state) {
    Process *me = running();
    if (!me) return false;
    me->state = state;
    me->channel = this;
    waiting_[state == GETTING].push_back(me);
    run_state().scheduler->leave();
    me->channel = nullptr;
    return true;
  }
  void wake(State state) {
    std::deque<Process *> &waiting = waiting_[state == GETTING];
    if (waiting.empty()) return;
    Process *other = waiting.front();
    waiting.pop_front();
    run_state().scheduler->resume(other);
  }
};

inline std::vector<Record> Scheduler::records() const {
  std::vector<Record> found;
  for (auto &process : all_) {
    if (process->state == FINISHED) continue;
    Channel *channel = process->channel;
    found.push_back(Record{process->index, process->parent ? process->parent->index : -1,
                           process->call, (int)process->state, channel ? channel->id() : -1,
                           process->site, channel ? (long long)channel->fill() : 0,
                           channel ? (long long)channel->declared_depth() : 0});
  }
  return found;
}

static inline void start(Scheduler &scheduler, int first, int count,
                         const std::function<void(int)> &body) {
  for (int k = first; k < first + count; k++) scheduler.add(k, body);
}

// Start the kernels `first` … of a region together and wait for all of them; body(k) is kernel k.
static inline void run_region(int first, int count, const std::function<void(int)> &body) {
  Run &state = run_state();
  if (running()) {
    start(*state.scheduler, first, count, body);
    state.scheduler->join(count);
    return;
  }
  Scheduler scheduler(state.stack_bytes);
  state.scheduler = &scheduler;
  try {
    start(scheduler, first, count, body);
    scheduler.run();
  } catch (...) {
    state.blocked = scheduler.records();
    state.scheduler = nullptr;
    throw;
  }
  state.scheduler = nullptr;
}

// The streams of one run. They live until it ends, so that a region needs no code to clean up.
class Pool {
  std::vector<std::unique_ptr<Channel>> streams_;

 public:
  static Pool &here() {
    static thread_local Pool pool;
    return pool;
  }
  template <typename S> S &make(int id, size_t depth) {
    S *stream = new S(id, depth);
    streams_.emplace_back(stream);
    return *stream;
  }
};

// Note where in the program the running process is, for reports.
static inline void at(int site) {
  Process *me = running();
  if (me) me->site = site;
}

}  // namespace allo_csim

#endif
