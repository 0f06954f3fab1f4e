// Ports of memories that one of several processes is granted in a cycle: the others stand still in it.
//
// A process that stands still does in the next cycle what it would have done in this one: its pipelines and its
// steps do not move, and neither does what it calls, nor the members of a region that stands still. Words still
// pass in front of its pipelines and in its steps. What moves is known when all have asked, so a process that may
// stand still does nothing that a port may delay before the cycle settles.

#include "regions.hpp"

#include <algorithm>

namespace allo {

// Find the processes that may stand still, and with whom.
void Engine::gate() {
  for (auto& process : processes) process.gated = false;
  for (auto& entity : entities) entity.inside.clear();
  if (clients.empty()) return;
  for (std::size_t number = 0; number < processes.size(); ++number)
    for (int each = processes[number].entity; each >= 0; each = entities[each].parent) {
      if (entities[each].clients.empty()) continue;
      processes[number].gated = true;
      entities[each].inside.push_back(static_cast<std::int32_t>(number));
    }
}

// Ask for a port, and for those that the regions around have to ask for.
void Engine::ask(int number, Time t) {
  for (; number >= 0 && clients[number].asked != t; number = clients[number].above) {
    Client& client = clients[number];
    client.asked = t;
    if (entities[client.entity].asks == t) continue;
    entities[client.entity].asks = t;
    asking_.push_back(client.entity);
  }
  if (settles_ == t) return;
  settles_ = t;
  at(t, kGrant, 0);
}

void Engine::serve(int client, Time t) {
  if (clients[client].logged) served.emplace_back(client, t);
}

// A process does something in this cycle, unless it stands still.
void Engine::acts(int number, Time t) {
  if (processes[number].acts == t) return;
  processes[number].acts = t;
  acting_.push_back(number);
  if (settles_ == t) return;
  settles_ = t;
  at(t, kGrant, 0);
}

void Engine::look_ahead(int number, Time t) {
  Process& process = processes[number];
  if (!process.running || process.halted != kNever || process.later.empty()) return;
  const auto& [first, due] = *process.later.begin();
  if (first + process.stood > t) {
    wake(number, first + process.stood);
    return;
  }
  for (const Later& what : due)
    if (what.what == Later::kAsk) ask(process.clients[what.index], t);
  acts(number, t);
}

bool Engine::granted(const Client& client, Time t) const {
  if (!client.waits || client.asked != t) return true;
  for (int number : ports[client.port]) {
    const Client& other = clients[number];
    if (other.rank < client.rank && other.asked == t) return false;
  }
  return true;
}

void Engine::stand_still(int number, Time t) {
  Process& process = processes[number];
  if (!process.running || process.stopped == t) return;
  process.stopped = t;
  if (process.halted == kNever) {
    ++process.stood;
    if (process.issued != kNever) ++process.issued;
  }
  if (process.issues) process.reached = t + 1;
  if (process.cursor > t) {
    ++process.cursor;
    if (process.reached > t) ++process.reached;
  }
  wake(number, t + 1);
}

// An iteration enters its pipeline: what it does there is known from here on.
void Engine::issue(Process& process, const std::int32_t* code, Time t) {
  const std::int32_t ii = code[0], fronts = code[2];
  const std::int32_t* front = code + 3;
  const std::int32_t places = front[4 * fronts];
  const std::int32_t* place = front + 4 * fronts + 1;
  for (int each = 0; each < fronts; ++each) {
    const std::int32_t* op = front + 4 * each;
    int number = process.channels[op[1]];
    if (op[0] == kPromised) {
      channels[number].promised += op[2];
      if (channels[number].called) pump_at(t + 1, number);
    }
    if (op[3] && op[0] == kTake) get(number, t);
    if (op[3] && op[0] == kGive) put(number, t);
  }
  for (int each = 0; each < places; ++each) {
    Channel& channel = channels[process.channels[place[2 * each]]];
    channel.kept += place[2 * each + 1];
  }
  const std::int32_t* timed = place + 2 * places;
  // Gets from buffers, puts into them, places that are not used, and ports: channel or client and cycle of each.
  for (int part = 0; part < 4; ++part) {
    std::int32_t count = *timed++;
    for (int each = 0; each < count; ++each, timed += 2) {
      Later what{part == 0   ? Later::kConsume
                 : part == 1 ? Later::kPut
                 : part == 2 ? Later::kSkip
                             : Later::kAsk,
                 part < 3 ? process.channels[timed[0]] : timed[0]};
      if (!process.gated || (!timed[1] && part < 3))
        do_later(what, t + timed[1]);
      else if (!timed[1])
        serve(process.clients[timed[0]], t);
      else
        process.later[t + timed[1] - process.stood].push_back(what);
    }
  }
  process.issued = t;
  process.cursor = process.reached = t + ii;
}

void Engine::do_later(const Later& what, Time t) {
  Channel& channel = channels[what.index];
  if (what.what == Later::kConsume) {
    channel.consumptions.push_back(t);
    pump_at(t + 1, what.index);
  } else if (what.what == Later::kPut) {
    bool first = channel.coming.empty();
    channel.coming.push_back(t);
    if (first) out_at(t, what.index);
  } else {
    channel.returns.push(t + 1);
    if (processes[channel.process].waits_for == what.index) wake(channel.process, t + 1);
  }
}

// All have asked: whoever is not served stands still, and the others move.
void Engine::settle(Time t) {
  std::vector<int> asking, acting;
  std::swap(asking, asking_);
  std::swap(acting, acting_);
  settling_ = true;
  for (int entity : asking)
    for (int client : entities[entity].clients)
      if (!granted(clients[client], t)) {
        for (int process : entities[entity].inside) stand_still(process, t);
        break;
      }
  auto moves = [&](int number) {
    return processes[number].running && processes[number].stopped != t;
  };
  for (int number : acting) {
    Process& process = processes[number];
    if (!moves(number)) continue;
    while (process.halted == kNever && !process.later.empty() &&
           process.later.begin()->first + process.stood <= t) {
      for (const Later& what : process.later.begin()->second)
        if (what.what == Later::kAsk)
          serve(process.clients[what.index], t);
        else
          do_later(what, t);
      process.later.erase(process.later.begin());
    }
    if (!process.issues) continue;
    const std::int32_t* record = process.trace.records + 2 * process.record;
    issue(process, process.variants[record[0]] + 1, t);
    repeated(process, record[1]);
  }
  for (int number : acting) {
    Process& process = processes[number];
    bool goes_on = moves(number) && (process.issues || process.goes_on);
    process.issues = process.goes_on = false;
    if (goes_on) go(number, t);
    if (process.running && process.halted == kNever && !process.later.empty())
      wake(number, std::max(t + 1, process.later.begin()->first + process.stood));
  }
  settling_ = false;
}

}  // namespace allo
