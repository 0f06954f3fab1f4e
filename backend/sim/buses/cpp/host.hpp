// What starts a design and waits for it: an AXI4-Lite master that follows a script, or two pins.
#pragma once

#include "sim.hpp"

namespace allo {

enum Action : uint64_t { WRITE, READ, START, WAIT, POLL };

struct Step {
    uint64_t action, address, data, strobe;
};

class Host : public Agent {
public:
    Host(const std::string& prefix) : Agent(prefix) {}

    std::vector<Step> script;
    std::vector<uint64_t> answers;

    void begin(Sim& sim) override {
        at_ = 0, answers.clear();
        aw_ = w_ = ar_ = busy_ = restarts_ = false;
        b_.forget(), r_.forget();
        (void)sim;
    }

    void silence(Sim& sim) override {
        for (auto* signal : {"AWVALID", "WVALID", "BREADY", "ARVALID", "RREADY"}) port(sim, signal).put(0);
        for (auto* signal : {"BVALID", "RVALID"})
            if (port(sim, signal).get()) sim.fail(name, std::string("raises ") + signal + " during reset");
        aw_ = w_ = ar_ = b_ready_ = r_ready_ = false;
    }

    bool over() const override { return at_ >= script.size(); }

    void sample(Sim& sim) override {
        check(sim);
        bool aw = aw_ && port(sim, "AWREADY").get(), w = w_ && port(sim, "WREADY").get();
        bool ar = ar_ && port(sim, "ARREADY").get();
        bool b = port(sim, "BVALID").get() && b_ready_, r = port(sim, "RVALID").get() && r_ready_;
        sim.moved += aw + w + ar + b + r;
        if (aw) aw_ = false;
        if (w) {
            w_ = false;
            bool control = step().address == 0;
            if (step().action == START) sim.started = sim.cycle, sim.running = true;
            if (control) restarts_ = step().data & 0x80;
        }
        if (ar) ar_ = false;
        if (r) answered(sim, port(sim, "RDATA").get());
        if (b) busy_ = false, ++at_;
        bool interrupt = sim.wire("interrupt").get();
        if (interrupt && sim.running && !restarts_) sim.running = false, sim.ended = sim.cycle;
        if (!over() && !busy_) next(sim, interrupt);
        auto waits = [&] { return sim.stall && chance.strikes(sim.stall); };
        if (aw_pending_ && !waits()) aw_ = true, aw_pending_ = false;
        if (w_pending_ && !waits()) w_ = true, w_pending_ = false;
        if (ar_pending_ && !waits()) ar_ = true, ar_pending_ = false;
        b_ready_ = !waits(), r_ready_ = !waits();
    }

    void drive(Sim& sim) override {
        port(sim, "AWVALID").put(aw_), port(sim, "WVALID").put(w_), port(sim, "ARVALID").put(ar_);
        port(sim, "BREADY").put(b_ready_), port(sim, "RREADY").put(r_ready_);
        // What is not offered is noise.
        uint64_t noise = sim.stall ? chance.next() : 0;
        port(sim, "AWADDR").put(aw_ ? step().address : noise);
        port(sim, "ARADDR").put(ar_ ? step().address : noise);
        port(sim, "WDATA").put(w_ ? step().data : noise);
        port(sim, "WSTRB").put(w_ ? step().strobe : noise);
    }

private:
    const Wire& port(Sim& sim, const char* signal) { return sim.wire(name + "_" + signal); }
    const Step& step() const { return script[at_]; }

    void check(Sim& sim) {
        bool b = port(sim, "BVALID").get(), r = port(sim, "RVALID").get();
        b_.hold(sim, name, "BVALID", b, b_ready_, port(sim, "BRESP").word());
        r_.hold(sim, name, "RVALID", r, r_ready_, port(sim, "RDATA").word() + port(sim, "RRESP").word());
        bool writing = busy_ && (step().action == WRITE || step().action == START);
        if (b && (!writing || aw_ || w_ || aw_pending_ || w_pending_))
            sim.fail(name, "answers a write that it has not taken");
        if (r && (!busy_ || writing || ar_ || ar_pending_))
            sim.fail(name, "answers a read that it has not taken");
        if ((b && port(sim, "BRESP").get()) || (r && port(sim, "RRESP").get()))
            sim.fail(name, "answers with an error");
    }

    void answered(Sim& sim, uint64_t data) {
        busy_ = false;
        if (step().action == READ) answers.push_back(data), ++at_;
        if (step_was_poll_ && (data & 2)) {
            if (sim.running) sim.running = false, sim.ended = sim.cycle;
            ++at_;
        }
        step_was_poll_ = false;
    }

    void next(Sim& sim, bool interrupt) {
        while (!over() && step().action == WAIT && interrupt) ++at_, interrupt = false;
        if (over() || step().action == WAIT) return;
        busy_ = true;
        bool writes = step().action == WRITE || step().action == START;
        aw_pending_ = w_pending_ = writes;
        ar_pending_ = !writes;
        step_was_poll_ = step().action == POLL;
        (void)sim;
    }

    size_t at_ = 0;
    bool restarts_ = false;  // a run begins when one ends
    bool aw_ = false, w_ = false, ar_ = false, b_ready_ = false, r_ready_ = false, busy_ = false;
    bool aw_pending_ = false, w_pending_ = false, ar_pending_ = false, step_was_poll_ = false;
    Offer b_, r_;
};

// ap_start, ap_done, ap_idle and ap_ready as ports.
class Pins : public Agent {
public:
    Pins() : Agent("ap_start") {}

    void begin(Sim&) override { done_ = start_ = false; }
    void silence(Sim& sim) override {
        start_ = false;
        sim.wire("ap_start").put(0);
        if (sim.wire("ap_done").get()) sim.fail("ap_done", "is high during reset");
    }
    bool over() const override { return done_; }
    void sample(Sim& sim) override {
        bool done = sim.wire("ap_done").get(), idle = sim.wire("ap_idle").get();
        if (done != (sim.wire("ap_ready").get() != 0)) sim.fail("ap_ready", "differs from ap_done");
        if (done && !sim.running) sim.fail("ap_done", "is high while the design is idle");
        if (sim.running && idle && start_ && sim.cycle > sim.started)
            sim.fail("ap_idle", "is high while the design runs");
        if (done) {
            sim.running = false, done_ = true, start_ = false;
            sim.ended = sim.cycle, ++sim.moved;
        } else if (!done_ && !start_ && !(sim.stall && chance.strikes(sim.stall))) {
            start_ = sim.running = true;
            sim.started = sim.cycle + 1;
        }
    }
    void drive(Sim& sim) override { sim.wire("ap_start").put(start_); }

private:
    bool done_ = false, start_ = false;
};

}  // namespace allo
