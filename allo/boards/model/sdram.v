// An SDR SDRAM as its data sheet has it: what it holds, and every rule that a controller must keep. The number of
// the first rule that is broken stays at `fault`. Bursts have one word. Times are inputs, in ps.
module allo_sdram_model #(
  parameter WIDTH = 16,
  parameter ROW_BITS = 13,
  parameter COLUMN_BITS = 9
) (
  input                    clk,
  input                    cke,
  input                    cs_n,
  input                    ras_n,
  input                    cas_n,
  input                    we_n,
  input  [1:0]             ba,
  input  [ROW_BITS-1:0]    a,
  input  [WIDTH/8-1:0]     dqm,
  inout  [WIDTH-1:0]       dq,
  input  [31:0]            period,    // of the clock
  input  [31:0]            power_up,
  input  [31:0]            rcd,
  input  [31:0]            rp,
  input  [31:0]            ras,
  input  [31:0]            rc,
  input  [31:0]            rrd,
  input  [31:0]            wr,
  input  [31:0]            rfc,
  input  [31:0]            refresh,
  input  [31:0]            clock,     // the shortest one for the clocks from a read to its word
  input  [31:0]            cas,       // these clocks
  output reg [7:0]         fault
);
  localparam [2:0] NOP = 3'b111, ACTIVE = 3'b011, READ = 3'b101, WRITE = 3'b100,
    PRECHARGE = 3'b010, REFRESH = 3'b001, MODE = 3'b000;
  localparam LONGEST_ROW = 100_000_000;  // ps that a row may be open
  localparam BEHIND = 9;                 // refreshes that may be behind
  localparam MODE_CLOCKS = 2;

  reg [WIDTH-1:0] cells [0:(1<<(ROW_BITS+2+COLUMN_BITS))-1];
  reg [63:0] now;
  reg [63:0] opened [0:3];   // when each bank was opened last
  reg [63:0] closed [0:3];
  reg [63:0] stored [0:3];
  reg [63:0] last_open, refreshed, moded, owed;
  reg [3:0] open;
  reg [ROW_BITS-1:0] rows [0:3];
  reg ready, closed_all;     // the mode is set; all rows were closed once
  reg [3:0] refreshes;
  reg [2:0] latency;
  reg [WIDTH-1:0] coming [0:3];
  reg [3:0] expected;        // words on their way; the lowest is on the bus until the next edge
  reg [WIDTH/8-1:0] dqm_before;
  reg [WIDTH-1:0] out;
  reg drive;
  integer k;

  wire [2:0] command = cs_n ? NOP : {ras_n, cas_n, we_n};
  wire [ROW_BITS+2+COLUMN_BITS-1:0] place = {rows[ba], ba, a[COLUMN_BITS-1:0]};
  wire all = a[10];
  wire touches = command == READ || command == WRITE;
  assign dq = drive ? out : {WIDTH{1'bz}};

  initial begin
    now = 0; open = 0; ready = 0; closed_all = 0; refreshes = 0; expected = 0; drive = 0; owed = 0; fault = 0;
    last_open = 0; refreshed = 0; moded = 0; latency = 2;
    for (k = 0; k < 4; k = k + 1) begin
      opened[k] = 0; closed[k] = 0; stored[k] = 0; rows[k] = 0; coming[k] = 0;
    end
  end

  reg [7:0] broken;
  always @* begin
    broken = 0;
    if (!cke) broken = 1;
    else if (command != NOP && now < power_up) broken = 2;
    else if (command != NOP && refreshed != 0 && now - refreshed < rfc) broken = 3;
    else if (command != NOP && moded != 0 && now - moded < MODE_CLOCKS * period) broken = 4;
    else if (period < clock) broken = 5;
    case (command)
      ACTIVE:
        if (!ready) broken = 6;
        else if (open[ba]) broken = 7;
        else if (now - closed[ba] < rp) broken = 8;
        else if (opened[ba] != 0 && now - opened[ba] < rc) broken = 9;
        else if (last_open != 0 && now - last_open < rrd) broken = 10;
      READ, WRITE:
        if (!open[ba]) broken = 11;
        else if (now - opened[ba] < rcd) broken = 12;
        else if (a[10]) broken = 13;
        else if (command == WRITE && |expected) broken = 14;
      PRECHARGE:
        for (k = 0; k < 4; k = k + 1)
          if (open[k] && (all || ba == k)) begin
            if (now - opened[k] < ras) broken = 15;
            if (stored[k] != 0 && now - stored[k] < wr) broken = 16;
          end
      REFRESH, MODE:
        if (!closed_all) broken = 6;
        else if (|open) broken = 17;
        else begin
          for (k = 0; k < 4; k = k + 1) if (now - closed[k] < rp) broken = 8;
          if (command == MODE && (a[6:4] != cas[2:0] || a[3:0] != 0 || refreshes < 8)) broken = 18;
        end
      default: ;
    endcase
    for (k = 0; k < 4; k = k + 1) if (open[k] && now - opened[k] > LONGEST_ROW) broken = 19;
    if (ready && owed > BEHIND * refresh) broken = 20;
  end

  always @(posedge clk) begin
    now <= now + period;
    owed <= !ready ? 0 : owed + period;
    if (fault == 0) fault <= broken;
    dqm_before <= dqm;
    drive <= expected[1];
    for (k = 0; k < WIDTH / 8; k = k + 1) out[8*k +: 8] <= coming[1][8*k +: 8] ^ {8{dqm_before[k]}};
    expected <= expected >> 1;
    for (k = 0; k < 3; k = k + 1) coming[k] <= coming[k+1];
    case (command)
      ACTIVE: begin
        open[ba] <= 1'b1;
        rows[ba] <= a;
        opened[ba] <= now;
        last_open <= now;
      end
      READ: begin
        coming[latency-1] <= cells[place];
        expected <= expected >> 1 | 4'd1 << (latency - 1);
      end
      WRITE: begin
        for (k = 0; k < WIDTH / 8; k = k + 1) if (!dqm[k]) cells[place][8*k +: 8] <= dq[8*k +: 8];
        stored[ba] <= now;
      end
      PRECHARGE:
        for (k = 0; k < 4; k = k + 1)
          if (all || ba == k) begin
            open[k] <= 1'b0;
            closed[k] <= now;
            if (all) closed_all <= 1'b1;
          end
      REFRESH: begin
        refreshed <= now;
        if (refreshes != 4'd15) refreshes <= refreshes + 4'd1;
        owed <= owed > refresh ? owed - refresh + period : 0;
      end
      MODE: begin
        moded <= now;
        ready <= 1'b1;
        latency <= a[6:4];
      end
      default: ;
    endcase
  end
endmodule
