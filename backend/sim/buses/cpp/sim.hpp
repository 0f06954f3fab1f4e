// What every bus model uses: the wires of a design, its clock, chance, and the first broken rule.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace allo {

// A number from xorshift64; its state is never 0.
class Chance {
public:
    void seed(uint64_t seed, const std::string& name) {
        state_ = seed * 0x9E3779B97F4A7C15ull + 1;
        for (unsigned char byte : name) state_ = (state_ ^ byte) * 0x100000001B3ull;
        state_ |= 1;
        for (int k = 0; k < 8; ++k) next();
    }
    uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    // Whether chance of threshold / 2^32 strikes.
    bool strikes(uint64_t threshold) { return (next() >> 32) < threshold; }
    bool coin() { return next() >> 63; }

private:
    uint64_t state_ = 1;
};

// A port of the design; an engine keeps it as little-endian bytes.
struct Wire {
    uint8_t* at = nullptr;
    uint32_t width = 0;

    uint32_t bytes() const { return (width + 7) / 8; }
    uint64_t get() const {
        uint64_t value = 0;
        std::memcpy(&value, at, bytes() < 8 ? bytes() : 8);
        return value;
    }
    void put(uint64_t value) const {
        if (width < 64) value &= (uint64_t(1) << width) - 1;
        std::memcpy(at, &value, bytes() < 8 ? bytes() : 8);
    }
    std::string word() const { return std::string(reinterpret_cast<const char*>(at), bytes()); }
    void set(const uint8_t* data) const { std::memcpy(at, data, bytes()); }
};

struct Sim;

// One bus, seen from outside the design. A cycle: `sample` sees the settled ports and decides what
// follows; behind the clock's edge `drive` puts that on the ports.
class Agent {
public:
    explicit Agent(std::string name) : name(std::move(name)) {}
    virtual ~Agent() = default;
    virtual void begin(Sim&) {}
    virtual void silence(Sim&) = 0;  // idle values, and what must be low during reset
    virtual void sample(Sim&) = 0;
    virtual void drive(Sim&) = 0;
    virtual void finish(Sim&) {}  // the design says that it is done: nothing may be left
    virtual bool over() const { return true; }

    const std::string name;
    Chance chance;
};

// Channels of dynamic memory, which are another library's: lines lie on them in turn.
struct Dram {
    static constexpr uint64_t OPEN = ~uint64_t(0);
    struct Line { void* channel = nullptr; uint64_t ticket = 0, end = 0; };
    uint64_t (*ask)(void*, uint64_t, uint64_t, uint64_t, uint64_t) = nullptr;  // address, bytes, tick, whether it writes
    uint64_t (*answer)(void*, uint64_t, uint64_t) = nullptr;                   // ticket, tick: when, or OPEN
    std::vector<void*> channels;
    uint64_t line = 64, grain = 64;  // bytes: of a line, and of what the memory moves at once

    // The bursts of the memory that a single word touches.
    Line single(uint64_t address, uint64_t bytes, uint64_t cycle, bool write) const {
        uint64_t number = address / line, ways = channels.size(), first = address % line / grain * grain;
        uint64_t size = (address % line + bytes + grain - 1) / grain * grain - first;
        void* at = channels[number % ways];
        return {at, ask(at, number / ways * line + first, size, cycle * 256, write), (number + 1) * line};
    }
    Line submit(uint64_t address, uint64_t cycle, bool write) const {
        uint64_t number = address / line, ways = channels.size();
        void* at = channels[number % ways];
        return {at, ask(at, number / ways * line, line, cycle * 256, write), (number + 1) * line};
    }
    bool done(const Line& asked, uint64_t cycle) const {
        return answer(asked.channel, asked.ticket, cycle * 256) <= cycle * 256;
    }
};

struct Region {
    uint64_t base, bytes;
    uint8_t* data;
    std::string name;
    bool readable, writable;
    Dram dram = {};
};

using Function = void (*)(void*);

struct Clocking {
    Function settle, edge, reset;
    void* handle;
    bool packed;  // MLIR's packed functions take an array of pointers to their arguments
    void call(Function function) const {
        if (!packed) return function(handle);
        void* argument = handle;
        void* arguments[1] = {&argument};
        function(arguments);
    }
};

struct Sim {
    Clocking clocking;
    std::map<std::string, Wire> wires;
    std::vector<std::unique_ptr<Agent>> agents;
    std::map<std::string, Agent*> named;
    std::vector<Region> regions;
    std::string fault;
    uint64_t cycle = 0, started = 0, ended = 0, moved = 0;
    uint64_t stall = 0;  // the probability of a stall, times 2^32
    bool running = false, finished = false;
    int quiet = 0;

    const Wire& wire(const std::string& name) const {
        auto found = wires.find(name);
        if (found == wires.end()) throw std::runtime_error("no port " + name);
        return found->second;
    }
    // Keeps the first broken rule.
    void fail(const std::string& port, const std::string& what) {
        if (fault.empty()) fault = port + " " + what;
    }
    const Region* region(uint64_t address) const {
        for (auto& each : regions)
            if (address >= each.base && address < each.base + each.bytes) return &each;
        return nullptr;
    }
};

// What must hold for valid and its payload from one cycle to the next.
class Offer {
public:
    // Holds the design's side of a channel to the rule that an offer stays, unchanged, until it is taken.
    void hold(Sim& sim, const std::string& port, const char* valid, bool is_valid, bool ready,
              const std::string& payload) {
        if (pending_ && !is_valid)
            sim.fail(port, std::string("lowers ") + valid + " before the other side was ready");
        else if (pending_ && payload != payload_)
            sim.fail(port, std::string("changes what it offers while ") + valid + " waits");
        pending_ = is_valid && !ready;
        payload_ = payload;
    }
    void forget() { pending_ = false; }

private:
    bool pending_ = false;
    std::string payload_;
};

}  // namespace allo
