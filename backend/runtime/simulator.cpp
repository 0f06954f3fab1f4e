#include "simulator.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdlib.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace allo {

namespace {

constexpr std::int64_t always = std::numeric_limits<std::int64_t>::max();

// Tries without success after which it is looked whether anything moved, and after which a run in which nothing did ends.
constexpr std::int64_t tries_to_a_look = 1 << 12;
constexpr std::int64_t most_tries = 1 << 24;

thread_local Run *active = nullptr;

// Keeps the caller's float control register; in between it has its default: subnormals are kept.
class FloatState {
#ifdef __SSE__
public:
  FloatState() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~FloatState() { _mm_setcsr(saved_); }

private:
  unsigned saved_;
#endif
};

} // namespace

Run *Run::active_run() { return active; }

Run::Run(void (*entry)(void **), void **arguments, StackPool &stacks)
    : entry_(entry), arguments_(arguments), stacks_(stacks) {
  root_.frame = this;
  if (start(root_, run_entry, 0))
    ready_.push_back(&root_);
  else
    status_ = Status::no_memory;
}

Run::~Run() {
  for (auto &region : regions_)
    release(*region);
  if (root_.stack.valid())
    stacks_.give(std::move(root_.stack));
}

void Run::release(Region &region) {
  for (auto &process : region.processes)
    if (process->stack.valid())
      stacks_.give(std::move(process->stack));
  for (auto &fifo : region.fifos)
    std::free(fifo->data);
}

Status Run::resume() {
  if (status_ == Status::no_memory)
    return status_;
  Run *outer = active;
  active = this;
  Process *next = current_;
  if (!next) {
    next = ready_.front();
    ready_.pop_front();
    current_ = next;
  }
  // A run that is left in the middle must not change how the caller's floats behave.
  const FloatState floats;
  switch_context(python_, next->context);
  active = outer;
  return status_;
}

// Returns to Python; resume() continues the current process.
void Run::leave(Status status) {
  status_ = status;
  switch_context(current_->context, python_);
}

bool Run::start(Process &process, FiberEntry entry, std::size_t frame_bytes) {
  process.stack = stacks_.take();
  if (!process.stack.valid())
    return false;
  const std::size_t reserved = (frame_bytes + 63) / 64 * 64;
  if (frame_bytes)
    process.frame = process.stack.low() + process.stack.size() - reserved;
  process.entry = entry;
  make_context(process.context, process.stack, reserved, run_process, &process);
  return true;
}

void Run::run_process(void *argument) {
  auto *process = static_cast<Process *>(argument);
  process->entry(process->frame);
  active->finish();
}

void Run::run_entry(void *argument) {
  auto *run = static_cast<Run *>(argument);
  run->entry_(run->arguments_);
}

void Run::finish() {
  Process *process = current_;
  process->state = State::finished;
  ++steps_;
  if (process == &root_) {
    leave(Status::done);
    std::abort();
  }
  Process *parent = process->parent;
  if (!process->endless && --process->home->running == 0 && parent->state == State::joining &&
      parent->open_regions.back() == process->home)
    wake(parent);
  run_next();
  std::abort();
}

void Run::wake(Process *process) {
  process->state = State::ready;
  process->fifo = nullptr;
  ++steps_;
  ready_.push_back(process);
}

// Leaves the current process and runs the next that is ready, in the order in which they became so.
void Run::run_next() {
  Process *from = current_;
  while (ready_.empty()) {
    if (ran_out())
      wake(&root_);
    else if (!grow())
      leave(Status::deadlock); // and look again: FIFOs may grow from now on
  }
  current_ = ready_.front();
  ready_.pop_front();
  if (current_ != from)
    switch_context(from->context, current_->context);
}

// Whether only processes are left that never end, and a port is used up: then the run is over.
bool Run::ran_out() const {
  if (root_.state != State::joining || root_.open_regions.back()->running)
    return false;
  return std::any_of(ports_.begin(), ports_.end(), [](const Port &port) {
    return port.fills ? port.fifo->count >= port.fifo->depth : port.fifo->count == 0;
  });
}

