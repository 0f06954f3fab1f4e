// What happens when: events by cycle, and in a cycle by rank, in any order within one.
//
// Nearly all events are of the next few cycles. These lie in a ring of slots, so that adding and taking one is
// a push and a pop of a vector; what is farther away waits in a heap.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace allo {

using Time = std::int64_t;

class Agenda {
 public:
  static constexpr int kRanks = 4;

  struct Event {
    Time time;
    int rank, index;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : rank > other.rank;
    }
  };

  void clear() {
    for (auto& slot : slots_)
      for (auto& rank : slot) rank.clear();
    filled_ = 0;
    base_ = 0;
    far_ = {};
  }

  void add(Time time, int rank, int index) {
    if (time < base_ || time >= base_ + kSlots) {
      far_.push({time, rank, index});
      return;
    }
    slots_[time % kSlots][rank].push_back(index);
    filled_ |= std::uint64_t(1) << (time % kSlots);
  }

  // Takes the next event; whether there is one.
  bool take(Event& event) {
    Event near{0, -1, 0};
    if (filled_) find(near);
    if (!far_.empty() && (near.rank < 0 || near > far_.top())) {
      event = far_.top();
      far_.pop();
      if (event.time > base_) base_ = event.time;
      return true;
    }
    if (near.rank < 0) return false;
    base_ = near.time;
    auto& events = slots_[near.time % kSlots][near.rank];
    event = {near.time, near.rank, events.back()};
    events.pop_back();
    return true;
  }

 private:
  static constexpr int kSlots = 64;

  std::array<std::array<std::vector<int>, kRanks>, kSlots> slots_;
  std::uint64_t filled_ = 0;  // slots in which there may be events
  Time base_ = 0;             // the slots are of this cycle and those after it
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> far_;

  // The time and the rank of the next event in the slots.
  void find(Event& near) {
    while (filled_) {
      int first = static_cast<int>(base_ % kSlots);
      std::uint64_t turned = first ? filled_ >> first | filled_ << (kSlots - first) : filled_;
      int ahead = __builtin_ctzll(turned), slot = (first + ahead) % kSlots;
      for (int rank = 0; rank < kRanks; ++rank)
        if (!slots_[slot][rank].empty()) {
          near.time = base_ + ahead;
          near.rank = rank;
          return;
        }
      filled_ &= ~(std::uint64_t(1) << slot);
    }
  }
};

}  // namespace allo
