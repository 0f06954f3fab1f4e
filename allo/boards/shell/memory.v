// The way to the board's memory: one port for the host, and for each AXI4 master of the core one that reads and one
// that writes. A port asks for words at addresses of words of the memory.

// Lets one port after another have the memory, each for as long as it has a word to ask for. No port holds the
// memory while it waits: words to write may depend on words to read.
module allo_memory_turns #(
  parameter PORTS = 2,
  parameter ADDRESS = 24,
  parameter WIDTH = 16
) (
  input                            clock,
  input                            reset,
  input      [PORTS-1:0]           valid,
  input      [PORTS-1:0]           write,
  input      [PORTS*ADDRESS-1:0]   address,
  input      [PORTS*WIDTH-1:0]     data,
  input      [PORTS*WIDTH/8-1:0]   strobe,
  output reg [PORTS-1:0]           ready,
  output reg [PORTS-1:0]           returned,
  output                           memory_valid,
  output                           memory_write,
  output     [ADDRESS-1:0]         memory_address,
  output     [WIDTH-1:0]           memory_data,
  output     [WIDTH/8-1:0]         memory_strobe,
  input                            memory_ready,
  input                            memory_returned
);
  reg [4:0] turn;
  reg [4:0] asked [0:7];  // whose words are on their way
  reg [2:0] first, next;
  assign memory_valid = valid[turn];
  assign memory_write = write[turn];
  assign memory_address = address[turn*ADDRESS +: ADDRESS];
  assign memory_data = data[turn*WIDTH +: WIDTH];
  assign memory_strobe = strobe[turn*(WIDTH/8) +: WIDTH/8];
  always @* begin
    ready = 0;
    returned = 0;
    ready[turn] = memory_ready;
    returned[asked[first]] = memory_returned;
  end
  always @(posedge clock) begin
    if (memory_valid && memory_ready && !memory_write) begin
      asked[next] <= turn;
      next <= next + 3'd1;
    end
    if (memory_returned) first <= first + 3'd1;
    if (!memory_valid) turn <= turn == PORTS - 1 ? 5'd0 : turn + 5'd1;
    if (reset) begin
      turn <= 5'd0;
      first <= 3'd0;
      next <= 3'd0;
    end
  end
endmodule

