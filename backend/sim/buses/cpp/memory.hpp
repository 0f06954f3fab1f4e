// An AXI4 memory: the slave at a master port of the design.
#pragma once

#include <algorithm>
#include <cstdio>
#include <set>

#include "sim.hpp"

namespace allo {

class Memory : public Agent {
public:
    Memory(const std::string& prefix, uint32_t width, uint32_t outstanding, bool reads, bool writes, bool ids,
           bool singles)
        : Agent(prefix), bytes_(width / 8), outstanding_(outstanding), reads_(reads), writes_(writes), ids_(ids),
          singles_(singles) {}

    struct Pace {
        uint64_t latency, ticks, stall, longest;  // cycles; 1/256 of a cycle for a word; chance times 2^32; cycles
    } pace = {0, 0, 0, 1};
    bool broken = false;  // answers everything with an error
    uint64_t bytes_read = 0, bytes_written = 0, bursts = 0;

    void begin(Sim&) override {
        read_queue_.clear(), write_queue_.clear(), words_.clear(), answers_.clear();
        for (auto* offer : {&ar_, &aw_, &w_}) offer->forget();
        r_valid_ = b_valid_ = begun_ = false, free_ = 0;
        bytes_read = bytes_written = bursts = 0;
        // Each run has manners of its own, all of which the specification allows.
        ar_after_valid_ = chance.coin(), aw_after_valid_ = chance.coin(), w_after_valid_ = chance.coin();
        aw_after_word_ = chance.coin();
    }

    void silence(Sim& sim) override {
        if (reads_) {
            port(sim, "ARREADY").put(0), port(sim, "RVALID").put(0);
            still(sim, "ARVALID");
        }
        if (writes_) {
            port(sim, "AWREADY").put(0), port(sim, "WREADY").put(0), port(sim, "BVALID").put(0);
            still(sim, "AWVALID"), still(sim, "WVALID");
        }
        ar_ready_ = aw_ready_ = w_ready_ = r_valid_ = b_valid_ = false;
    }

    void sample(Sim& sim) override {
        if (reads_) sample_reads(sim);
        if (writes_) sample_writes(sim);
    }

    void drive(Sim& sim) override {
        if (reads_) {
            port(sim, "ARREADY").put(ar_ready_);
            port(sim, "RVALID").put(r_valid_);
            port(sim, "RDATA").set(r_data_.data());
            port(sim, "RLAST").put(r_last_);
            port(sim, "RRESP").put(r_resp_);
            if (ids_) port(sim, "RID").put(r_id_);
        }
        if (writes_) {
            port(sim, "AWREADY").put(aw_ready_);
            port(sim, "WREADY").put(w_ready_);
            port(sim, "BVALID").put(b_valid_);
            port(sim, "BRESP").put(b_resp_);
        }
    }

    void finish(Sim& sim) override {
        if (!read_queue_.empty() || r_valid_) sim.fail(name, "is done with reads under way");
        if (!write_queue_.empty() || !answers_.empty() || b_valid_)
            sim.fail(name, "is done before its writes were answered");
        if (!words_.empty()) sim.fail(name, "writes words without an address");
    }

private:
    struct Burst {
        uint64_t address, beats, when;
        const Region* at = nullptr;  // in dynamic memory, and the lines that it has asked for
        std::deque<Dram::Line> lines = {};
        uint64_t id = 0;
    };
    struct Answer {
        uint64_t when;
        const Region* at;
        std::deque<Dram::Line> lines;
    };
    struct Word {
        std::string data, strobe;
        bool last;
    };

    const Wire& port(Sim& sim, const char* signal) { return sim.wire(name + "_" + signal); }

    void still(Sim& sim, const char* signal) {
        if (port(sim, signal).get()) sim.fail(name, std::string("raises ") + signal + " during reset");
    }

    bool ready(Sim& sim, bool after_valid, bool valid, bool fires) {
        if (sim.stall == 0) return true;
        if (after_valid && (!valid || fires)) return false;
        return !chance.strikes(sim.stall);
    }

    uint64_t delay() {
        bool stalls = pace.stall && chance.strikes(pace.stall);
        return pace.latency + (stalls ? 1 + chance.next() % pace.longest : 0);
    }
    // Whether the memory's bandwidth lets a word pass in the next cycle; and that one passes.
    bool idle(Sim& sim) const { return free_ <= (sim.cycle + 1) * 256; }
    void book(Sim& sim) { free_ = std::max(free_, sim.cycle * 256) + pace.ticks; }

