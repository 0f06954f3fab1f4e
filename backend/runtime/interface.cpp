// What Python and the CPU's generated code call. csim, whose processes are C++, uses the class itself.
#include "simulator.hpp"

#include <algorithm>
#include <new>

using allo::Fifo;
using allo::Run;

namespace {

constexpr std::size_t stack_bytes = 256 * 1024;

allo::StackPool &stacks() {
  thread_local allo::StackPool pool(stack_bytes);
  return pool;
}

} // namespace

extern "C" {

// Called by Python (backend/cpu/native/runtime.py).

std::int64_t allo_runtime_abi() { return 3; }

Run *allo_run_new(void (*entry)(void **), void **arguments) {
  return new (std::nothrow) Run(entry, arguments, stacks());
}

void allo_run_port(Run *run, Fifo *fifo, std::int64_t fills) { run->add_port(fifo, fills != 0); }

std::int64_t allo_run_resume(Run *run) { return static_cast<std::int64_t>(run->resume()); }

std::int64_t allo_run_event(const Run *run, const void **data) {
  *data = run->event_data;
  return run->event_id;
}

std::int64_t allo_run_processes(const Run *run, allo::ProcessRecord *out, std::int64_t room) {
  const auto records = run->records();
  const auto count = static_cast<std::int64_t>(records.size());
  std::copy_n(records.begin(), std::min(count, room), out);
  return count;
}

// The depths of FIFOs with which a deadlocked run goes on: (stream, depth) of each that has grown. Behind them
// whether it then ended (1), waits for ever all the same (0), or was given up (-1).
std::int64_t allo_run_grow(Run *run, std::int64_t times, std::int64_t *out, std::int64_t room) {
  run->let_grow(times);
  allo::Status status;
  do
    status = run->resume();
  while (status == allo::Status::event);
  std::int64_t count = 0;
  for (const auto &[stream, depth] : run->grown()) {
    if (count + 3 > room)
      break;
    out[count++] = stream;
    out[count++] = depth;
  }
  const bool given_up = run->gave_up() || status == allo::Status::no_memory;
  out[count++] = status == allo::Status::done ? 1 : given_up ? -1 : 0;
  return count;
}

void allo_run_free(Run *run) { delete run; }

// Called by generated code (backend/cpu/lowering/streams.py).

void allo_region_begin() { Run::active_run()->begin_region(); }

void allo_region_join() { Run::active_run()->join_region(); }

// The table holds (stream, depth, bytes of an element) for each FIFO.
void allo_fifos_new(const std::int64_t *table, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    Run::active_run()->new_fifo(table[3 * i], table[3 * i + 1], table[3 * i + 2]);
}

Fifo *allo_fifo_at(std::int64_t position) { return Run::active_run()->fifo_at(position); }

void allo_spawn_all(const allo::FiberEntry *kernels, const std::int64_t *table, std::int64_t count,
                    const char *values) {
  Run::active_run()->spawn_all(kernels, table, count, values);
}

void allo_put_wait(Fifo *fifo, std::int64_t site) { Run::active_run()->put_wait(fifo, site); }

void allo_get_wait(Fifo *fifo, std::int64_t site) { Run::active_run()->get_wait(fifo, site); }

void allo_turn() { Run::active_run()->turn(); }

std::int64_t allo_has_room(Fifo *fifo, std::int64_t site) {
  return Run::active_run()->has_room(fifo, site);
}

std::int64_t allo_has_element(Fifo *fifo, std::int64_t site) {
  return Run::active_run()->has_element(fifo, site);
}

std::int64_t allo_may_put(Fifo *fifo, std::int64_t site) {
  return Run::active_run()->may_put(fifo, site);
}

std::int64_t allo_may_get(Fifo *fifo, std::int64_t site) {
  return Run::active_run()->may_get(fifo, site);
}

void allo_event(std::int64_t id, const void *data) { Run::active_run()->raise_event(id, data); }
}