// The port of the host: one word of 32 bits at a time.
module allo_memory_host #(
  parameter ADDRESS = 24,
  parameter WIDTH = 16
) (
  input                    clock,
  input                    reset,
  input                    put,       // writes `word`
  input                    fetch,     // reads one into `found`
  input      [23:0]        place,     // in words of 32 bits
  input      [31:0]        word,
  output reg [31:0]        found,
  output                   busy,
  output                   valid,
  output reg               write,
  output     [ADDRESS-1:0] address,
  output     [WIDTH-1:0]   data,
  output     [WIDTH/8-1:0] strobe,
  input                    ready,
  input                    returned,
  input      [WIDTH-1:0]   value
);
  localparam [1:0] PARTS = 32 / WIDTH;
  reg [1:0] left, coming;  // parts to ask for, and parts to come
  reg [23:0] kept;
  reg [31:0] shift;
  assign busy = left != 2'd0 || coming != 2'd0;
  assign valid = left != 2'd0;
  assign address = kept * PARTS + (PARTS - left);
  assign data = shift[WIDTH-1:0];
  assign strobe = {WIDTH/8{1'b1}};
  always @(posedge clock)
    if (reset) begin
      left <= 2'd0;
      coming <= 2'd0;
    end else begin
      if (put || fetch) begin
        write <= put;
        kept <= place;
        shift <= word;
        left <= PARTS;
        coming <= put ? 2'd0 : PARTS;
      end else if (valid && ready) begin
        left <= left - 2'd1;
        shift <= shift >> WIDTH;
      end
      if (returned) begin
        found <= {value, found} >> WIDTH;
        coming <= coming - 2'd1;
      end
    end
endmodule

// The reads of an AXI4 master: bursts of whole words at addresses that rise, one burst at a time.
module allo_memory_reads #(
  parameter ADDRESS = 24,
  parameter WIDTH = 16,
  parameter BUS = 32           // bits of the master's data, at least WIDTH
) (
  input                    clock,
  input                    reset,
  input      [63:0]        ARADDR,
  input      [7:0]         ARLEN,
  input                    ARVALID,
  output                   ARREADY,
  output reg [BUS-1:0]     RDATA,
  output     [1:0]         RRESP,
  output                   RLAST,
  output reg               RVALID,
  input                    RREADY,
  output                   valid,
  output     [ADDRESS-1:0] address,
  input                    ready,
  input                    returned,
  input      [WIDTH-1:0]   value
);
  localparam PARTS = BUS / WIDTH, PART_BITS = PARTS > 1 ? $clog2(PARTS) : 1;
  localparam BUS_BITS = $clog2(BUS / 8);
  reg reading;
  reg [ADDRESS-1:0] place;
  reg [PART_BITS-1:0] filled;        // parts of the word that is put together
  reg [8+PART_BITS:0] left;          // parts to ask for
  reg [8:0] beats;                   // words of the bus to give
  // Parts that were read wait here: no more are asked for than there is room for.
  reg [WIDTH-1:0] queue [0:15];
  reg [4:0] first, next;             // with a bit more, so that full is not empty
  reg [4:0] taken;                   // places that are full or promised

  wire asked = valid && ready;
  wire pop = first != next && (!RVALID || RREADY);
  assign ARREADY = !reading;
  assign valid = reading && left != 0 && !taken[4];
  assign address = place;
  assign RRESP = 2'd0;
  assign RLAST = beats == 9'd1;

  always @(posedge clock) begin
    if (ARREADY) begin
      place <= (ARADDR >> BUS_BITS) * PARTS;
      left <= (ARLEN + 9'd1) * PARTS;
      beats <= ARLEN + 9'd1;
      reading <= ARVALID;
    end
    if (asked) begin
      place <= place + 1'b1;
      left <= left - 1'b1;
    end
    if (returned) begin
      queue[next[3:0]] <= value;
      next <= next + 5'd1;
    end
    taken <= taken + asked - pop;
    if (RVALID && RREADY) begin
      RVALID <= 1'b0;
      beats <= beats - 9'd1;
      if (RLAST) reading <= 1'b0;
    end
    if (pop) begin
      RDATA <= {queue[first[3:0]], RDATA} >> WIDTH;
      first <= first + 5'd1;
      filled <= filled == PARTS - 1 ? 0 : filled + 1'b1;
      RVALID <= filled == PARTS - 1;
    end
    if (reset) begin
      reading <= 1'b0;
      first <= 5'd0;
      next <= 5'd0;
      taken <= 5'd0;
      filled <= 0;
      RVALID <= 1'b0;
    end
  end
endmodule

// The writes of an AXI4 master, likewise; bytes without a strobe stay as they are.
module allo_memory_writes #(
  parameter ADDRESS = 24,
  parameter WIDTH = 16,
  parameter BUS = 32
) (
  input                    clock,
  input                    reset,
  input      [63:0]        AWADDR,
  input      [7:0]         AWLEN,
  input                    AWVALID,
  output                   AWREADY,
  input      [BUS-1:0]     WDATA,
  input      [BUS/8-1:0]   WSTRB,
  input                    WLAST,
  input                    WVALID,
  output                   WREADY,
  output     [1:0]         BRESP,
  output                   BVALID,
  input                    BREADY,
  output                   valid,
  output     [ADDRESS-1:0] address,
  output     [WIDTH-1:0]   data,
  output     [WIDTH/8-1:0] strobe,
  input                    ready
);
  localparam PARTS = BUS / WIDTH, PART_BITS = PARTS > 1 ? $clog2(PARTS) : 1;
  localparam BUS_BITS = $clog2(BUS / 8);
  localparam [1:0] IDLE = 0, WRITING = 1, ANSWER = 2;
  reg [1:0] state;
  reg [ADDRESS-1:0] place;
  reg [PART_BITS-1:0] part;
  // The word that is written, and the one behind it: what the master sees comes from registers.
  reg full, spare_full, last, spare_last, ended;
  reg [BUS-1:0] word, spare;
  reg [BUS/8-1:0] strobes, spare_strobes;

  wire last_part = part == PARTS - 1;
  wire masked = strobe == 0;
  wire stored = full && (ready || masked);
  wire over = stored && last_part;
  wire moved = spare_full && (!full || over);
  assign AWREADY = state == IDLE;
  assign WREADY = state == WRITING && !spare_full && !ended;
  assign valid = full && !masked;
  assign address = place;
  assign data = word[part*WIDTH +: WIDTH];
  assign strobe = strobes[part*(WIDTH/8) +: WIDTH/8];
  assign BVALID = state == ANSWER;
  assign BRESP = 2'd0;

  always @(posedge clock) begin
    if (stored) begin
      place <= place + 1'b1;
      part <= last_part ? 0 : part + 1'b1;
    end
    if (WVALID && WREADY) begin
      spare <= WDATA;
      spare_strobes <= WSTRB;
      spare_last <= WLAST;
      ended <= WLAST;
      spare_full <= 1'b1;
    end else if (moved) begin
      spare_full <= 1'b0;
    end
    if (moved) begin
      word <= spare;
      strobes <= spare_strobes;
      last <= spare_last;
      full <= 1'b1;
    end else if (over) begin
      full <= 1'b0;
    end
    case (state)
      IDLE: begin
        part <= 0;
        ended <= 1'b0;
        place <= (AWADDR >> BUS_BITS) * PARTS;
        if (AWVALID) state <= WRITING;
      end
      WRITING: if (over && last) state <= ANSWER;
      default: if (BREADY) state <= IDLE;
    endcase
    if (reset) begin
      state <= IDLE;
      full <= 1'b0;
      spare_full <= 1'b0;
    end
  end
endmodule

// The control registers of the core, as the host reaches them, and its start and done.
module allo_control #(
  parameter ADDRESS = 6
) (
  input                    clock,
  input                    reset,
  input                    put,       // writes `word` to a register
  input                    fetch,     // reads one into `found`
  input      [ADDRESS-3:0] place,     // in words of 32 bits
  input      [31:0]        word,
  output reg [31:0]        found,
  output                   busy,
  input                    start,
  output reg               done,
  output     [ADDRESS-1:0] AWADDR,
  output reg               AWVALID,
  input                    AWREADY,
  output reg [31:0]        WDATA,
  output     [3:0]         WSTRB,
  output reg               WVALID,
  input                    WREADY,
  input                    BVALID,
  output                   BREADY,
  output     [ADDRESS-1:0] ARADDR,
  output reg               ARVALID,
  input                    ARREADY,
  input      [31:0]        RDATA,
  input                    RVALID,
  output                   RREADY
);
  reg [ADDRESS-3:0] register;
  reg writing, reading;
  reg started;             // register 0 is read until it says that the run is over
  assign AWADDR = {register, 2'd0};
  assign ARADDR = {register, 2'd0};
  assign WSTRB = 4'hf;
  assign BREADY = 1'b1;
  assign RREADY = 1'b1;
  assign busy = writing || reading;
  always @(posedge clock) begin
    done <= 1'b0;
    if (AWREADY) AWVALID <= 1'b0;
    if (WREADY) WVALID <= 1'b0;
    if (ARREADY) ARVALID <= 1'b0;
    if (BVALID) writing <= 1'b0;
    if (RVALID) begin
      reading <= 1'b0;
      found <= RDATA;
      if (started && RDATA[1]) begin
        started <= 1'b0;
        done <= 1'b1;
      end
    end
    if (put || start) begin
      register <= start ? 0 : place;
      WDATA <= start ? 32'd1 : word;
      AWVALID <= 1'b1;
      WVALID <= 1'b1;
      writing <= 1'b1;
      started <= start;
    end else if (fetch || (started && !busy)) begin
      register <= fetch ? place : 0;
      ARVALID <= 1'b1;
      reading <= 1'b1;
    end
    if (reset) begin
      AWVALID <= 1'b0;
      WVALID <= 1'b0;
      ARVALID <= 1'b0;
      writing <= 1'b0;
      reading <= 1'b0;
      started <= 1'b0;
    end
  end
endmodule