    // The rules of an address.
    Burst address(Sim& sim, const char* channel) {
        std::string c = channel;
        auto get = [&](const char* field) { return port(sim, (c + field).c_str()).get(); };
        Burst burst{get("ADDR"), get("LEN") + 1, sim.cycle + 1 + delay()};
        uint64_t size = uint64_t(1) << get("SIZE"), all = burst.beats * bytes_;
        if (size != bytes_) sim.fail(name, c + "SIZE is not the width of the bus");
        if (get("BURST") != 1) sim.fail(name, c + "BURST is not INCR");
        if (burst.address % bytes_) sim.fail(name, c + "ADDR is not aligned to the bus");
        if (burst.address / 4096 != (burst.address + all - 1) / 4096)
            sim.fail(name, c + " burst crosses a boundary of 4,096 bytes");
        if (!sim.running) sim.fail(name, "raises " + c + "VALID while the design is idle");
        ++bursts, ++sim.moved;
        const Region* at = sim.region(burst.address);
        if (at && !at->dram.channels.empty()) burst.at = at;
        return burst;
    }

    // Asks for the lines of a burst.
    void fetch(Sim& sim, Burst& burst) {
        if (!burst.at) return;
        if (ids_ && burst.beats == 1) {
            burst.lines.push_back(burst.at->dram.single(burst.address, bytes_, sim.cycle + 1, false));
            return;
        }
        uint64_t line = burst.at->dram.line, end = burst.address + burst.beats * bytes_;
        for (uint64_t at = burst.address / line * line; at < end; at += line)
            burst.lines.push_back(burst.at->dram.submit(at, sim.cycle + 1, false));
    }

    // Whether the lines of a burst's next word are there.
    bool there(Sim& sim, Burst& burst) {
        while (!burst.lines.empty()) {
            auto& line = burst.lines.front();
            uint64_t size = burst.at->dram.line;
            if (line.end - size >= burst.address + bytes_) break;
            if (!burst.at->dram.done(line, sim.cycle + 1)) return false;
            burst.lines.pop_front();
        }
        return true;
    }

    void sample_reads(Sim& sim) {
        bool valid = port(sim, "ARVALID").get(), fires = valid && ar_ready_;
        std::string payload = port(sim, "ARADDR").word() + port(sim, "ARLEN").word();
        if (ids_) payload += port(sim, "ARID").word();
        ar_.hold(sim, name, "ARVALID", valid, ar_ready_, payload);
        if (fires) {
            read_queue_.push_back(address(sim, "AR"));
            if (ids_) read_queue_.back().id = port(sim, "ARID").get();
            fetch(sim, read_queue_.back());
            if (read_queue_.size() > outstanding_)
                sim.fail(name, "has more reads under way than it may");
        }
        ar_ready_ = ready(sim, ar_after_valid_, valid, fires);
        if (r_valid_ && port(sim, "RREADY").get()) {
            r_valid_ = false, ++sim.moved;
            bytes_read += bytes_;
            auto& burst = read_queue_.front();
            burst.address += bytes_;
            if (--burst.beats == 0) read_queue_.pop_front(), begun_ = false;
        }
        if (!r_valid_ && idle(sim) && choose(sim) && !chance.strikes(sim.stall)) {
            book(sim);
            offer_word(sim);
        }
    }

    // Whether the first burst has a word. Of bursts with ids, any is put first whose word is there; where
    // ids are equal, and within a burst, the order stays.
    bool choose(Sim& sim) {
        auto has = [&](Burst& burst) { return burst.when <= sim.cycle && there(sim, burst); };
        if (!ids_ || begun_) return !read_queue_.empty() && has(read_queue_.front());
        std::vector<size_t> found;
        std::set<uint64_t> seen;
        for (size_t k = 0; k < read_queue_.size(); ++k)
            if (seen.insert(read_queue_[k].id).second && has(read_queue_[k])) {
                found.push_back(k);
                if (!sim.stall) break;
            }
        if (found.empty()) return false;
        auto at = read_queue_.begin() + std::ptrdiff_t(found[sim.stall ? chance.next() % found.size() : 0]);
        std::rotate(read_queue_.begin(), at, at + 1);
        begun_ = true;
        return true;
    }

    void offer_word(Sim& sim) {
        auto& burst = read_queue_.front();
        r_data_.assign(bytes_, 0xA5);  // what lies beside an argument is no zero
        r_resp_ = broken ? 2 : 0;
        const Region* at = sim.region(burst.address);
        if (at == nullptr || !at->readable)
            sim.fail(name, "reads address " + hex(burst.address) + ", where no argument lies that it loads");
        for (uint64_t k = 0; at && k < bytes_ && burst.address + k < at->base + at->bytes; ++k)
            r_data_[k] = at->data[burst.address + k - at->base];
        r_last_ = burst.beats == 1, r_id_ = burst.id;
        r_valid_ = true;
    }

