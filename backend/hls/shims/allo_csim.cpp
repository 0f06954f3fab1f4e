// What all kernels of the open csim share: it is compiled once and linked to each, whose own text is then short.
#include "allo_csim.h"

#include <pthread.h>

#include <algorithm>

namespace allo_csim {

volatile int wanted_end = 0;

Outside &outside() {
  static thread_local Outside state;
  return state;
}

struct Frame {
  const Body *body;
  int call;
};

// An exception ends the run: it is thrown again where the outermost region was called.
static void enter_process(void *argument) {
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

// What becomes of a run that cannot go on when FIFOs grow; anything that it raises ends it.
static void explore(Run &run) {
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

void run_region(int first, int count, const Body &body, const std::vector<int> &endless) {
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

enum Status { DONE, NOT_STARTED, DEADLOCKED, EMPTY_READ, NO_MEMORY, ASSERTED, ENDED, OUT_OF_BOUNDS };

// What ended the last run, and what stands still where FIFOs have grown.
static std::vector<Record> blocked, blocked_later;
static std::vector<long long> growth;

struct Call {
  void (*body)(void **);
  void **arguments;
  size_t fiber_bytes;
  Status status;
};

// What ended a run that is no process, in the places that the records of processes have.
static inline Record told(long long check, long long site, long long stream, long long word) {
  return Record{check, -1, -1, 0, site, stream, -1, word, 0};
}

static void *enter(void *argument) {
  Call *call = (Call *)argument;
  outside().stack_bytes = call->fiber_bytes;
  try {
    call->body(call->arguments);
  } catch (const Deadlock &) {
    blocked = outside().blocked;
    blocked_later = outside().later;
    growth = outside().growth;
    call->status = DEADLOCKED;
  } catch (const EmptyRead &read) {
    blocked = {told(-1, -1, read.stream, 0)};
    call->status = EMPTY_READ;
  } catch (const Assertion &assertion) {
    blocked = {told(-1, assertion.site, -1, 0)};
    call->status = ASSERTED;
  } catch (const OutOfBounds &found) {
    blocked.clear();
    for (long long word : found.words) blocked.push_back(told(found.check, -1, -1, word));
    call->status = OUT_OF_BOUNDS;
  } catch (const NoMemory &) {
    call->status = NO_MEMORY;
  } catch (const Ended &) {
    call->status = ENDED;
  }
  return 0;
}

int run(void (*body)(void **), void **arguments, size_t stack_bytes, size_t fiber_bytes) {
  pthread_attr_t attributes;
  pthread_t thread;
  Call call = {body, arguments, fiber_bytes, DONE};
  if (pthread_attr_init(&attributes)) return NOT_STARTED;
  bool failed = pthread_attr_setstacksize(&attributes, stack_bytes) ||
                pthread_create(&thread, &attributes, enter, &call) || pthread_join(thread, 0);
  pthread_attr_destroy(&attributes);
  return failed ? NOT_STARTED : call.status;
}

}  // namespace allo_csim

extern "C" void allo_want_end(int wanted) { allo_csim::wanted_end = wanted; }
extern "C" size_t allo_records(const allo_csim::Record **records) {
  *records = allo_csim::blocked.data();
  return allo_csim::blocked.size();
}
extern "C" size_t allo_records_later(const allo_csim::Record **records) {
  *records = allo_csim::blocked_later.data();
  return allo_csim::blocked_later.size();
}
extern "C" size_t allo_grown(const long long **words) {
  *words = allo_csim::growth.data();
  return allo_csim::growth.size();
}
