// What Python calls of the engine of regions.

#include <algorithm>

#include "regions.hpp"

using allo::Engine;

extern "C" {

std::int32_t allo_regions_abi() { return 6; }
Engine* allo_regions_new() { return new Engine(); }
void allo_regions_free(Engine* engine) { delete engine; }

// Each row: depth, whether its other end is outside.
void allo_regions_fifos(Engine* engine, const std::int64_t* rows, std::int64_t count) {
  for (std::int64_t each = 0; each < count; ++each) {
    allo::Fifo fifo;
    fifo.depth = rows[2 * each];
    fifo.outside = rows[2 * each + 1] != 0;
    engine->fifos.push_back(fifo);
  }
}

void allo_regions_fill(Engine* engine, std::int32_t fifo, std::int64_t words) {
  engine->fifos[fifo].given = words;
}

void allo_regions_depths(Engine* engine, const std::int64_t* depths) {
  for (auto& fifo : engine->fifos) fifo.depth = *depths++;
}

std::int32_t allo_regions_process(Engine* engine, std::int32_t parent, std::int32_t slot) {
  allo::Process process;
  process.entity = static_cast<int>(engine->entities.size());
  engine->entities.push_back({false, static_cast<int>(engine->processes.size()), parent, slot});
  engine->processes.push_back(process);
  return process.entity;
}

void allo_regions_child(Engine* engine, std::int32_t entity, std::int32_t child) {
  engine->processes[engine->entities[entity].index].children.push_back(child);
}

// A channel of a process: FIFO, whether it puts, words of its buffer, cycles that a place is late, whether the
// buffer is a called function's.
void allo_regions_channel(Engine* engine, std::int32_t entity, std::int32_t fifo,
                          std::int32_t putting, std::int32_t buffer, std::int32_t late,
                          std::int32_t called) {
  int process = engine->entities[entity].index, number = static_cast<int>(engine->channels.size());
  allo::Channel channel;
  channel.fifo = fifo;
  channel.process = process;
  channel.putting = putting != 0;
  channel.buffer = buffer;
  channel.late = late;
  channel.called = called != 0;
  engine->channels.push_back(channel);
  engine->processes[process].channels.push_back(number);
  auto& ends = putting ? engine->fifos[fifo].producers : engine->fifos[fifo].consumers;
  ends.push_back(number);
}

// The next client of a process or a region, at a port that is made where it is new, or -1; its number.
std::int32_t allo_regions_client(Engine* engine, std::int32_t entity, std::int32_t port,
                                 std::int32_t rank, std::int32_t waits, std::int32_t above,
                                 std::int32_t logged) {
  int number = static_cast<int>(engine->clients.size());
  engine->clients.push_back({entity, port, rank, waits != 0, above, logged != 0, allo::kNever});
  if (port >= static_cast<int>(engine->ports.size())) engine->ports.resize(port + 1);
  if (port >= 0) engine->ports[port].push_back(number);
  auto& owner = engine->entities[entity];
  owner.clients.push_back(number);
  if (!owner.region) engine->processes[owner.index].clients.push_back(number);
  return number;
}

void allo_regions_variants(Engine* engine, std::int32_t entity, const std::int32_t* code,
                           const std::int64_t* starts, std::int64_t count) {
  auto& variants = engine->processes[engine->entities[entity].index].variants;
  variants.clear();
  for (std::int64_t each = 0; each < count; ++each) variants.push_back(code + starts[each]);
}

void allo_regions_trace(Engine* engine, std::int32_t entity, const std::int32_t* records,
                        std::int64_t size) {
  engine->processes[engine->entities[entity].index].trace = {records, size};
}

std::int32_t allo_regions_region(Engine* engine, std::int32_t parent, std::int32_t slot,
                                 std::int64_t turns) {
  allo::Region region;
  region.turns = turns;
  engine->entities.push_back({true, static_cast<int>(engine->regions.size()), parent, slot});
  engine->regions.push_back(region);
  return static_cast<std::int32_t>(engine->entities.size()) - 1;
}

void allo_regions_member(Engine* engine, std::int32_t entity, std::int32_t member,
                         std::int32_t endless, std::int32_t early, const std::int32_t* after,
                         std::int32_t count) {
  auto& region = engine->regions[engine->entities[entity].index];
  region.members.push_back(member);
  region.endless.push_back(static_cast<std::int8_t>(endless));
  region.early.push_back(static_cast<std::int8_t>(early));
  region.after.emplace_back(after, after + count);
}

void allo_regions_need(Engine* engine, std::int32_t entity, std::int32_t first,
                       std::int32_t second, std::int64_t distance) {
  engine->regions[engine->entities[entity].index].needs.push_back({first, second, distance});
}

void allo_regions_own(Engine* engine, std::int32_t entity, std::int32_t fifo) {
  engine->regions[engine->entities[entity].index].fifos.push_back(fifo);
}

void allo_regions_keep_waits(Engine* engine, std::int32_t keep) { engine->keeps_waits = keep != 0; }

void allo_regions_begin(Engine* engine, std::int32_t top, std::int64_t limit,
                        std::int64_t events) {
  engine->limit = limit;
  engine->most_events = events;
  engine->begin(top);
}

std::int32_t allo_regions_run(Engine* engine) { return static_cast<std::int32_t>(engine->run()); }

std::int32_t allo_regions_hungry(const Engine* engine) {
  return engine->hungry < 0 ? -1 : engine->processes[engine->hungry].entity;
}

std::int32_t allo_regions_answer(const Engine* engine, std::int32_t entity) {
  return engine->processes[engine->entities[entity].index].answer;
}

void allo_regions_feed(Engine* engine, std::int32_t entity, const std::int32_t* records,
                       std::int64_t size) {
  engine->feed(engine->entities[entity].index, records, size);
}

std::int64_t allo_regions_end(const Engine* engine) { return engine->end; }

// The last cycle in which a word passed to or from the outside, -1 where no stream there has come to its end.
std::int64_t allo_regions_last(const Engine* engine) {
  allo::Time last = 0;
  bool over = false;
  for (const auto& fifo : engine->fifos) {
    if (!fifo.outside) continue;
    last = std::max({last, fifo.last_push, fifo.last_pop});
    over = over || (fifo.producers.empty() ? fifo.count == 0 : fifo.count == fifo.depth);
  }
  return over ? last : -1;
}

// A number that grows with every word that enters or leaves a FIFO.
std::int64_t allo_regions_moves(const Engine* engine) {
  std::int64_t moves = 0;
  for (const auto& fifo : engine->fifos) moves += 2 * fifo.words - fifo.count;
  return moves;
}

std::int64_t allo_regions_events(const Engine* engine) { return engine->events; }

// Of each FIFO its highest fill, the words put into it, and the depth with which none would have waited.
void allo_regions_fills(const Engine* engine, std::int64_t* most, std::int64_t* words,
                        std::int64_t* wanted) {
  for (const auto& fifo : engine->fifos) {
    *most++ = fifo.most;
    *words++ = fifo.words;
    *wanted++ = fifo.wanted;
  }
}

// Of each channel the cycles that its process has waited for it; of each process the channel it waits for.
void allo_regions_stalls(const Engine* engine, std::int64_t* stalled, std::int32_t* waits_for) {
  for (const auto& channel : engine->channels) *stalled++ = channel.stalled;
  for (const auto& process : engine->processes) {
    bool behind = process.record >= process.trace.size;
    *waits_for++ = !process.running ? -3 : behind ? -5 : process.waits_for;
  }
}

// Start and end of each entity's last run.
void allo_regions_times(const Engine* engine, std::int64_t* starts, std::int64_t* ends) {
  for (const auto& entity : engine->entities) {
    *starts++ = entity.start;
    *ends++ = entity.done;
  }
}

// The clients whose cycles are kept, and the cycles in which they were served, in the order of these.
std::int64_t allo_regions_served(const Engine* engine, std::int64_t* rows) {
  if (rows)
    for (const auto& [client, time] : engine->served) {
      *rows++ = client;
      *rows++ = time;
    }
  return static_cast<std::int64_t>(engine->served.size());
}

std::int64_t allo_regions_waits(const Engine* engine, std::int64_t* rows) {
  if (rows)
    for (const auto& wait : engine->waits) {
      *rows++ = wait.channel;
      *rows++ = wait.from;
      *rows++ = wait.to;
    }
  return static_cast<std::int64_t>(engine->waits.size());
}

}
