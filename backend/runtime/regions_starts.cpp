#include "regions.hpp"

#include <algorithm>

namespace allo {

// --- starts and ends -------------------------------------------------------------------

void Engine::begin(int top) {
  for (auto& fifo : fifos) {
    fifo.clear();
    fifo.words = fifo.most = fifo.wanted = 0;
    fifo.stamp = kNever;
    if (fifo.outside) fifo.count = fifo.producers.empty() ? fifo.given : 0;
  }
  for (auto& channel : channels) {
    channel.clear();
    channel.stalled = 0;
  }
  for (auto& client : clients) client.asked = kNever;
  asking_.clear();
  acting_.clear();
  settles_ = kNever;
  gate();
  for (auto& process : processes) {
    process.record = process.turn = 0;
    process.place = 0;
    process.running = false;
    process.waits_for = -1;
    process.wake = kNever;
  }
  for (auto& entity : entities) entity.start = entity.done = entity.asks = kNever;
  waits.clear();
  served.clear();
  agenda_.clear();
  now = 0;
  end = kNever;
  events = 0;
  hungry = -1;
  top_ = top;
  start(top, 0);
}

void Engine::start(int number, Time t) {
  Entity& entity = entities[number];
  entity.start = t;
  entity.done = kNever;
  if (!entity.region) {
    Process& process = processes[entity.index];
    process.running = true;
    process.cursor = process.reached = t + 1;
    process.issued = process.begun = kNever;
    process.waits_for = -1;
    process.place = 0;
    process.turn = 0;
    process.later.clear();
    process.stood = 0;
    process.halted = process.acts = process.stopped = kNever;
    process.issues = process.goes_on = false;
    for (int channel : process.channels) {
      if (channels[channel].putting) continue;
      channels[channel].clear();
      pump_at(t + 1, channel);
    }
    wake(entity.index, t + 1);
    return;
  }
  Region& region = regions[entity.index];
  region.entity = number;
  region.start = t;
  for (int fifo : region.fifos) fifos[fifo].clear();
  region.done.assign(region.members.size(), kNever);
  if (region.turns) {
    region.begun.assign(region.members.size(), 0);
    region.ended.assign(region.members.size(), {});
    region.left = static_cast<int>(region.members.size());
    for (std::size_t slot = 0; slot < region.members.size(); ++slot) turn(region, slot, t);
    return;
  }
  region.left = 0;
  for (auto each : region.endless) region.left += !each;
  if (region.members.empty()) finish(number, t + 1);
  for (std::size_t slot = 0; slot < region.members.size(); ++slot)
    if (region.after[slot].empty()) start(region.members[slot], t);
}

void Engine::turn(Region& region, int slot, Time t) {
  std::int64_t number = region.begun[slot];
  if (number == region.turns || static_cast<std::int64_t>(region.ended[slot].size()) < number)
    return;
  Time ready = number ? region.ended[slot].back() : region.start;
  for (const auto& need : region.needs) {
    if (need.second != slot) continue;
    std::int64_t wanted = number - need.distance;  // the iteration that must have ended
    const auto& ends = region.ended[need.first];
    if (wanted < 0) continue;
    if (static_cast<std::int64_t>(ends.size()) <= wanted) return;
    ready = std::max(ready, ends[wanted]);
  }
  ++region.begun[slot];
  start(region.members[slot], std::max(ready, t));
}

void Engine::member_done(Region& region, int slot, Time t) {
  if (region.turns) {
    region.ended[slot].push_back(t);
    region.done[slot] = t;
    if (region.begun[slot] == region.turns && --region.left == 0) {
      finish(region.entity, *std::max_element(region.done.begin(), region.done.end()));
      return;
    }
    for (std::size_t other = 0; other < region.members.size(); ++other) turn(region, other, t);
    return;
  }
  region.done[slot] = t;
  for (std::size_t other = 0; other < region.members.size(); ++other) {
    const auto& before = region.after[other];
    if (std::find(before.begin(), before.end(), slot) == before.end()) continue;
    Time last = kNever;
    bool all = true;
    for (int first : before) {
      all = all && region.done[first] != kNever;
      last = std::max(last, region.done[first]);
    }
    if (all) start(region.members[other], last);
  }
  if (region.endless[slot] || --region.left) return;
  // Registers join the ends of many processes: one that ends last is heard of later.
  int early = 0;
  Time last = kNever, settled = kNever;
  for (std::size_t each = 0; each < region.members.size(); ++each) {
    if (region.endless[each]) continue;
    early += region.early[each];
    Time& latest = region.early[each] ? settled : last;
    latest = std::max(latest, region.done[each]);
  }
  if (early) last = std::max(last, settled + (early > 16 ? 3 : 2));
  for (std::size_t each = 0; each < region.members.size(); ++each)
    if (region.endless[each] && !entities[region.members[each]].region)
      processes[entities[region.members[each]].index].running = false;
  finish(region.entity, last);
}

void Engine::finish(int number, Time t) {
  Entity& entity = entities[number];
  entity.done = t;
  if (number == top_) {
    end = t;
    return;
  }
  Entity& parent = entities[entity.parent];
  if (parent.region) {
    member_done(regions[parent.index], entity.slot, t);
    return;
  }
  Process& process = processes[parent.index];
  process.cursor = process.reached = t + 1;
  process.waits_for = -1;
  ++process.record;
  wake(parent.index, t + 1);
}

}  // namespace allo
