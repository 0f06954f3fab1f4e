// An FT232H as an asynchronous FIFO, by table 4.2 of FTDI's data sheet FT_000288, version 2.1. Times are in ps.
#include <cstdint>
#include <deque>

struct Ft232h {
  static constexpr size_t ROOM = 1024;  // bytes it holds each way
  static constexpr int64_t PULSE = 30000, ACCESS = 14000, INACTIVE = 49000, SETUP = 5000, HOLD = 5000;
  std::deque<uint8_t> &in, &out;
  int64_t now = 0, read_fell = -1, read_rose = -1000000, write_fell = -1, write_rose = -1000000, changed = -1000000;
  int64_t rxf_falls = 0, rxf_rises = -1, txe_falls = 0, txe_rises = -1;
  bool rd_n = true, wr_n = true, rxf_n = true, txe_n = true, begun = false;
  uint8_t data = 0, driven = 0, byte = 0;
  uint64_t random = 88172645463325252ull;

  Ft232h(std::deque<uint8_t>& i, std::deque<uint8_t>& o) : in(i), out(o) {}
  uint32_t draw(uint32_t below) {
    random ^= random << 13; random ^= random >> 7; random ^= random << 17;
    return uint32_t(random >> 20) % below;
  }
  // How long a flag is inactive: USB makes a byte or its room wait now and then.
  int64_t stall() { return INACTIVE + draw(100000) + (draw(256) ? 0 : draw(5000000)); }

  // The pins of the board have these levels from now on; the number of a rule that is broken, or 0.
  // A byte from the board goes to `sent`, which is called with it.
  template <class Sent> int pins(bool rd, bool wr, uint8_t drive, uint8_t value, Sent sent) {
    int broken = 0;
    if (drive != driven || (drive && value != data)) {
      if (begun && (!wr_n || now - write_rose < HOLD)) broken = 106;
      changed = now;
    }
    driven = drive; data = value;
    if (rd_n && !rd) {
      if (rxf_n || in.empty()) broken = 101;
      byte = in.empty() ? 0 : in.front();
      read_fell = now;
    }
    if (drive && (!rd || now - read_rose < ACCESS)) broken = 102;
    if (!rd_n && rd) {
      if (now - read_fell < PULSE) broken = 103;
      if (!in.empty()) in.pop_front();
      read_rose = now;
      rxf_rises = now + 1000 + draw(13001);
      rxf_falls = rxf_rises + stall();
    }
    if (wr_n && !wr) {
      if (txe_n) broken = 104;
      if (drive != 0xff || now - changed < SETUP) broken = 105;
      write_fell = now;
      sent(value);
      txe_rises = now + 1000 + draw(13001);
      txe_falls = txe_rises + stall();
    }
    if (!wr_n && wr) {
      if (now - write_fell < PULSE) broken = 107;
      write_rose = now;
    }
    rd_n = rd; wr_n = wr; begun = true;
    return broken;
  }

  // So much later; then the flags and what is on the bus are those of that time.
  void pass(int64_t period) {
    now += period;
    if (now >= rxf_rises) rxf_n = now < rxf_falls || in.empty() || !rd_n;
    if (now >= txe_rises) txe_n = now < txe_falls || out.size() >= ROOM;
  }
  // The bus as the board reads it: the byte once it is there, and anything else at other times.
  uint8_t bus() { return rd_n || now - read_fell < ACCESS ? uint8_t(draw(256)) : byte; }
  bool busy() const { return !rd_n || !wr_n || txe_n; }
};
