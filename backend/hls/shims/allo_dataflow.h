// Processes of a dataflow region, run side by side by the open csim.
//
// They are the fibers of backend/runtime/simulator.hpp, and wait for FIFOs as those of the CPU's simulator do:
// a run is deterministic. When no process can go on, the run ends and reports what each one waits for.
#ifndef ALLO_SHIM_DATAFLOW_H
#define ALLO_SHIM_DATAFLOW_H

#include <stddef.h>

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

Outside &outside();

typedef std::function<void(int)> Body;

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

// Start the kernels `first` … of a region together and wait for all of them that end; body(k) is kernel k.
void run_region(int first, int count, const Body &body, const std::vector<int> &endless = {});

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
