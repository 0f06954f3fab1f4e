// Processes of a dataflow region, run side by side by the open csim.
//
// They are the fibers of backend/runtime/simulator.hpp, and wait for FIFOs as those of the CPU's simulator do:
// a run is deterministic. When no process can go on, the run ends and reports what each one waits for.
#ifndef ALLO_SHIM_DATAFLOW_H
#define ALLO_SHIM_DATAFLOW_H

#include <stddef.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "simulator.hpp"

namespace allo_csim {

using allo::Run;
typedef allo::ProcessRecord Record;

struct EmptyRead {
  long long stream;
};
struct Deadlock {};
struct NoMemory {};

// What the thread that runs the kernel knows.
struct Outside {
  size_t stack_bytes;
  std::vector<Record> blocked;
  std::vector<Record> later;       // the same behind FIFOs that have grown
  std::vector<long long> growth;   // as allo_run_grow tells it
  std::exception_ptr failure;
};

static inline Outside &outside() {
  static thread_local Outside state;
  return state;
}

typedef std::function<void(int)> Body;

struct Frame {
  const Body *body;
  int call;
};

// An exception ends the run: it is thrown again where the outermost region was called.
static inline void enter_process(void *argument) {
  Frame *frame = (Frame *)argument;
  bool failed = false;
  try {
    (*frame->body)(frame->call);
  } catch (...) {
    outside().failure = std::current_exception();
    failed = true;
  }
  if (failed) Run::active_run()->raise_event(0, nullptr);
}

struct Region {
  int first, count;
  const Body *body;
  const std::vector<int> *endless;

  void run(Run &run) const {
    run.begin_region();
    for (int k = first; k < first + count; k++) {
      bool ends = std::find(endless->begin(), endless->end(), k) == endless->end();
      *(Frame *)run.spawn(enter_process, k, sizeof(Frame), !ends) = Frame{body, k};
    }
    run.join_region();
  }
  static void enter(void **region) { ((const Region *)region)->run(*Run::active_run()); }
};

// A FIFO without its elements. Outside processes, where nobody could go on, it holds any number of them.
class Channel {
  allo::Fifo fifo_;

  // The run, and whose region the FIFO is waited for in.
  Run *waiting_run() {
    Run *run = Run::active_run();
    if (run) fifo_.region = run->current().home;
    return run;
  }

 public:
  Channel(int id, size_t depth) : fifo_() {
    fifo_.stream = id;
    fifo_.depth = depth ? (int64_t)depth : std::numeric_limits<int64_t>::max();
    fifo_.put_limit = fifo_.depth;
  }
  virtual ~Channel() {}
  int64_t moved() const { return fifo_.moved; }

  // As an argument of the outermost region: how many elements it takes at most, and whether the run puts into it.
  void limit(int64_t depth) { fifo_.depth = fifo_.put_limit = depth; }
  void join(Run &run, bool fills) { run.add_port(&fifo_, fills); }

  // What does not wait lets the other processes run once before it says no.
  bool full() {
    Run *run = fifo_.count < fifo_.depth ? nullptr : waiting_run();
    return run && !run->has_room(&fifo_, run->current().site);
  }
  bool empty() {
    Run *run = fifo_.count ? nullptr : waiting_run();
    return run ? !run->has_element(&fifo_, run->current().site) : !fifo_.count;
  }

 protected:
  // Whether a put, or a get, would find room or an element.
  bool may_put() {
    Run *run = fifo_.count < fifo_.put_limit ? nullptr : waiting_run();
    return !run || run->may_put(&fifo_, run->current().site);
  }
  bool may_get() {
    Run *run = fifo_.count > fifo_.get_floor ? nullptr : waiting_run();
    return run ? run->may_get(&fifo_, run->current().site) : fifo_.count > 0;
  }
  // There is room for an element; the caller adds it.
  void put() {
    Run *run = fifo_.count < fifo_.put_limit ? nullptr : waiting_run();
    if (run) run->put_wait(&fifo_, run->current().site);
    fifo_.count++;
    fifo_.moved++;
  }
  // There is an element; the caller takes it.
  void get() {
    Run *run = fifo_.count > fifo_.get_floor ? nullptr : waiting_run();
    if (run) run->get_wait(&fifo_, run->current().site);
    if (!fifo_.count) throw EmptyRead{fifo_.stream};
    fifo_.count--;
    fifo_.moved++;
  }
};

// The streams of one run. They live until it ends, so that a region needs no code to clean up.
class Pool {
  std::vector<std::unique_ptr<Channel>> streams_;

 public:
  static Pool &here() {
    static thread_local Pool pool;
    return pool;
  }
  int64_t moved() const {
    int64_t sum = 0;
    for (const auto &stream : streams_) sum += stream->moved();
    return sum;
  }
  std::vector<std::pair<Channel *, bool>> ports;  // streams that are arguments of the outermost region

  template <typename S> S &make(int id, size_t depth) {
    S *stream = new S(id, depth);
    streams_.emplace_back(stream);
    return *stream;
  }
};

// What becomes of a run that cannot go on when FIFOs grow; anything that it raises ends it.
static inline void explore(Run &run) {
  run.let_grow(1 << 16);
  allo::Status status = run.resume();
  outside().growth.clear();
  for (const auto &grown : run.grown()) {
    outside().growth.push_back(grown.first);
    outside().growth.push_back(grown.second);
  }
  bool ended = status == allo::Status::done, stands = status == allo::Status::deadlock && !run.gave_up();
  outside().growth.push_back(ended ? 1 : stands ? 0 : -1);
  outside().later = run.records();
}

// Start the kernels `first` … of a region together and wait for all of them that end; body(k) is kernel k.
static inline void run_region(int first, int count, const Body &body,
                              const std::vector<int> &endless = {}) {
  Region region = {first, count, &body, &endless};
  if (Run::active_run()) return region.run(*Run::active_run());
  allo::StackPool stacks(outside().stack_bytes);
  Run run(Region::enter, (void **)&region, stacks);
  for (const auto &port : Pool::here().ports) port.first->join(run, port.second);
  run.moved_elsewhere = [] { return Pool::here().moved(); };
  switch (run.resume()) {
    case allo::Status::done: return;
    case allo::Status::deadlock:
      outside().blocked = run.records();
      explore(run);
      throw Deadlock{};
    case allo::Status::no_memory: throw NoMemory{};
    case allo::Status::event: std::rethrow_exception(std::move(outside().failure));
  }
}

// Lets the other processes run once.
static inline void turn() {
  if (Run *run = Run::active_run()) run->turn();
}

// Note where in the program the running process is, for reports.
static inline void at(int site) {
  if (Run *run = Run::active_run()) run->current().site = site;
}

}  // namespace allo_csim

#endif
