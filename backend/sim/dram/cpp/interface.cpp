// The channel model for Python, and for the driver of a design.
#include "port.hpp"

using allo::Channel;
using allo::Clocked;
using allo::Entry;
using allo::Link;
using allo::Port;
using allo::Reached;

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
// Links of a switch, by their dead cycles; and what they are used by: masters, and channels from these.
void* allo_dram_links(const uint64_t* dead, uint64_t count) {
    auto* links = new std::vector<Link>(count);
    for (uint64_t k = 0; k < count; ++k) (*links)[k].dead = dead[k];
    return links;
}
void allo_dram_links_delete(void* links) { delete static_cast<std::vector<Link>*>(links); }
void* allo_dram_entry(uint64_t beat, uint64_t ordered) { return new Entry(beat, ordered != 0); }
void allo_dram_entry_delete(void* entry) { delete static_cast<Entry*>(entry); }
// `way`: cycles out and back, how many links reads cross, and how many writes, and their numbers.
void* allo_dram_reach(void* channel, void* entry, void* links, const uint64_t* way) {
    auto* at = static_cast<Clocked*>(channel);
    auto* made = new Reached{at, static_cast<Entry*>(entry), {at, 0, 0, {}, {}}};
    if (!entry) return made;
    made->path.out = way[0], made->path.back = way[1];
    const uint64_t* next = way + 4;
    for (int kind = 0; kind < 2; ++kind)
        for (uint64_t k = 0; k < way[2 + kind]; ++k)
            made->path.links[kind].push_back(&static_cast<std::vector<Link>*>(links)->at(*next++));
    return made;
}
void allo_dram_reach_delete(void* reached) { delete static_cast<Reached*>(reached); }
// Requests that went this way, and cycles of the memory for which they waited at the switch.
void allo_dram_passed(void* reached, uint64_t* into) {
    *reinterpret_cast<Entry::Passed*>(into) = static_cast<Reached*>(reached)->path.passed;
}
void* allo_dram_port(void* const* route, uint64_t ways, const uint64_t* place) {
    std::vector<Reached*> channels;
    for (uint64_t k = 0; k < ways; ++k) channels.push_back(static_cast<Reached*>(route[k]));
    return new Port(std::move(channels), *reinterpret_cast<const Port::Place*>(place));
}
void allo_dram_port_delete(void* port) { delete static_cast<Port*>(port); }
// A request by itself, and when it is over; the largest number while that is open.
uint64_t allo_dram_ask(void* reached, uint64_t address, uint64_t bytes, uint64_t now, uint64_t write) {
    auto& way = *static_cast<Reached*>(reached);
    way.at->channel.advance(way.at->cycle(now));
    return way.submit(now, address, bytes, write != 0);
}
uint64_t allo_dram_answer(void* reached, uint64_t ticket, uint64_t now) {
    auto& way = *static_cast<Reached*>(reached);
    way.at->channel.advance(way.at->cycle(now));
    uint64_t end = way.when(ticket);
    if (end == Channel::NEVER) return ~uint64_t(0);
    uint64_t tick = way.at->tick(end);
    if (way.entry && tick <= now) way.entry->forget(ticket);
    return tick;
}
uint64_t allo_dram_touch(void* port, uint64_t first, uint64_t last, uint64_t now, uint64_t write) {
    return static_cast<Port*>(port)->touch(first, last, now, write != 0);
}
}
