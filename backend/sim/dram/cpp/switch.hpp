// The switch between AXI ports and channels: what a path adds to a request, links that masters share, and
// the order of one master's answers. Times are cycles of the memory's clock, but where they are ticks.
#pragma once

#include "dram.hpp"

namespace allo {

// A channel and the ratio of its clock to ticks.
struct Clocked {
    Channel channel;
    uint64_t memory, design, bytes = 0;

    uint64_t cycle(uint64_t tick) const { return scaled(tick, memory, design); }
    uint64_t tick(uint64_t cycle) const { return scaled(cycle, design, memory); }

private:
    static uint64_t scaled(uint64_t time, uint64_t by, uint64_t over) {
        return uint64_t(((unsigned __int128)time * by + over - 1) / over);
    }
};

// Wires that one burst of data crosses at a time; `dead` cycles pass from one master's to another's.
struct Link {
    uint64_t free = 0, dead = 0;
    const void* last = nullptr;

    uint64_t earliest(const void* master) const { return free + (last && last != master ? dead : 0); }
};

// A master's place at the switch. Without `ordered`, answers may come in any order; with it, a request for
// another channel than the one before waits for the answers of all that are under way.
class Entry {
public:
    struct Passed { uint64_t requests = 0, waited = 0; };

    Entry(uint64_t beat, bool ordered) : beat_(beat), ordered_(ordered) {}

    struct Path { Clocked* to; uint64_t out, back; std::vector<Link*> links[2]; Passed passed; };

    uint64_t send(Path& path, uint64_t now, uint64_t address, uint64_t bytes, bool write) {
        Request request{&path, now, address, bytes, write};
        ++path.passed.requests;
        if (!ordered_) return dispatch(request, now);
        Lane& lane = lanes_[write];
        uint64_t ticket = 2 * ++lane.tickets + write;
        lane.waiting.push_back({ticket, request});
        pump(lane);
        return ticket;
    }

    uint64_t when(Path& path, uint64_t ticket) {
        if (!ordered_) return path.to->channel.when(ticket);
        Lane& lane = lanes_[ticket % 2];
        pump(lane);
        if (!lane.waiting.empty() && ticket >= lane.waiting.front().first) return Channel::NEVER;
        auto sent = lane.sent.find(ticket);
        return sent == lane.sent.end() ? 0 : path.to->channel.when(sent->second);  // 0: long ago
    }
    void forget(uint64_t ticket) {
        if (ordered_) lanes_[ticket % 2].sent.erase(ticket);
    }

private:
    struct Request { Path* path; uint64_t time, address, bytes; bool write; };
    // `open`: tickets of the channel at which the last request was aimed, some of which are not answered.
    struct Lane {
        std::deque<std::pair<uint64_t, Request>> waiting;
        Path* at = nullptr;
        std::deque<uint64_t> open;
        uint64_t answered = 0, tickets = 0;
        std::map<uint64_t, uint64_t> sent;  // the channel's ticket of each that is not forgotten
    };

    void pump(Lane& lane) {
        while (!lane.waiting.empty()) {
            auto& [ticket, request] = lane.waiting.front();
            settle(lane);
            uint64_t begin = request.time;
            if (lane.at && lane.at != request.path) {
                if (!lane.open.empty()) return;
                begin = std::max(begin, lane.answered);
            }
            lane.at = request.path;
            uint64_t real = dispatch(request, begin);
            lane.open.push_back(real), lane.sent[ticket] = real;
            lane.waiting.pop_front();
        }
    }

    void settle(Lane& lane) {
        while (!lane.open.empty()) {
            uint64_t end = lane.at->to->channel.when(lane.open.front());
            if (end == Channel::NEVER) return;
            lane.answered = std::max(lane.answered, end), lane.open.pop_front();
        }
    }

    // The links carry the data of a request as soon as it is sent: those of a read that come later, too.
    uint64_t dispatch(const Request& request, uint64_t begin) {
        auto& links = request.path->links[request.write];
        for (Link* each : links) begin = std::max(begin, each->earliest(this));
        auto& channel = request.path->to->channel;
        uint64_t first = request.address >> channel.t.burst_bits;
        uint64_t bursts = ((request.address + request.bytes - 1) >> channel.t.burst_bits) - first + 1;
        for (Link* each : links) each->free = begin + bursts * beat_, each->last = this;
        request.path->passed.waited += begin - request.time;
        Channel::Way way{request.path->out, request.path->back, request.time};
        return channel.submit(begin, request.address, request.bytes, request.write, way);
    }

    const uint64_t beat_;
    const bool ordered_;
    Lane lanes_[2];
};

// What a design asks of: a channel, beside which its port lies or which it reaches across the switch.
struct Reached {
    Clocked* at;
    Entry* entry = nullptr;
    Entry::Path path = {};

    uint64_t submit(uint64_t tick, uint64_t address, uint64_t bytes, bool write) {
        at->bytes += bytes;
        uint64_t now = at->cycle(tick);
        return entry ? entry->send(path, now, address, bytes, write) : at->channel.submit(now, address, bytes, write);
    }
    uint64_t when(uint64_t ticket) { return entry ? entry->when(path, ticket) : at->channel.when(ticket); }
    uint64_t finish(uint64_t ticket) {
        while (when(ticket) == Channel::NEVER && at->channel.step(Channel::NEVER - 1)) {}
        return when(ticket);
    }
};

}  // namespace allo
