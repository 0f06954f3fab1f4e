// The C functions by which Python sets up and runs the models of buses.
#include <cstdio>

#include "host.hpp"
#include "memory.hpp"
#include "sim.hpp"
#include "stream.hpp"

using namespace allo;

namespace {

constexpr int RESET_CYCLES = 4;
constexpr int QUIET_CYCLES = 8;  // behind the end, in which no bus may move

Sim& of(void* sim) { return *static_cast<Sim*>(sim); }

template <typename T> T& agent(void* sim, const char* name) { return *static_cast<T*>(of(sim).named.at(name)); }

template <typename T, typename... Args> void add(void* sim, const char* name, Args... args) {
    auto made = std::make_unique<T>(args...);
    of(sim).named[name] = made.get();
    of(sim).agents.push_back(std::move(made));
}

void cycle(Sim& sim, Function edge) {
    const Wire& clock = sim.wire("ap_clk");
    clock.put(1);
    sim.clocking.call(edge);
    for (auto& each : sim.agents) each->drive(sim);
    clock.put(0);
    sim.clocking.call(sim.clocking.settle);
    ++sim.cycle;
}

}  // namespace

extern "C" {

void* allo_bus_new(void* settle, void* edge, void* reset, void* handle, int packed) {
    auto* sim = new Sim;
    auto function = [](void* at) { return reinterpret_cast<Function>(at); };
    sim->clocking = {function(settle), function(edge), function(reset), handle, packed != 0};
    return sim;
}

void allo_bus_delete(void* sim) { delete &of(sim); }

void allo_bus_wire(void* sim, const char* name, void* at, uint32_t width) {
    of(sim).wires[name] = {static_cast<uint8_t*>(at), width};
}

void allo_bus_memory(void* sim, const char* name, uint32_t width, uint32_t outstanding, int reads, int writes, int ids,
                     int singles) {
    add<Memory>(sim, name, name, width, outstanding, reads != 0, writes != 0, ids != 0, singles != 0);
}

void allo_bus_pace(void* sim, const char* name, uint64_t latency, uint64_t ticks, uint64_t stall, uint64_t longest) {
    agent<Memory>(sim, name).pace = {latency, ticks, stall, longest};
}

void allo_bus_break(void* sim, const char* name, int broken) { agent<Memory>(sim, name).broken = broken != 0; }
void allo_bus_host(void* sim, const char* name) { add<Host>(sim, name, name); }
void allo_bus_pins(void* sim) { add<Pins>(sim, "ap_start"); }
void allo_bus_stream(void* sim, const char* name, int output, uint64_t stall) {
    add<Stream>(sim, name, name, output != 0);
    agent<Stream>(sim, name).stall = stall;
}
void allo_bus_ram(void* sim, const char* name, int reads, int writes) {
    add<Ram>(sim, name, name, reads != 0, writes != 0);
}

void allo_bus_clear(void* sim) { of(sim).regions.clear(); }

void allo_bus_region(void* sim, const char* name, uint64_t base, uint64_t bytes, void* data, int readable,
                     int writable) {
    of(sim).regions.push_back({base, bytes, static_cast<uint8_t*>(data), name, readable != 0, writable != 0});
}

// The last region lies on channels of dynamic memory.
void allo_bus_dram(void* sim, void* ask, void* answer, void* const* channels, uint64_t ways, uint64_t line,
                   uint64_t grain) {
    auto& dram = of(sim).regions.back().dram;
    dram.ask = reinterpret_cast<decltype(dram.ask)>(ask);
    dram.answer = reinterpret_cast<decltype(dram.answer)>(answer);
    dram.channels.assign(channels, channels + ways), dram.line = line, dram.grain = grain;
}

void allo_bus_words(void* sim, const char* name, void* data, uint64_t cell, uint64_t count, int whole) {
    auto& stream = agent<Stream>(sim, name);
    stream.data = static_cast<uint8_t*>(data), stream.cell = cell, stream.count = count, stream.whole = whole;
}

void allo_bus_bank(void* sim, const char* name, void* data, uint64_t cell, uint64_t words, uint64_t stride) {
    auto& ram = agent<Ram>(sim, name);
    ram.data = static_cast<uint8_t*>(data), ram.cell = cell, ram.words = words, ram.stride = stride;
}

void allo_bus_script(void* sim, const char* name, const uint64_t* steps, uint64_t count) {
    auto& script = agent<Host>(sim, name).script;
    script.clear();
    for (uint64_t k = 0; k < count; ++k) script.push_back({steps[4 * k], steps[4 * k + 1], steps[4 * k + 2], steps[4 * k + 3]});
}

uint64_t allo_bus_answer(void* sim, const char* name, uint64_t number) {
    return agent<Host>(sim, name).answers.at(number);
}

void allo_bus_put(void* sim, const char* name, const uint8_t* value) { of(sim).wire(name).set(value); }
void allo_bus_get(void* sim, const char* name, uint8_t* value) {
    auto word = of(sim).wire(name).word();
    std::memcpy(value, word.data(), word.size());
}

void allo_bus_reset(void* pointer) {
    auto& sim = of(pointer);
    const Wire& reset = sim.wire("ap_rst_n");
    sim.running = false, sim.fault.clear();
    reset.put(0);
    sim.wire("ap_clk").put(0);
    for (auto& each : sim.agents) each->silence(sim);
    sim.fault.clear();  // registers hold anything before the first edge in reset
    sim.clocking.call(sim.clocking.settle);
    for (int k = 0; k < RESET_CYCLES; ++k) {
        sim.wire("ap_clk").put(1);
        sim.clocking.call(sim.clocking.reset);
        sim.wire("ap_clk").put(0);
        sim.clocking.call(sim.clocking.settle);
    }
    for (auto& each : sim.agents) each->silence(sim);
    reset.put(1);
    sim.clocking.call(sim.clocking.settle);
}

void allo_bus_begin(void* pointer, uint64_t seed, uint64_t stall) {
    auto& sim = of(pointer);
    sim.cycle = sim.started = sim.ended = sim.moved = 0;
    sim.stall = stall, sim.running = sim.finished = false, sim.quiet = 0;
    for (auto& each : sim.agents) each->chance.seed(seed, each->name), each->begin(sim);
    sim.clocking.call(sim.clocking.settle);
}

// Runs up to `budget` cycles: 0 when it goes on, 1 when the run is over, 2 when a rule is broken.
int allo_bus_step(void* pointer, uint64_t budget) {
    auto& sim = of(pointer);
    for (uint64_t k = 0; k < budget; ++k) {
        bool was_running = sim.running;
        for (auto& each : sim.agents) each->sample(sim);
        if (was_running && !sim.running)
            for (auto& each : sim.agents) each->finish(sim);
        bool over = !sim.running;
        for (auto& each : sim.agents) over = over && each->over();
        sim.quiet += over;
        if (!sim.fault.empty()) return 2;
        if (over && sim.quiet > QUIET_CYCLES) return 1;
        cycle(sim, sim.clocking.edge);
    }
    return 0;
}

uint64_t allo_bus_cycle(void* sim) { return of(sim).cycle; }
uint64_t allo_bus_measured(void* sim) { return of(sim).ended - of(sim).started; }
uint64_t allo_bus_moved(void* sim) { return of(sim).moved; }
uint64_t allo_bus_passed(void* sim, const char* name) { return agent<Stream>(sim, name).position; }
uint64_t allo_bus_bytes(void* sim, const char* name, int written) {
    auto& memory = agent<Memory>(sim, name);
    return written ? memory.bytes_written : memory.bytes_read;
}
const char* allo_bus_fault(void* sim) { return of(sim).fault.c_str(); }

}  // extern "C"
