// One channel of dynamic memory: its banks, the rules between commands, and a controller that serves
// row hits first (FR-FCFS). Times are cycles of the memory's clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace allo {

enum Command : uint64_t { ACT, PRE, RD, WR, REF, PREA };

// In the order of FIELDS in channel.py.
struct Timing {
    uint64_t burst_bits, group_bits, bank_bits, cl, cwl, bl, rcd, rp, ras, rtp, wr, rrd_s, rrd_l, ccd_s, ccd_l, wtr_s,
        wtr_l, rtw, faw, rfc, refi, queue, patience, front, one_bus;
};

// What a channel did, in the order of COUNTS in channel.py.
struct Counts {
    uint64_t bursts = 0, hits = 0, misses = 0, conflicts = 0, refreshes = 0, refresh_cycles = 0, turnarounds = 0,
             reads = 0, latency = 0, longest = 0;
};

struct Event {
    uint64_t time, command, group, bank, row;
};

class Channel {
public:
    static constexpr uint64_t NEVER = ~uint64_t(0);

    Channel(const Timing& timing, std::vector<uint8_t> map)
        : t(timing), map_(std::move(map)), banks_(size_t(1) << (t.group_bits + t.bank_bits)),
          groups_(size_t(1) << t.group_bits), slots_(SLOTS), due_(t.refi) {}

    // What lies between a port and the channel: cycles to it and back, and when the port had the request.
    struct Way { uint64_t out, back, asked; };

    // Asks for `bytes` at `address` at `time`; gives a ticket.
    uint64_t submit(uint64_t time, uint64_t address, uint64_t bytes, bool write) {
        uint64_t ticket = ticket_of(address, bytes), burst = address >> t.burst_bits;
        for (uint64_t n = slots_[ticket % SLOTS].left; n; --n, ++burst)
            push({std::max(time, now_), std::max(time, now_), 0, burst, ticket, write});
        return ticket;
    }
    // The same across a switch: the request is under way until it comes to the controller.
    uint64_t submit(uint64_t time, uint64_t address, uint64_t bytes, bool write, const Way& way) {
        uint64_t ticket = ticket_of(address, bytes), burst = address >> t.burst_bits;
        for (uint64_t n = slots_[ticket % SLOTS].left; n; --n, ++burst)
            coming_.insert({time + way.out, {time + way.out, way.asked, way.back, burst, ticket, write}});
        return ticket;
    }

    // When the data of a ticket are there; NEVER while that is not decided.
    uint64_t when(uint64_t ticket) const {
        const Slot& slot = slots_[ticket % SLOTS];
        if (slot.ticket != ticket) return 0;  // long ago
        return slot.left ? NEVER : slot.done;
    }

    void advance(uint64_t until) { while (step(until)) {} }
    uint64_t finish(uint64_t ticket) {
        while (when(ticket) == NEVER && step(NEVER - 1)) {}
        return when(ticket);
    }

    // Issues the next command if it is due by `until`, or takes a request that comes before it.
    bool step(uint64_t until) {
        bool writing = writing_;
        uint64_t batch = batch_;
        turn();
        Choice best = choose();
        uint64_t next = std::min(best.time, std::max(due_, now_));
        if (!coming_.empty() && coming_.begin()->first <= std::min(next, until)) {
            writing_ = writing, batch_ = batch;
            Burst burst = coming_.begin()->second;
            burst.time = std::max(burst.time, now_);
            coming_.erase(coming_.begin());
            push(burst);
            return true;
        }
        if (next > until || (best.time == NEVER && until == NEVER - 1)) return false;
        if (best.time >= due_) refresh();
        else issue(best);
        return true;
    }

    const Timing t;
    Counts counts;
    std::vector<Event> trace;
    bool traced = false;

private:
    static constexpr uint64_t SLOTS = 1 << 14;
    static constexpr int64_t CLOSED = -1;
    struct Slot { uint64_t ticket = 0, left = 0, done = 0; };
    struct Bank { int64_t row = CLOSED; uint64_t act = 0, pre = 0, column = 0; };
    struct Group { uint64_t act = 0, column = 0, read = 0; };
    struct Entry { uint64_t time, asked, back, ticket; int64_t row; uint32_t bank, group; uint8_t kind; };
    struct Burst { uint64_t time, asked, back, number, ticket; bool write; };
    struct Choice { uint64_t time = NEVER; size_t at = 0; Command command = RD; };

    uint64_t ticket_of(uint64_t address, uint64_t bytes) {
        uint64_t ticket = ++tickets_, first = address >> t.burst_bits;
        uint64_t last = (address + bytes - 1) >> t.burst_bits;
        slots_[ticket % SLOTS] = {ticket, last - first + 1, 0};
        return ticket;
    }

    void push(const Burst& b) {
        uint64_t part[3] = {0, 0, 0}, seen[3] = {0, 0, 0}, burst = b.number;  // row, bank, group
        for (uint8_t kind : map_) {
            if (kind < 3) part[kind] |= (burst & 1) << seen[kind]++;
            burst >>= 1;
        }
        uint32_t group = uint32_t(part[2]), bank = group << t.bank_bits | uint32_t(part[1]);
        Entry entry{b.time, b.asked, b.back, b.ticket, int64_t(part[0]), bank, group, 0};
        if (lanes_[b.write].size() < t.queue) lanes_[b.write].push_back(entry);
        else waiting_[b.write].push_back(entry);
    }

    // Reads go first; writes are collected, and written together.
    void turn() {
        size_t writes = lanes_[1].size(), reads = lanes_[0].size();
        if (writing_ ? !writes || (reads && batch_ == 0) : writes && (!reads || writes * 4 >= t.queue * 3)) {
            writing_ = !writing_;
            batch_ = t.queue / 2;
        }
    }

