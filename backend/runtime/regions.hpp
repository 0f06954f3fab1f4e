// Processes and FIFOs of a compiled region in time: what the hardware does with the traces of its processes.
//
// Every transfer is of a cycle. What a FIFO shows in a cycle is what its registers hold at the start of it, so
// the events of one cycle may be taken in any order, but that a word which comes to an elastic buffer passes
// through to a process that waits for it in this cycle.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "regions_agenda.hpp"

namespace allo {

constexpr Time kNever = -(Time(1) << 60);

// What a record of a trace is where it is no number of a variant.
enum Record : std::int32_t { kWait = -1, kDrain = -2, kCall = -3, kEnd = -4, kSettle = -5 };

// What a variant of a body is made of; see variants.py, which writes it.
enum Kind : std::int32_t { kSteps = 0, kPipe = 1, kAsks = 2 };
enum Step : std::int32_t { kGet, kPut, kAdvance, kAsk, kLate, kTryGet, kTryPut, kSee };
enum Front : std::int32_t { kTake, kGive, kPromised };

enum class Status : std::int32_t { kDone = 0, kDeadlock = 1, kHungry = 2, kTooLong = 3, kTooMuch = 4 };

struct Fifo {
  Time depth = 1;
  Time count = 0, words = 0, most = 0;
  Time wanted = 0;  // the depth with which no word so far would have waited for room
  Time last_push = kNever, push_before = kNever, last_pop = kNever, stamp = kNever;
  std::vector<int> producers, consumers;  // channels
  bool outside = false;
  Time given = Time(1) << 60;  // words that come from outside

  bool has_word(Time t) const { return last_pop != t && count - (last_push == t) > 0; }
  // Whether the word that there is now has been there a cycle ago, too.
  bool had_word(Time t) const {
    Time young = (last_push == t) + (last_push == t - 1) + (last_push == t && push_before == t - 1);
    return last_pop != t && count - young > 0;
  }
  bool has_room(Time t) const { return last_push != t && count + (last_pop == t) < depth; }
  void settle(Time t) {
    if (t == stamp) return;
    if (count > most) most = count;
    stamp = t;
  }
  void push(Time t) {
    settle(t);
    Time held = count + (last_pop == t) + 1;
    if (held > wanted) wanted = held;
    push_before = last_push;
    last_push = t;
    ++count;
    ++words;
  }
  void pop(Time t) {
    settle(t);
    last_pop = t;
    --count;
  }
  void clear() {
    count = 0;
    last_push = push_before = last_pop = kNever;
  }
};

// One end of a FIFO, of one process, perhaps behind an elastic buffer.
struct Channel {
  int fifo = 0, process = 0;
  bool putting = false;
  int buffer = 0, late = 0;
  bool called = false;  // its buffer is a called function's, and takes no word that is not asked for
  // Words taken into the buffer, those promised or consumed, and when promised ones are.
  Time arrived = 0, last_arrival = kNever, promised = 0, consumed = 0;
  std::deque<Time> consumptions;
  // Places kept, when they are free again, and when words come to the buffer.
  Time kept = 0;
  std::priority_queue<Time, std::vector<Time>, std::greater<Time>> returns;
  std::deque<Time> coming;
  Time pump = kNever, out = kNever;  // the last cycle for which each has been asked, until it comes
  Time stalled = 0;

