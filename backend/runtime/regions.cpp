#include "regions.hpp"

#include <algorithm>

namespace allo {

// --- who goes on when --------------------------------------------------------------------

void Engine::wake(int number, Time t) {
  Process& process = processes[number];
  t = std::max(t, now);
  if (process.wake != kNever && process.wake <= t && process.wake >= now) return;
  process.wake = t;
  at(t, kProcess, number);
}

// Nothing is gained by the same twice in a cycle.
void Engine::pump_at(Time t, int number) {
  if (channels[number].pump == t) return;
  channels[number].pump = t;
  at(t, kPump, number);
}

// One event of a channel is enough, the earliest: it asks for the next one that its words need.
void Engine::out_at(Time t, int number) {
  Time& next = channels[number].out;
  if (next != kNever && next <= t) return;
  next = t;
  at(t, kOut, number);
}

// A process goes on by itself in a later cycle, in which it may want words taken ahead.
void Engine::wait_for(int number, Time t) {
  wake(number, t);
  for (int channel : processes[number].channels)
    if (channels[channel].called) pump_at(t, channel);
}

void Engine::wake_channel(int number, Time t) {
  Channel& channel = channels[number];
  if (channel.buffer && !channel.putting) pump_at(t, number);
  if (channel.buffer && channel.putting && !channel.coming.empty()) out_at(t, number);
  if (processes[channel.process].waits_for == number) wake(channel.process, t);
}

void Engine::pushed(int number, Time t) {
  for (int channel : fifos[number].consumers) wake_channel(channel, t + 1);
}

void Engine::popped(int number, Time t) {
  for (int channel : fifos[number].producers) wake_channel(channel, t + 1);
}

// Whether iterations that are issued, that waits in front, or that surely follows want another word.
bool Engine::claimed(int number, Time t) const {
  const Channel& channel = channels[number];
  const Process& process = processes[channel.process];
  Time claim = 0;
  if (process.running && process.waits_for != -2 && process.cursor <= t &&
      process.record < process.trace.size) {
    const std::int32_t* record = process.trace.records + 2 * process.record;
    const std::int32_t* code = record[0] < 0 ? nullptr : process.variants[record[0]];
    if (code && code[0] == kPipe) {
      bool last = process.turn + 1 >= record[1] &&
                  (process.record + 1 >= process.trace.size || record[2] == kDrain);
      for (int each = 0; each < code[3]; ++each) {
        const std::int32_t* op = code + 4 + 4 * each;
        if (op[0] == kPromised && process.channels[op[1]] == number) claim = last ? op[2] : 2 * op[2];
      }
    }
  }
  return channel.arrived < channel.promised + claim;
}

void Engine::pump(int number, Time t, bool passing) {
  Channel& channel = channels[number];
  if (!channel.buffer) return;
  Fifo& fifo = fifos[channel.fifo];
  if (!fifo.has_word(t)) return;
  while (!channel.consumptions.empty() && channel.consumptions.front() < t) {
    channel.consumptions.pop_front();
    ++channel.consumed;
  }
  if (channel.arrived - channel.consumed >= channel.buffer) {
    if (!channel.consumptions.empty()) pump_at(channel.consumptions.front() + 1, number);
    return;
  }
  if (channel.called && !passing && !claimed(number, t)) return;
  fifo.pop(t);
  popped(channel.fifo, t);
  ++channel.arrived;
  channel.last_arrival = t;
  if (processes[channel.process].waits_for == number) wake(channel.process, t);
  if (fifo.count > 0) pump_at(t + 1, number);
}

void Engine::out(int number, Time t) {
  Channel& channel = channels[number];
  if (channel.coming.empty()) return;
  if (channel.coming.front() > t) {
    out_at(channel.coming.front(), number);
    return;
  }
  Fifo& fifo = fifos[channel.fifo];
  if (!fifo.has_room(t)) {
    if (fifo.last_pop == t || fifo.last_push == t) out_at(t + 1, number);
    return;
  }
  fifo.push(t);
  pushed(channel.fifo, t);
  channel.coming.pop_front();
  Time free = t + 1 + channel.late;
  channel.returns.push(free);
  if (processes[channel.process].waits_for == number) wake(channel.process, free);
  if (!channel.coming.empty()) out_at(std::max(t + 1, channel.coming.front()), number);
}

// --- what a process does with its channels ---------------------------------------------------

Time Engine::kept(Channel& channel, Time t) {
  while (!channel.returns.empty() && channel.returns.top() <= t) {
    channel.returns.pop();
    --channel.kept;
  }
  return channel.kept;
}

bool Engine::can_get(Channel& channel, Time t) {
  if (channel.called && channel.arrived <= channel.promised)
    pump(static_cast<int>(&channel - channels.data()), t, true);
  if (channel.buffer) return channel.arrived > channel.promised;
  return fifos[channel.fifo].has_word(t);
}

bool Engine::can_put(Channel& channel, Time t) {
  if (channel.buffer && kept(channel, t)) return false;
  return fifos[channel.fifo].has_room(t);
}

void Engine::get(int number, Time t) {
  Channel& channel = channels[number];
  if (channel.buffer) {
    ++channel.promised;
    channel.consumptions.push_back(t);
    pump_at(t + 1, number);
    return;
  }
  fifos[channel.fifo].pop(t);
  popped(channel.fifo, t);
}

void Engine::put(int number, Time t) {
  Channel& channel = channels[number];
  fifos[channel.fifo].push(t);
  pushed(channel.fifo, t);
}

// Ask without waiting: what the stream shows in this cycle is the answer.
void Engine::attempt(Process& process, const std::int32_t* op, Time t) {
  int number = process.channels[op[1]];
  Channel& channel = channels[number];
  process.answer = channel.putting ? can_put(channel, t) : can_get(channel, t);
  if (process.answer && op[0] == kTryGet) get(number, t);
  if (process.answer && op[0] == kTryPut) put(number, t);
}

bool Engine::blocked(Process& process, int number, Time t) {
  process.waits_for = number;
  Channel& channel = channels[number];
  if (channel.putting && !channel.returns.empty())
    wake(channel.process, std::max(t + 1, channel.returns.top()));
  const Fifo& fifo = fifos[channel.fifo];
  if (channel.last_arrival == t || fifo.last_push == t || fifo.last_pop == t)
    wake(channel.process, t + 1);
  return false;
}

// A step waits, and what the process does later with it.
bool Engine::halted(Process& process, int number, Time t) {
  if (process.halted == kNever) process.halted = t;
  return blocked(process, number, t);
}

void Engine::passed(Process& process, int number, Time t) {
  process.waits_for = -1;
  if (process.halted != kNever) process.stood += t - process.halted;
  process.halted = kNever;
  if (t > process.reached) {
    channels[number].stalled += t - process.reached;
    if (keeps_waits) waits.push_back({number, process.reached, t});
  }
  process.reached = t;
}

// --- processes -------------------------------------------------------------------------------

bool Engine::go(int number, Time t) {
  Process& process = processes[number];
  if (!process.running || process.waits_for == -2) return true;
  while (true) {
    if (process.record >= process.trace.size) {
      if (settling_) wake(number, std::max(process.cursor, t + 1));
      if (settling_) return true;
      hungry = number;
      return false;
    }
    const std::int32_t* record = process.trace.records + 2 * process.record;
    std::int32_t code = record[0], argument = record[1];
    if (process.gated && process.cursor - 1 > t && (code == kSettle || code == kEnd)) {
      wake(number, process.cursor - 1);
      return true;
    }
    if (code == kSettle) {
      int channel = process.channels[argument];
      // Its words may have left long before the process comes to its end.
      Time last = process.cursor - 1;
      if (process.waits_for == channel) last = std::max(last, t);
      if (kept(channels[channel], last)) {
        process.waits_for = channel;
        if (!channels[channel].returns.empty())
          wake(number, std::max(t, channels[channel].returns.top()));
        return true;
      }
      process.waits_for = -1;
      process.cursor = process.reached = last + 1;
      ++process.record;
      continue;
    }
    if (code == kEnd) {
      if (process.gated && process.cursor - 1 == t && !settling_) {
        process.goes_on = true;
        acts(number, t);
        return true;
      }
      process.running = false;
      process.record = argument ? 0 : process.record + 1;
      finish(process.entity, process.cursor - 1);
      return true;
    }
    if (code == kWait) {
      process.cursor += argument;
      ++process.record;
      continue;
    }
    if (code == kDrain) {
      process.cursor = process.issued + argument;
      process.issued = kNever;
      ++process.record;
      continue;
    }
    const std::int32_t* variant = code < 0 ? nullptr : process.variants[code];
    if (variant && variant[0] == kAsks) {
      auto& asked = process.later[process.cursor - process.stood];
      for (int each = 0; each < variant[1]; ++each) asked.push_back({Later::kAsk, variant[2 + each]});
      ++process.record;
      continue;
    }
    if (process.cursor > t) {
      wait_for(number, process.cursor);
      return true;
    }
    if (process.gated && code == kCall && !settling_) {
      process.goes_on = true;
      acts(number, t);
      return true;
    }
    if (code == kCall) {
      process.waits_for = -2;
      start(process.children[argument], process.cursor);
      return true;
    }
    if (process.place == 0) process.reached = process.cursor;
    bool over = variant[0] == kSteps ? steps(process, variant + 1, t) : pipe(process, variant + 1, t);
    if (!over) {
      if (process.cursor > t && process.waits_for == -1) wait_for(number, process.cursor);
      return true;
    }
    repeated(process, argument);
  }
}

// A variant has been run once more, of so many times.
void Engine::repeated(Process& process, std::int32_t times) {
  process.place = 0;
  if (++process.turn < times) return;
  process.turn = 0;
  ++process.record;
}

bool Engine::act(int number, Time t) {
  bool fed = go(number, t);
  if (processes[number].gated) look_ahead(number, t);
  return fed;
}

bool Engine::steps(Process& process, const std::int32_t* code, Time t) {
  int count = code[0];
  while (process.place < count) {
    const std::int32_t* op = code + 1 + 2 * process.place;
    int channel = 0;
    switch (op[0]) {
      case kAdvance:
        process.cursor += op[1];
        process.reached = process.cursor;
        ++process.place;
        if (process.cursor > t && process.place < count) return false;
        continue;
      case kAsk:
        process.later[t - process.stood].push_back({Later::kAsk, op[1]});
        ++process.place;
        continue;
      case kLate:
        ++process.place;
        if (process.begun == t) {
          ++process.cursor;
          if (process.place < count) {
            // What follows in this step is counted from here on.
            process.reached = process.cursor;
            return false;
          }
        }
        continue;
      case kTryGet:
      case kTryPut:
      case kSee:
        attempt(process, op, t);
        break;
      case kGet:
        channel = process.channels[op[1]];
        if (!can_get(channels[channel], t)) return halted(process, channel, t);
        if (!fifos[channels[channel].fifo].had_word(t)) process.begun = t;
        passed(process, channel, t);
        get(channel, t);
        break;
      case kPut:
        channel = process.channels[op[1]];
        if (!can_put(channels[channel], t)) return halted(process, channel, t);
        passed(process, channel, t);
        put(channel, t);
        break;
    }
    process.cursor = t;
    ++process.place;
  }
  return true;
}

bool Engine::pipe(Process& process, const std::int32_t* code, Time t) {
  const std::int32_t ii = code[0], depth = code[1], fronts = code[2];
  const std::int32_t* front = code + 3;  // kind, channel, words, whether it happens at the issue
  const std::int32_t* rest = front + 4 * fronts;
  while (process.place < fronts) {
    const std::int32_t* op = front + 4 * process.place;
    int number = process.channels[op[1]];
    Channel& channel = channels[number];
    bool ready = op[0] == kTake   ? can_get(channel, t)
                 : op[0] == kGive ? can_put(channel, t)
                                  : channel.arrived - (channel.last_arrival == t) >=
                                        channel.promised + op[2];
    if (!ready) return blocked(process, number, t);
    passed(process, number, t);
    if (op[3]) break;  // the last one: it passes when the iteration is issued
    if (op[0] == kTake) get(number, t);
    if (op[0] == kGive) put(number, t);
    ++process.place;
  }
  const std::int32_t places = rest[0];
  const std::int32_t* place = rest + 1;  // channel, words
  for (int each = 0; each < places; ++each) {
    int number = process.channels[place[2 * each]];
    Channel& channel = channels[number];
    if (kept(channel, t) + place[2 * each + 1] > channel.buffer) return blocked(process, number, t);
    if (process.waits_for == number) passed(process, number, t);
  }
  process.waits_for = -1;
  if (ii > 1 && process.issued != kNever && t - process.issued < depth && (t - process.issued) % ii) {
    process.cursor = std::min(process.issued + depth, t + ii - (t - process.issued) % ii);
    process.reached = process.cursor;
    return false;
  }
  if (!process.gated) {
    issue(process, code, t);
    return true;
  }
  // Its first requests are those of this cycle, and whether they are granted decides.
  const std::int32_t* asks = rest + 1 + 2 * places;
  for (int part = 0; part < 3; ++part) asks += 1 + 2 * *asks;
  for (int each = 0; each < *asks; ++each)
    if (!asks[2 + 2 * each]) ask(process.clients[asks[1 + 2 * each]], t);
  process.issues = true;
  acts(static_cast<int>(&process - processes.data()), t);
  return false;
}

Status Engine::run() {
  Agenda::Event event;
  while (end == kNever && agenda_.take(event)) {
    now = event.time;
    if (limit && now > limit) return Status::kTooLong;
    if (++events == most_events) return Status::kTooMuch;
    if (event.rank == kPump) {
      Channel& channel = channels[event.index];
      if (channel.pump == now) channel.pump = kNever;
      pump(event.index, now);
    } else if (event.rank == kOut) {
      Channel& channel = channels[event.index];
      if (channel.out != now) continue;
      channel.out = kNever;
      out(event.index, now);
    } else if (event.rank == kGrant) {
      settle(now);
    } else if (processes[event.index].wake == now) {
      processes[event.index].wake = kNever;
      if (!act(event.index, now)) return Status::kHungry;
    }
  }
  for (auto& fifo : fifos) fifo.settle(now + 1);
  return end == kNever ? Status::kDeadlock : Status::kDone;
}

}  // namespace allo

