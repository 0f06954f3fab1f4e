// The dataflow simulator: processes as fibers that run until a FIFO blocks them, on one thread, in a fixed order.
#pragma once

#include "fiber.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace allo {

struct Process;
struct Region;

// Generated code reads and writes the first eight fields directly; backend/cpu/lowering/streams.py knows their order.
struct Fifo {
  char *data;
  std::int64_t count;       // elements held
  std::int64_t put_limit;   // a put with count >= put_limit must call allo_put_wait: depth, or 0 to wake a reader
  std::int64_t get_floor;   // a get with count <= get_floor must call allo_get_wait: 0, or the maximum to wake a writer
  std::int64_t read_offset; // bytes
  std::int64_t write_offset;
  std::int64_t bytes;        // of all elements: where the offsets wrap
  std::int64_t moved;        // puts and gets so far, counted in programs that have operations which do not wait

  std::int64_t depth;
  std::int64_t stream;      // which allo.stream of the program made it
  Region *region;
  Process *waiting;         // the one process blocked on it
};

enum class State : std::int64_t { ready = 0, putting = 1, getting = 2, joining = 3, finished = 4, trying_to_put = 5, trying_to_get = 6 };

struct Process {
  Context context;
  Stack stack;
  FiberEntry entry = nullptr;
  void *frame = nullptr;
  Process *parent = nullptr;
  Region *home = nullptr;             // the region that spawned it
  std::vector<Region *> open_regions; // those it has begun and not joined, innermost last
  std::int64_t call = -1;             // which call of the program it is; -1 for the root
  State state = State::ready;
  Fifo *fifo = nullptr;               // what it waits for
  std::int64_t site = -1;             // where it waits or tries: which put or get of the program
  bool endless = false;               // its region does not wait for it
  mutable std::int64_t position = 0;  // among the records, while they are made
};

// One running region: its FIFOs and kernels live until all kernels have finished that ever do.
struct Region {
  std::int64_t serial = 0;
  std::int64_t running = 0; // of those that end
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<std::unique_ptr<Fifo>> fifos;
};

enum class Status : std::int64_t { done = 0, deadlock = 1, event = 2, no_memory = 3 };

// A FIFO whose other end is outside the run, which has fed it all its words, or takes as many as it has room for.
struct Port {
  Fifo *fifo;
  bool fills; // the run puts into it
};

// What a process tells about itself when Python asks.
struct ProcessRecord {
  std::int64_t call;
  std::int64_t parent; // position of the parent's record, -1 for the root
  std::int64_t region; // serial of its region, -1 for the root
  std::int64_t state;
  std::int64_t site;
  std::int64_t stream;
  std::int64_t fifo_region;
  std::int64_t fill;
  std::int64_t depth;
};

// One call of a module.
class Run {
public:
  // The stacks outlive the run.
  Run(void (*entry)(void **), void **arguments, StackPool &stacks);
  ~Run();

  // The run that a process of this thread belongs to; null outside processes.
  static Run *active_run();
  Process &current() { return *current_; }

  void add_port(Fifo *fifo, bool fills) { ports_.push_back({fifo, fills}); }
  Status resume();
  std::vector<ProcessRecord> records() const;

  // From now on a run that cannot go on lets FIFOs grow that a process waits to put into, the smallest first, so
  // often at most.
  void let_grow(std::int64_t times) { growths_ = times; }
  // By stream, the depth of those that have grown; whether they would have to grow on.
  const std::map<std::int64_t, std::int64_t> &grown() const { return grown_; }
  bool gave_up() const { return gave_up_; }

  void new_fifo(std::int64_t stream, std::int64_t depth, std::int64_t cell);
  Fifo *fifo_at(std::int64_t position) const; // of the innermost open region, in the order they were made
  void begin_region();
  // Starts one process of the innermost open region; its frame, which the caller fills in.
  void *spawn(FiberEntry entry, std::int64_t call, std::int64_t frame_bytes, bool endless = false);
  // Starts `count` processes. Of each the table has (index of the kernel, number of the call, bytes of its
  // frame, whether it never ends, number of arguments), then of each argument (kind, what, offset in the frame,
  // bytes).
  void spawn_all(const FiberEntry *kernels, const std::int64_t *table, std::int64_t count,
                 const char *values);
  void join_region();
  void put_wait(Fifo *fifo, std::int64_t site);
  void get_wait(Fifo *fifo, std::int64_t site);
  // Lets the others run once: an iteration of a loop without an end in which it may wait for nothing.
  void turn();
  // Whether there is room, or an element. Where not, the other processes run first, once, and it is looked again.
  bool has_room(Fifo *fifo, std::int64_t site);
  bool has_element(Fifo *fifo, std::int64_t site);
  // The same; on true nobody waits at the other end, and the caller puts or gets.
  bool may_put(Fifo *fifo, std::int64_t site);
  bool may_get(Fifo *fifo, std::int64_t site);
  void raise_event(std::int64_t id, const void *data);

  std::int64_t event_id = 0;
  const void *event_data = nullptr;
  std::int64_t (*moved_elsewhere)() = nullptr; // puts and gets of FIFOs that no region of the run holds

private:
  // What an argument is: the FIFO at a position, a constant word, or bytes at an offset of the values.
  enum class Argument : std::int64_t { fifo = 0, constant = 1, value = 2 };

  static void run_process(void *process);
  static void run_entry(void *run);
  bool start(Process &process, FiberEntry entry, std::size_t frame_bytes);
  void block(State state, Fifo *fifo, std::int64_t site);
  void wake(Process *process);
  void let_others_run(State state, Fifo *fifo, std::int64_t site);
  bool stands_still();
  bool ran_out() const;
  bool grow();
  [[noreturn]] void finish();
  void leave(Status status);
  void run_next();
  void stop(const Region &region);
  void end(Region *region);
  void release(Region &region);

  void (*entry_)(void **);
  void **arguments_;
  StackPool &stacks_;
  Context python_;
  Process root_;
  Process *current_ = nullptr;
  std::deque<Process *> ready_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<Port> ports_;
  std::int64_t next_serial_ = 0;
  std::int64_t steps_ = 0;  // of processes: begun, woken, finished
  std::int64_t tries_ = 0;  // without success, since something moved
  std::int64_t seen_ = -1;  // what had moved when it was last looked
  Status status_ = Status::done;
  std::int64_t growths_ = 0;
  std::map<std::int64_t, std::int64_t> grown_;
  bool gave_up_ = false;
};

} // namespace allo