  void clear() {
    arrived = promised = consumed = kept = 0;
    last_arrival = pump = out = kNever;
    consumptions.clear();
    coming.clear();
    returns = {};
  }
};

struct Trace {
  const std::int32_t* records = nullptr;
  std::int64_t size = 0;
};

// A process or a region at a port of a memory; those of the port with lower ranks are served first.
struct Client {
  int entity = -1;
  int port = -1, rank = 0;  // no port where it is asked for on behalf of the client above alone
  bool waits = false;
  int above = -1;  // the client through which the region around asks when this one does
  bool logged = false;  // whether the cycles in which it is served are kept
  Time asked = kNever;
};

// What a process does when so many cycles have passed in which it did not stand still.
struct Later {
  enum What : std::int32_t { kAsk, kConsume, kPut, kSkip } what;
  int index;  // of a client or a channel
};

struct Process {
  std::vector<std::int32_t> clients;  // of this process, by the numbers in variants
  // One that may stand still for a port (regions_ports.cpp): what it does later, by cycles less those in which
  // it stood still; since when a step waits, which keeps all of that back; what it wants to do in a cycle.
  bool gated = false, issues = false, goes_on = false;
  std::map<Time, std::vector<Later>> later;
  Time stood = 0, halted = kNever, acts = kNever, stopped = kNever;
  std::vector<const std::int32_t*> variants;
  std::vector<std::int32_t> channels;  // of this process, by the numbers in variants
  std::vector<std::int32_t> children;
  Trace trace;
  int entity = -1;
  // Where it is: record, repetition, place in the variant, cycle.
  std::int64_t record = 0, turn = 0;
  int place = 0;
  Time cursor = 0, reached = 0, issued = kNever, begun = 0;
  int waits_for = -1;  // channel, -2 for a child
  bool running = false;
  std::int32_t answer = 0;  // whether what it has asked for last without waiting was there
  Time wake = kNever;
};

struct Region {
  std::vector<std::int32_t> members, fifos;
  std::vector<std::vector<std::int32_t>> after;
  std::vector<std::int8_t> endless, early;
  // A region that is a loop: its iterations, and by how many one may be ahead of another.
  std::int64_t turns = 0;
  struct Need {
    int first, second;
    std::int64_t distance;
  };
  std::vector<Need> needs;
  std::vector<Time> done;
  std::vector<std::vector<Time>> ended;
  std::vector<std::int64_t> begun;
  int left = 0, entity = -1;
  Time start = 0;
};

struct Entity {
  bool region = false;
  int index = 0, parent = -1, slot = 0;
  Time start = kNever, done = kNever;
  std::vector<std::int32_t> clients, inside;  // its clients; all processes that stand still when it does
  Time asks = kNever;
};

struct Wait {
  std::int32_t channel;
  Time from, to;
};

class Engine {
 public:
  std::vector<Fifo> fifos;
  std::vector<Channel> channels;
  std::vector<Client> clients;
  std::vector<std::vector<std::int32_t>> ports;  // clients
  std::vector<Process> processes;
  std::vector<Region> regions;
  std::vector<Entity> entities;
  std::vector<Wait> waits;
  std::vector<std::pair<std::int32_t, Time>> served;  // clients, and when
  Time limit = 0, now = 0, end = kNever;
  std::int64_t most_events = 0;
  bool keeps_waits = false;
  int hungry = -1;
  std::int64_t events = 0;

  void begin(int top);
  Status run();
  void feed(int process, const std::int32_t* records, std::int64_t size) {
    processes[process].trace = {records, size};
    wake(process, processes[process].cursor);
  }

 private:
  enum Rank : int { kPump = 0, kProcess = 1, kOut = 2, kGrant = 3 };
  Agenda agenda_;
  int top_ = -1;
  bool settling_ = false;  // all processes have asked for the ports that they want in this cycle
  Time settles_ = kNever;
  std::vector<int> asking_, acting_;  // entities that ask in this cycle, processes that do what a port may delay

  void start(int entity, Time t);
  void finish(int entity, Time t);
  void member_done(Region& region, int slot, Time t);
  void turn(Region& region, int slot, Time t);
  void wake(int process, Time t);
  void wake_channel(int channel, Time t);
  void at(Time t, Rank rank, int index) { agenda_.add(t, rank, index); }
  void pump_at(Time t, int channel);
  void out_at(Time t, int channel);
  void pump(int channel, Time t, bool passing = false);
  bool claimed(int channel, Time t) const;
  void wait_for(int process, Time t);
  void out(int channel, Time t);
  void pushed(int fifo, Time t);
  void popped(int fifo, Time t);
  Time kept(Channel& channel, Time t);
  bool can_get(Channel& channel, Time t);
  bool can_put(Channel& channel, Time t);
  void get(int channel, Time t);
  void put(int channel, Time t);
  void attempt(Process& process, const std::int32_t* op, Time t);
  bool act(int process, Time t);
  bool go(int process, Time t);
  void repeated(Process& process, std::int32_t times);
  bool steps(Process& process, const std::int32_t* code, Time t);
  bool pipe(Process& process, const std::int32_t* code, Time t);
  void issue(Process& process, const std::int32_t* code, Time t);
  void gate();
  void ask(int client, Time t);
  void serve(int client, Time t);
  void acts(int process, Time t);
  void look_ahead(int process, Time t);
  bool granted(const Client& client, Time t) const;
  void stand_still(int process, Time t);
  void settle(Time t);
  void do_later(const Later& what, Time t);
  bool blocked(Process& process, int channel, Time t);
  bool halted(Process& process, int channel, Time t);
  void passed(Process& process, int channel, Time t);
};

}  // namespace allo