// One element more of room; the elements that a FIFO holds in memory of its own stay in order.
static bool enlarge(Fifo &fifo) {
  if (fifo.data) {
    const std::int64_t cell = fifo.bytes / fifo.depth;
    auto *larger = static_cast<char *>(::aligned_alloc(64, (fifo.bytes + cell + 63) / 64 * 64));
    if (!larger)
      return false;
    const std::int64_t tail = fifo.bytes - fifo.read_offset;
    std::memcpy(larger, fifo.data + fifo.read_offset, static_cast<std::size_t>(tail));
    std::memcpy(larger + tail, fifo.data, static_cast<std::size_t>(fifo.read_offset));
    std::free(fifo.data);
    fifo.data = larger;
    fifo.read_offset = 0;
    fifo.write_offset = fifo.bytes; // it was full
    fifo.bytes += cell;
  }
  ++fifo.depth;
  return true;
}

bool Run::grow() {
  Process *found = nullptr;
  for (const auto &region : regions_)
    for (const auto &process : region->processes) {
      const bool waits = process->state == State::putting;
      const auto mine = [&](const Port &port) { return port.fifo == process->fifo; };
      if (waits && std::none_of(ports_.begin(), ports_.end(), mine) &&
          (!found || process->fifo->depth < found->fifo->depth))
        found = process.get();
    }
  if (!found || !growths_)
    return false;
  Fifo *fifo = found->fifo;
  if (--growths_ == 0 || !enlarge(*fifo)) {
    gave_up_ = true;
    return false;
  }
  auto &depth = grown_[fifo->stream];
  depth = std::max(depth, fifo->depth);
  fifo->waiting = nullptr;
  fifo->get_floor = 0;
  fifo->put_limit = fifo->depth;
  wake(found);
  return true;
}

void Run::block(State state, Fifo *fifo, std::int64_t site) {
  current_->state = state;
  current_->fifo = fifo;
  current_->site = site;
  run_next();
}

void Run::begin_region() {
  auto region = std::make_unique<Region>();
  region->serial = next_serial_++;
  current_->open_regions.push_back(region.get());
  regions_.push_back(std::move(region));
}

