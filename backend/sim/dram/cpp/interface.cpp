// The channel model for Python, and for the driver of a design.
#include "port.hpp"

using allo::Channel;
using allo::Clocked;
using allo::Port;

extern "C" {
void* allo_dram_new(const uint64_t* timing, const uint8_t* map, uint64_t bits) {
    return new Channel(*reinterpret_cast<const allo::Timing*>(timing), std::vector<uint8_t>(map, map + bits));
}
void allo_dram_delete(void* channel) { delete static_cast<Channel*>(channel); }
void allo_dram_trace(void* channel) { static_cast<Channel*>(channel)->traced = true; }
uint64_t allo_dram_events(void* channel, uint64_t* into) {
    auto& trace = static_cast<Channel*>(channel)->trace;
    if (into) std::copy_n(reinterpret_cast<const uint64_t*>(trace.data()), 5 * trace.size(), into);
    return trace.size();
}
void allo_dram_counts(void* channel, uint64_t* into) {
    *reinterpret_cast<allo::Counts*>(into) = static_cast<Channel*>(channel)->counts;
}
// Sends requests as soon as they have come and fewer than `outstanding` are under way; gives each its end.
void allo_dram_replay(void* channel, const uint64_t* address, const uint64_t* time, const uint8_t* write, uint64_t count,
                      uint64_t bytes, uint64_t outstanding, uint64_t* ends) {
    auto& c = *static_cast<Channel*>(channel);
    std::vector<uint64_t> tickets(count);
    uint64_t now = 0;
    for (uint64_t k = 0; k < count; ++k) {
        if (k >= outstanding) now = std::max(now, ends[k - outstanding] = c.finish(tickets[k - outstanding]));
        now = std::max(now, time[k]);
        c.advance(now);
        tickets[k] = c.submit(now, address[k], bytes, write[k] != 0);
    }
    for (uint64_t k = count > outstanding ? count - outstanding : 0; k < count; ++k) ends[k] = c.finish(tickets[k]);
}

void* allo_dram_clocked(const uint64_t* timing, const uint8_t* map, uint64_t bits, uint64_t memory, uint64_t design) {
    const auto& times = *reinterpret_cast<const allo::Timing*>(timing);
    return new Clocked{Channel(times, std::vector<uint8_t>(map, map + bits)), memory, design};
}
void allo_dram_clocked_delete(void* channel) { delete static_cast<Clocked*>(channel); }
// What the channel did by a tick; `into[10]` is the bytes that were asked for.
void allo_dram_ran(void* channel, uint64_t tick, uint64_t* into) {
    auto& c = *static_cast<Clocked*>(channel);
    c.channel.advance(c.cycle(tick));
    *reinterpret_cast<allo::Counts*>(into) = c.channel.counts;
    into[10] = c.bytes;
}
void* allo_dram_port(void* const* route, uint64_t ways, const uint64_t* place) {
    std::vector<Clocked*> channels;
    for (uint64_t k = 0; k < ways; ++k) channels.push_back(static_cast<Clocked*>(route[k]));
    return new Port(std::move(channels), *reinterpret_cast<const Port::Place*>(place));
}
void allo_dram_port_delete(void* port) { delete static_cast<Port*>(port); }
// A request by itself, and when it is over; the largest number while that is open.
uint64_t allo_dram_ask(void* channel, uint64_t address, uint64_t bytes, uint64_t now, uint64_t write) {
    auto& c = *static_cast<Clocked*>(channel);
    c.channel.advance(c.cycle(now));
    c.bytes += bytes;
    return c.channel.submit(c.cycle(now), address, bytes, write != 0);
}
uint64_t allo_dram_answer(void* channel, uint64_t ticket, uint64_t now) {
    auto& c = *static_cast<Clocked*>(channel);
    c.channel.advance(c.cycle(now));
    uint64_t end = c.channel.when(ticket);
    return end == Channel::NEVER ? ~uint64_t(0) : c.tick(end);
}
uint64_t allo_dram_touch(void* port, uint64_t first, uint64_t last, uint64_t now, uint64_t write) {
    return static_cast<Port*>(port)->touch(first, last, now, write != 0);
}
}