    uint64_t column(const Entry& e, bool write) const {
        const Group& g = groups_[e.group];
        uint64_t turned = write ? write_ : std::max(read_, g.read);
        return std::max({banks_[e.bank].column, column_, g.column, turned});
    }

    Choice choose() const {
        const auto& lane = lanes_[writing_];
        Choice best;
        uint64_t hit = 0, seen = 0;
        // Nothing overtakes a request that has waited too long in its bank.
        bool starved = !lane.empty() && now_ > lane.front().time + t.patience;
        auto passed = [&](size_t k) { return starved && k && lane[k].bank == lane.front().bank; };
        for (size_t k = 0; k < lane.size(); ++k)
            if (!passed(k) && banks_[lane[k].bank].row == lane[k].row) hit |= uint64_t(1) << lane[k].bank;
        for (size_t k = 0; k < lane.size(); ++k) {
            if (passed(k)) continue;
            const Entry& e = lane[k];
            const Bank& b = banks_[e.bank];
            uint64_t bit = uint64_t(1) << e.bank;
            Choice c{0, k, RD};
            if (b.row == e.row) {
                c.time = std::max(column(e, writing_), columns_);
                c.command = writing_ ? WR : RD;
            } else {
                if ((hit | seen) & bit) continue;
                seen |= bit;
                c.command = b.row == CLOSED ? ACT : PRE;
                uint64_t rules = b.row != CLOSED ? b.pre
                    : std::max({b.act, groups_[e.group].act, act_, acts_[acted_ % 4] ? acts_[acted_ % 4] + t.faw : 0});
                c.time = std::max(rules, rows_);
            }
            c.time = std::max({c.time, e.time, now_});
            if (c.time < best.time || (c.time == best.time && c.command >= RD && best.command < RD)) best = c;
        }
        return best;
    }

    void note(uint64_t time, Command command, uint32_t bank, int64_t row) {
        now_ = time;
        (command == RD || command == WR ? columns_ : rows_) = time + 1;
        if (t.one_bus) rows_ = columns_ = time + 1;
        if (traced) trace.push_back({time, command, bank >> t.bank_bits, bank & ((1u << t.bank_bits) - 1), uint64_t(row)});
    }

    void issue(const Choice& c) {
        Entry& e = lanes_[writing_][c.at];
        Bank& b = banks_[e.bank];
        Group& g = groups_[e.group];
        note(c.time, c.command, e.bank, e.row);
        if (c.command == PRE) {
            b.row = CLOSED, b.act = std::max(b.act, c.time + t.rp), e.kind = 2;
        } else if (c.command == ACT) {
            b.row = e.row, b.column = c.time + t.rcd, b.pre = std::max(b.pre, c.time + t.ras);
            g.act = c.time + t.rrd_l, act_ = c.time + t.rrd_s, acts_[acted_++ % 4] = c.time + (c.time == 0);
            if (e.kind == 0) e.kind = 1;
        } else {
            transfer(c, e, b, g);
        }
    }

    void transfer(const Choice& c, Entry& e, Bank& b, Group& g) {
        uint64_t end = c.time + (writing_ ? t.cwl : t.cl) + t.bl;
        column_ = c.time + t.ccd_s, g.column = c.time + t.ccd_l;
        if (writing_) {
            b.pre = std::max(b.pre, end + t.wr), read_ = end + t.wtr_s, g.read = end + t.wtr_l;
            batch_ -= batch_ > 0;
        } else {
            b.pre = std::max(b.pre, c.time + t.rtp), write_ = c.time + t.rtw;
            end += t.front + e.back;
            ++counts.reads, counts.latency += end - e.asked, counts.longest = std::max(counts.longest, end - e.asked);
        }
        if (writing_) end += e.back;
        if (counts.bursts++ && last_ != writing_) ++counts.turnarounds;
        last_ = writing_;
        ++(e.kind == 0 ? counts.hits : e.kind == 1 ? counts.misses : counts.conflicts);
        Slot& slot = slots_[e.ticket % SLOTS];
        if (slot.ticket == e.ticket) --slot.left, slot.done = std::max(slot.done, end);
        auto& lane = lanes_[writing_];
        lane.erase(lane.begin() + std::ptrdiff_t(c.at));
        auto& more = waiting_[writing_];
        if (!more.empty()) lane.push_back(more.front()), more.pop_front();
    }

    // Closes all rows and refreshes; what waits goes on tRFC later.
    void refresh() {
        uint64_t begin = std::max(due_, now_), close = std::max(begin, rows_);
        bool open = false;
        for (const Bank& b : banks_) {
            if (b.row == CLOSED) continue;
            open = true, close = std::max(close, b.pre);
        }
        if (open) note(close, PREA, 0, 0);
        uint64_t at = std::max(open ? close + t.rp : begin, rows_);
        for (const Bank& b : banks_) at = std::max(at, b.act);
        for (Bank& b : banks_) b.row = CLOSED, b.act = at + t.rfc;
        note(at, REF, 0, 0);
        ++counts.refreshes, counts.refresh_cycles += at + t.rfc - begin;
        due_ += t.refi;
    }

    std::vector<uint8_t> map_;
    std::vector<Bank> banks_;
    std::vector<Group> groups_;
    std::vector<Slot> slots_;
    std::vector<Entry> lanes_[2];
    std::deque<Entry> waiting_[2];
    std::multimap<uint64_t, Burst> coming_;
    uint64_t tickets_ = 0, now_ = 0, due_, act_ = 0, column_ = 0, read_ = 0, write_ = 0, rows_ = 0, columns_ = 0;
    uint64_t acts_[4] = {0, 0, 0, 0}, acted_ = 0, batch_ = 0;
    bool writing_ = false, last_ = false;
};

}  // namespace allo