void Run::new_fifo(std::int64_t stream, std::int64_t depth, std::int64_t cell) {
  auto fifo = std::make_unique<Fifo>();
  const auto bytes = static_cast<std::size_t>(depth * cell);
  fifo->data = static_cast<char *>(::aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (!fifo->data)
    leave(Status::no_memory);
  fifo->bytes = depth * cell;
  fifo->put_limit = depth;
  fifo->depth = depth;
  fifo->stream = stream;
  Region *region = current_->open_regions.back();
  fifo->region = region;
  region->fifos.push_back(std::move(fifo));
}

Fifo *Run::fifo_at(std::int64_t position) const {
  return current_->open_regions.back()->fifos[static_cast<std::size_t>(position)].get();
}

void *Run::spawn(FiberEntry entry, std::int64_t call, std::int64_t frame_bytes, bool endless) {
  Region *region = current_->open_regions.back();
  auto process = std::make_unique<Process>();
  process->parent = current_;
  process->home = region;
  process->call = call;
  if (!start(*process, entry, static_cast<std::size_t>(frame_bytes)))
    leave(Status::no_memory);
  process->endless = endless;
  region->running += !endless;
  ++steps_;
  ready_.push_back(process.get());
  region->processes.push_back(std::move(process));
  return region->processes.back()->frame;
}

void Run::spawn_all(const FiberEntry *kernels, const std::int64_t *table, std::int64_t count,
                    const char *values) {
  for (; count > 0; --count) {
    auto *frame = static_cast<char *>(spawn(kernels[table[0]], table[1], table[2], table[3]));
    std::int64_t arguments = table[4];
    for (table += 5; arguments > 0; --arguments, table += 4) {
      const auto bytes = static_cast<std::size_t>(table[3]);
      char *target = frame + table[2];
      switch (static_cast<Argument>(table[0])) {
      case Argument::fifo: {
        const Fifo *fifo = fifo_at(table[1]);
        std::memcpy(target, &fifo, sizeof fifo);
        break;
      }
      case Argument::constant:
        std::memcpy(target, &table[1], bytes);
        break;
      case Argument::value:
        std::memcpy(target, values + table[1], bytes);
        break;
      }
    }
  }
}

void Run::join_region() {
  Region *region = current_->open_regions.back();
  const auto ends = [](const std::unique_ptr<Process> &each) { return !each->endless; };
  const auto &all = region->processes;
  if (region->running || (!all.empty() && std::none_of(all.begin(), all.end(), ends)))
    block(State::joining, nullptr, -1);
  current_->open_regions.pop_back();
  stop(*region);
  end(region);
}

// Those that never end run no more, nor what runs in regions of theirs.
void Run::stop(const Region &region) {
  for (const auto &process : region.processes) {
    if (process->state == State::finished)
      continue;
    ready_.erase(std::remove(ready_.begin(), ready_.end(), process.get()), ready_.end());
    for (Region *inner : process->open_regions) {
      stop(*inner);
      end(inner);
    }
  }
}

void Run::end(Region *region) {
  release(*region);
  const auto mine = [region](const std::unique_ptr<Region> &each) { return each.get() == region; };
  // A region ends soon after it began as a rule, so the search starts at the newest.
  const auto found = std::find_if(regions_.rbegin(), regions_.rend(), mine);
  regions_.erase(std::next(found).base());
}

// A put finds no room, or a reader waiting for it. On return there is room and nobody waits.
void Run::put_wait(Fifo *fifo, std::int64_t site) {
  while (fifo->count >= fifo->depth) {
    fifo->waiting = current_;
    fifo->get_floor = always;
    block(State::putting, fifo, site);
  }
  if (fifo->waiting) {
    wake(fifo->waiting);
    fifo->waiting = nullptr;
    fifo->put_limit = fifo->depth;
  }
}

// A get finds nothing, or a writer waiting for it. On return there is an element and nobody waits.
void Run::get_wait(Fifo *fifo, std::int64_t site) {
  while (fifo->count == 0) {
    fifo->waiting = current_;
    fifo->put_limit = 0;
    block(State::getting, fifo, site);
  }
  if (fifo->waiting) {
    wake(fifo->waiting);
    fifo->waiting = nullptr;
    fifo->get_floor = 0;
  }
}

// Runs all that are ready, once, before the current process goes on.
void Run::let_others_run(State state, Fifo *fifo, std::int64_t site) {
  current_->state = state;
  current_->fifo = fifo;
  current_->site = site;
  if (++tries_ % tries_to_a_look == 0 && stands_still()) {
    if (!ran_out()) {
      leave(Status::deadlock);
      return;
    }
    wake(&root_);
  }
  if (!ready_.empty()) {
    ready_.push_back(current_);
    run_next();
  }
  current_->state = State::ready;
  current_->fifo = nullptr;
}

void Run::turn() { let_others_run(State::ready, nullptr, current_->site); }

// Whether for very many tries no element has passed and no process has begun, gone on or ended.
bool Run::stands_still() {
  std::int64_t moved = steps_ + (moved_elsewhere ? moved_elsewhere() : 0);
  for (const auto &region : regions_)
    for (const auto &fifo : region->fifos)
      moved += fifo->moved;
  for (const Port &port : ports_)
    moved += port.fifo->moved;
  if (moved != seen_)
    tries_ = 0;
  seen_ = moved;
  return tries_ >= most_tries;
}

bool Run::has_room(Fifo *fifo, std::int64_t site) {
  if (fifo->count >= fifo->depth)
    let_others_run(State::trying_to_put, fifo, site);
  return fifo->count < fifo->depth;
}

bool Run::has_element(Fifo *fifo, std::int64_t site) {
  if (fifo->count == 0)
    let_others_run(State::trying_to_get, fifo, site);
  return fifo->count > 0;
}

bool Run::may_put(Fifo *fifo, std::int64_t site) {
  if (!has_room(fifo, site))
    return false;
  put_wait(fifo, site);
  return true;
}

bool Run::may_get(Fifo *fifo, std::int64_t site) {
  if (!has_element(fifo, site))
    return false;
  get_wait(fifo, site);
  return true;
}

void Run::raise_event(std::int64_t id, const void *data) {
  event_id = id;
  event_data = data;
  leave(Status::event);
}

std::vector<ProcessRecord> Run::records() const {
  std::vector<const Process *> all{&root_};
  for (const auto &region : regions_)
    for (const auto &process : region->processes)
      all.push_back(process.get());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i]->position = static_cast<std::int64_t>(i);
  std::vector<ProcessRecord> result;
  for (const Process *process : all) {
    const Fifo *fifo = process->fifo;
    result.push_back({process->call, process->parent ? process->parent->position : -1,
                      process->home ? process->home->serial : -1,
                      static_cast<std::int64_t>(process->state), process->site,
                      fifo ? fifo->stream : -1, fifo && fifo->region ? fifo->region->serial : -1,
                      fifo ? fifo->count : 0, fifo ? fifo->depth : 0});
  }
  return result;
}

} // namespace allo
