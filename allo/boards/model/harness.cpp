// A board's design behind a pseudo-terminal: a serial line of bits between it and the bytes of the terminal.
// Arguments: file descriptor of the terminal, clocks of a bit; with FIFO245 defined, a FIFO stands for the line, and
// they are the clocks of rest after which nothing more comes, and the period in ps. Commands on standard input, one a line:
//   rates FLIP LOSE DOUBLE SEED   errors in a million bytes, each way
//   reset                         presses the button of the reset for 64 clocks
// With SDRAM defined, the times of the memory follow the arguments; a rule of it that is broken ends the program
// with code 3, its number on standard error.
#include <poll.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>

static uint64_t random_state = 1;
static uint32_t rates[3];
static uint32_t next_random() {
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return uint32_t(random_state >> 33);
}
static bool happens(uint32_t rate) { return rate && next_random() % 1000000 < rate; }
static void pass(std::deque<uint8_t>& queue, uint8_t byte) {
  if (happens(rates[0])) byte ^= 1 << next_random() % 8;
  if (happens(rates[1])) return;
  queue.push_back(byte);
  if (happens(rates[2])) queue.push_back(byte);
}

#ifdef FIFO245
constexpr int LEAST = 4;
#else
constexpr int LEAST = 3;
#endif
int main(int argc, char** argv) {
  if (argc < LEAST) return 2;
  const int terminal = atoi(argv[1]);
#ifdef FIFO245
  const long resting = atol(argv[2]), period = atol(argv[3]);
  argc -= 1; argv += 1;
#else
  const int divider = atoi(argv[2]);
  const long resting = divider * 400l;
#endif
  auto context = std::make_unique<VerilatedContext>();
  context->randReset(0);
  auto top = std::make_unique<MODEL>(context.get());
  std::deque<uint8_t> in, out;
  int send_left = 0, take_left = 0, button = 0;
#ifdef FIFO245
  Ft232h chip(in, out);
#else
  int send_count = 0, take_count = 0;
  uint32_t send_bits = 0, take_bits = 0;
#endif
  long idle = 0, since = 0, asleep = 0;  // clocks in which nothing is heard: the memory begins
#ifdef SDRAM
  if (argc != 15) return 2;
  uint32_t times[12];
  for (int k = 0; k < 12; ++k) times[k] = uint32_t(strtoul(argv[3 + k], nullptr, 10));
  top->period = times[0]; top->power_up = times[1]; top->rcd = times[2]; top->rp = times[3];
  top->ras = times[4]; top->rc = times[5]; top->rrd = times[6]; top->wr = times[7];
  top->rfc = times[8]; top->refresh = times[9]; top->shortest = times[10]; top->cas = times[11];
  const long begins = times[1] / times[0] + 1000;
#else
  const long begins = 0;
#endif
  asleep = begins;
#ifdef FIFO245
  top->fifo_rxf_n = 1; top->fifo_txe_n = 1;
#else
  top->serial_rx = 1;
#endif
  top->clock = 0; unsigned char unused = 0; RESET = RESET_OFF; (void)unused;
  top->eval();
  std::string line;
  for (;;) {
    if (in.empty() && !send_left) ++idle; else idle = 0;
#ifdef FIFO245
    if (chip.busy()) idle = 0;
#endif
    if (take_left || RUNNING) idle = 0;
    if (asleep) { --asleep; idle = 0; }
    else if (++since >= 512 || idle > resting) {
      const bool rest = idle > resting;
      since = 0;
      if (!out.empty()) {
        std::string text(out.begin(), out.end());
        out.clear();
        if (write(terminal, text.data(), text.size()) < 0) return 0;
      }
      pollfd wait[2] = {{terminal, POLLIN, 0}, {0, POLLIN, 0}};
      poll(wait, 2, rest && !button ? 1000 : 0);
      uint8_t buffer[4096];
      size_t room = sizeof buffer;
#ifdef FIFO245
      room = in.size() < Ft232h::ROOM ? Ft232h::ROOM - in.size() : 0;
#endif
      if (room && wait[0].revents & POLLIN) {
        const long got = read(terminal, buffer, room);
        for (long k = 0; k < got; ++k) pass(in, buffer[k]);
        if (got > 0) idle = 0;
      }
      if (wait[1].revents) {
        const long got = read(0, buffer, sizeof buffer);
        if (got <= 0) return 0;
        for (long k = 0; k < got; ++k) {
          if (buffer[k] != '\n') { line += char(buffer[k]); continue; }
          unsigned a, b, c; unsigned long long seed;
          if (sscanf(line.c_str(), "rates %u %u %u %llu", &a, &b, &c, &seed) == 4) {
            rates[0] = a; rates[1] = b; rates[2] = c; random_state = seed * 2 + 1;
          }
          if (line == "reset") { button = 64; idle = 0; }
          line.clear();
          putchar('.'); fflush(stdout);
        }
      }
      if (rest && idle > resting && !button) continue;
    }
#ifndef FIFO245
    if (send_left) {
      if (--send_count <= 0) { send_bits >>= 1; send_count = divider; --send_left; }
    } else if (!in.empty()) {
      send_bits = 0x600u | uint32_t(in.front()) << 1; in.pop_front();
      send_left = 10; send_count = divider;
    }
    top->serial_rx = send_left ? send_bits & 1 : 1;
#endif
    RESET = button ? !RESET_OFF : RESET_OFF;
    if (button) --button;
    top->clock = 1; top->eval();
    top->clock = 0; top->eval();
#ifdef SDRAM
    if (top->fault) { fprintf(stderr, "%d", int(top->fault)); return 3; }
#endif
#ifdef FIFO245
    const int broken = chip.pins(
        top->fifo_rd_n, top->fifo_wr_n, top->fifo_d__en, top->fifo_d__out, [&](uint8_t byte) { pass(out, byte); });
    if (broken && !asleep) { fprintf(stderr, "%d", broken); return 3; }
    chip.pass(period);
    top->fifo_rxf_n = chip.rxf_n; top->fifo_txe_n = chip.txe_n; top->fifo_d = chip.bus();
#else
    if (!take_left) {
      if (!top->serial_tx) { take_left = 10; take_count = divider / 2; take_bits = 0; }
    } else if (--take_count <= 0) {
      take_bits |= uint32_t(top->serial_tx) << (10 - take_left);
      take_count = divider;
      if (--take_left == 0 && take_bits >> 9 & 1) pass(out, uint8_t(take_bits >> 1));
    }
#endif
  }
}
