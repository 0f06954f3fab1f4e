// The other ends of AXI4-Streams.
#pragma once

#include "sim.hpp"

namespace allo {

class Stream : public Agent {
public:
    Stream(const std::string& name, bool output) : Agent(name), output_(output) {}

    uint8_t* data = nullptr;
    uint64_t cell = 1, count = 0, position = 0;
    uint64_t stall = 0;  // a probability of its own, times 2^32

    void begin(Sim&) override {
        position = 0, valid_ = ready_ = ended_ = false;
        offer_.forget();
        after_valid_ = chance.coin();
    }
    void silence(Sim& sim) override {
        valid_ = ready_ = false;
        port(sim, output_ ? "TREADY" : "TVALID").put(0);
        if (output_ && port(sim, "TVALID").get()) sim.fail(name, "raises TVALID during reset");
    }
    void sample(Sim& sim) override { output_ ? take(sim) : feed(sim); }

    void drive(Sim& sim) override {
        if (output_) return port(sim, "TREADY").put(ready_);
        port(sim, "TVALID").put(valid_);
        std::vector<uint8_t> noise(port(sim, "TDATA").bytes(), uint8_t(sim.stall ? chance.next() : 0));
        port(sim, "TDATA").set(valid_ ? data + position * cell : noise.data());
    }

    void finish(Sim& sim) override {
        if (output_ && position > 0 && !ended_) sim.fail(name, "is done without TLAST on its last word");
    }

private:
    const Wire& port(Sim& sim, const char* signal) { return sim.wire(name + "_" + signal); }

    bool held(Sim& sim) { return chance.strikes(sim.stall > stall ? sim.stall : stall); }

    void feed(Sim& sim) {
        if (valid_ && port(sim, "TREADY").get()) valid_ = false, ++position, ++sim.moved;
        if (!valid_ && position < count && !held(sim)) valid_ = true;
    }

    void take(Sim& sim) {
        bool valid = port(sim, "TVALID").get(), last = port(sim, "TLAST").get();
        offer_.hold(sim, name, "TVALID", valid, ready_, port(sim, "TDATA").word() + char(last));
        bool fires = valid && ready_;
        if (fires) {
            if (ended_) sim.fail(name, "sends a word behind the one with TLAST");
            ended_ = last, ++sim.moved;
            if (last && whole && position + 1 != count) sim.fail(name, "has TLAST on another word than the last");
            std::memcpy(data + position * cell, port(sim, "TDATA").at, cell);
            ++position;
        }
        ready_ = position < count && !(sim.stall && after_valid_ && (!valid || fires)) && !held(sim);
    }

public:
    bool whole = false;  // every run passes as many words as there is room for

private:
    const bool output_;
    bool valid_ = false, ready_ = false, ended_ = false, after_valid_ = false;
    Offer offer_;
};

// A RAM at a memory port: what is asked for in one cycle is there in the next.
class Ram : public Agent {
public:
    Ram(const std::string& prefix, bool reads, bool writes) : Agent(prefix), reads_(reads), writes_(writes) {}

    uint8_t* data = nullptr;
    uint64_t cell = 1, words = 0, stride = 1;

    void silence(Sim&) override {}
    void sample(Sim& sim) override {
        uint64_t address = port(sim, "addr").get();
        bool enabled = port(sim, "en").get(), inside = address < words;
        if (reads_ && inside) next_.assign(data + address * stride * cell, data + (address * stride + 1) * cell);
        if (writes_ && enabled && port(sim, "we").get()) {
            if (!inside) return sim.fail(name, "writes behind the end of its array");
            std::string word = port(sim, "wdata").word();
            word.resize(cell);
            write_ = word, where_ = address, ++sim.moved;
        }
    }
    void drive(Sim& sim) override {
        if (reads_ && !next_.empty()) port(sim, "rdata").set(next_.data());
        if (!write_.empty()) std::memcpy(data + where_ * stride * cell, write_.data(), cell);
        write_.clear();
    }

private:
    const Wire& port(Sim& sim, const char* signal) { return sim.wire(name + "_" + signal); }

    const bool reads_, writes_;
    std::vector<uint8_t> next_;
    std::string write_;
    uint64_t where_ = 0;
};

}  // namespace allo