    void sample_writes(Sim& sim) {
        bool aw = port(sim, "AWVALID").get(), aw_fires = aw && aw_ready_;
        bool w = port(sim, "WVALID").get(), w_fires = w && w_ready_;
        std::string payload = port(sim, "AWADDR").word() + port(sim, "AWLEN").word();
        aw_.hold(sim, name, "AWVALID", aw, aw_ready_, payload);
        Word word{port(sim, "WDATA").word(), port(sim, "WSTRB").word(), port(sim, "WLAST").get() != 0};
        w_.hold(sim, name, "WVALID", w, w_ready_, word.data + word.strobe + char(word.last));
        if (aw_fires) write_queue_.push_back(address(sim, "AW"));
        if (w_fires) words_.push_back(word), book(sim), ++sim.moved;
        while (!words_.empty() && !write_queue_.empty() && write_word(sim)) {}
        if (write_queue_.size() + answers_.size() + b_valid_ > outstanding_)
            sim.fail(name, "has more writes under way than it may");
        // A slave may wait for the first word before it takes the address; never the other way round.
        aw_ready_ = ready(sim, aw_after_valid_, aw, aw_fires) && !(aw_after_word_ && sim.stall && !w && words_.empty());
        w_ready_ = ready(sim, w_after_valid_, w, w_fires) && idle(sim);
        if (b_valid_ && port(sim, "BREADY").get()) b_valid_ = false, ++sim.moved;
        if (!b_valid_ && !answers_.empty() && written(sim, answers_.front()) && !chance.strikes(sim.stall)) {
            answers_.pop_front();
            b_valid_ = true, b_resp_ = broken ? 2 : 0;
        }
    }

    bool write_word(Sim& sim) {
        auto& burst = write_queue_.front();
        Word word = words_.front();
        words_.pop_front();
        for (uint64_t k = 0; k < bytes_; ++k) {
            if (!(word.strobe[k / 8] >> (k % 8) & 1)) continue;
            const Region* at = sim.region(burst.address + k);
            if (at == nullptr || !at->writable) {
                sim.fail(name, "writes address " + hex(burst.address + k) + ", where no argument lies that it stores");
                break;
            }
            at->data[burst.address + k - at->base] = uint8_t(word.data[k]);
            ++bytes_written;
        }
        burst.address += bytes_;
        if (word.last != (burst.beats == 1)) sim.fail(name, "has WLAST on another word than a burst's last");
        --burst.beats;
        if (burst.at && singles_)
            burst.lines.push_back(burst.at->dram.single(burst.address - bytes_, bytes_, sim.cycle + 1, true));
        else if (burst.at && (burst.beats == 0 || burst.address % burst.at->dram.line == 0))
            burst.lines.push_back(burst.at->dram.submit(burst.address - 1, sim.cycle + 1, true));
        if (burst.beats == 0) {
            answers_.push_back({sim.cycle + 1 + delay(), burst.at, std::move(burst.lines)});
            write_queue_.pop_front();
        }
        return true;
    }

    bool written(Sim& sim, Answer& answer) {
        while (!answer.lines.empty() && answer.at->dram.done(answer.lines.front(), sim.cycle + 1))
            answer.lines.pop_front();
        return answer.lines.empty() && answer.when <= sim.cycle;
    }

    static std::string hex(uint64_t value) {
        char text[24];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
        return text;
    }

    const uint64_t bytes_, outstanding_;
    uint64_t free_ = 0;
    const bool reads_, writes_, ids_, singles_;  // singles: bursts are single words
    bool begun_ = false;  // the first burst that is read has been chosen
    std::deque<Burst> read_queue_, write_queue_;
    std::deque<Word> words_;
    std::deque<Answer> answers_;
    Offer ar_, aw_, w_;
    bool ar_ready_ = false, aw_ready_ = false, w_ready_ = false, r_valid_ = false, b_valid_ = false;
    bool ar_after_valid_ = false, aw_after_valid_ = false, w_after_valid_ = false, aw_after_word_ = false;
    bool r_last_ = false;
    uint64_t r_resp_ = 0, b_resp_ = 0, r_id_ = 0;
    std::vector<uint8_t> r_data_ = std::vector<uint8_t>(128);
};

}  // namespace allo
