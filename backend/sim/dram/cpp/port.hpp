// A port of a design on channels: lines that are asked for, fetched ahead and written behind. Times are
// ticks of the design (1/256 of its cycle).
#pragma once

#include "switch.hpp"

namespace allo {

class Port {
public:
    // Line n of the bank `first` of `banks` is number n * banks + first; lines are on the channels in turn.
    struct Place { uint64_t base, lines, line_bytes, depth, polls, banks, first; };

    Port(std::vector<Reached*> route, const Place& place) : route_(std::move(route)), place_(place) {}

    // When all lines of a word are there, or may be written; beyond any patience while that is open.
    uint64_t touch(uint64_t first, uint64_t last, uint64_t now, bool write) {
        for (Reached* each : route_) each->at->channel.advance(each->at->cycle(now));
        Lane& lane = lanes_[write];
        if (lane.next != last + 1) {
            // A word may begin in the last line of the one before.
            bool shares = first + 1 == lane.next && !lane.word.empty();
            lane.word.erase(lane.word.begin(), lane.word.end() - shares);
            for (uint64_t line = first; line <= last; ++line) {
                if (line + 1 == lane.next) continue;
                lane.word.push_back(write ? put(line, now) : get(line, now));
                lane.next = line + 1;
            }
        }
        uint64_t there = 0;
        for (const Asked& each : lane.word) there = std::max(there, when(each, now));
        return there;
    }

private:
    static constexpr uint64_t LATER = uint64_t(1) << 40;
    struct Asked { Reached* at = nullptr; uint64_t ticket = 0; };
    // `queue`: lines fetched ahead, from `next` on, or written and perhaps not there yet.
    struct Lane { uint64_t next = 0, window = 0; std::vector<Asked> word; std::deque<Asked> queue; };

    // Twice as many lines are fetched ahead with each line in sequence, up to the depth.
    Asked get(uint64_t line, uint64_t now) {
        Lane& lane = lanes_[0];
        auto& ahead = lane.queue;
        bool fetched = line >= lane.next && line - lane.next < ahead.size();
        if (line == lane.next) lane.window = std::min(std::max<uint64_t>(1, 2 * lane.window), place_.depth);
        else if (!fetched) lane.window = 0;
        if (fetched) ahead.erase(ahead.begin(), ahead.begin() + std::ptrdiff_t(line - lane.next));
        else ahead.assign(1, submit(line, now, false));
        Asked asked = ahead.front();
        ahead.pop_front();
        while (ahead.size() < lane.window && line + 1 + ahead.size() < place_.lines)
            ahead.push_back(submit(line + 1 + ahead.size(), now, false));
        return asked;
    }

    // A writer waits only when it is `depth` lines ahead.
    Asked put(uint64_t line, uint64_t now) {
        auto& behind = lanes_[1].queue;
        behind.push_back(submit(line, now, true));
        if (behind.size() <= place_.depth) return {};
        Asked oldest = behind.front();
        behind.pop_front();
        return oldest;
    }

    Asked submit(uint64_t line, uint64_t now, bool write) {
        uint64_t number = line * place_.banks + place_.first;
        Reached* at = route_[number % route_.size()];
        uint64_t address = place_.base + number / route_.size() * place_.line_bytes;
        return {at, at->submit(now, address, place_.line_bytes, write)};
    }

    uint64_t when(const Asked& asked, uint64_t now) const {
        if (!asked.at) return 0;
        uint64_t end = place_.polls ? asked.at->when(asked.ticket) : asked.at->finish(asked.ticket);
        return end == Channel::NEVER ? now + LATER : asked.at->at->tick(end);
    }

    std::vector<Reached*> route_;
    Place place_;
    Lane lanes_[2];
};

}  // namespace allo
