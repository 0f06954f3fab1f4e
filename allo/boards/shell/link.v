// The link of Allo: packets over a transport of bytes. Frames, checks and commands are described in allo/boards/shell/protocol.py.

// Carries out requests on the banks of the arguments, and answers them.
module allo_link #(
  parameter QUIET_CLOCKS = 320,  // after a damaged frame the line is at rest so long, rounded up to a power of two
  parameter BANK_BITS = 8,
  parameter WORD_BITS = 8,    // at least 8: the number of a run is in the field of the word
  parameter LANE_BITS = 3,
  parameter WIDTH = 32,       // bits of the widest word, whole bytes
  parameter WAIT_BITS = 16,   // a run's end is waited for 2**WAIT_BITS clocks before the device says BUSY
  parameter HASTY = 0         // 1: it is not waited for, because words of streams are to pass meanwhile
) (
  input                       clock,
  input                       reset,
  input                       rx_valid,   // for one clock: a byte has come, and cannot wait
  output                      rx_ready,   // the byte before it has gone through the check: one may come from the next clock on
  input      [7:0]            rx_data,
  input                       rx_active,  // a byte may be coming
  output reg                  tx_valid,   // a byte is to go; it has gone when `tx_ready` is high, too
  output reg [7:0]            tx_data,
  input                       tx_ready,
  output reg [BANK_BITS-1:0]  bank,
  output reg [WORD_BITS-1:0]  word,
  input      [LANE_BITS-1:0]  last_lane,  // of the words of this bank
  input                       last_word,  // whether this is the bank's last word
  input                       live,       // whether this bank is reached while the core runs
  output reg                  write,      // the highest bytes of `data` are a word of this bank
  output reg [WIDTH-1:0]      data,
  output reg                  fetch,      // `read_data` is wanted
  input                       waiting,    // it is not there yet
  input      [WIDTH-1:0]      read_data,  // the word, in its lowest bytes, some clocks later
  output reg                  commit,     // what was written to this bank counts, up to `word`
  output reg                  start,
  output reg                  restart,    // brings the core back to its first state
  input                       running
);
  localparam [2:0] HELLO = 1, WRITE = 2, READ = 3, START = 4, PUT = 5;
  localparam [1:0] OK = 0, DAMAGED = 1, FOREIGN = 2, BUSY = 3;
  localparam [2:0] RECEIVE = 0, QUIET = 1, ACT = 2, WAIT = 3, FETCH = 4, PREPARE = 5, SEND = 6, CHECKING = 7;
  localparam [31:0] GOOD = 32'hdebb20e3;  // what a frame and its check leave behind
  localparam QUIET_BITS = $clog2(QUIET_CLOCKS);

  reg [2:0] state;
  reg [15:0] session, asked;
  reg [7:0] sequence_number, run;
  reg [2:0] command;
  reg [1:0] status;
  reg [15:0] left;            // bytes of data to come or to send
  reg [LANE_BITS-1:0] lane;
  reg [3:0] at;               // bytes of the header that are there, or of the reply
  reg headed;                 // the header is there, and its check was right
  reg escaped;
  reg [7:0] octet;            // the byte that goes through the check
  reg [3:0] absorb;           // its bits to come
  reg [31:0] check;
  reg closing;                // the check itself is sent
  reg accept;                 // the octet has gone through the check
  reg [WAIT_BITS-1:0] timer;
  reg fetched;                // `data` holds a word to send
  reg moved;                  // on to the next word

  assign rx_ready = absorb == 4'd0 && !accept;
  wire mine = asked == session;
  wire carries = command == WRITE || command == PUT;
  wire closed = running && !live;
  wire feedback = ~closing & (check[0] ^ octet[0]);
  wire quiet = timer[QUIET_BITS];

  always @(posedge clock) begin
    write <= 1'b0;
    start <= 1'b0;
    commit <= 1'b0;
    accept <= 1'b0;
    moved <= 1'b0;
    fetch <= 1'b0;
    restart <= 1'b0;
    timer <= timer + 1'b1;
    if (absorb != 4'd0) begin
      absorb <= absorb - 4'd1;
      octet <= {octet[0], octet[7:1]};
      check <= {1'b0, check[31:1]} ^ (feedback ? 32'hedb88320 : 32'd0);
      accept <= absorb == 4'd1;
    end
    if (write || moved) begin
      bank <= last_word ? bank + 1'b1 : bank;
      word <= last_word ? {WORD_BITS{1'b0}} : word + 1'b1;
    end
    case (state)
      RECEIVE: begin
        if (rx_valid && rx_data == 8'h7e) begin
          if (headed && (left == 16'd0 || !carries) && check == GOOD && !escaped) state <= ACT;
          else if (at != 4'd0 || headed) state <= QUIET;
          at <= 4'd0;
          headed <= 1'b0;
          escaped <= 1'b0;
          check <= 32'hffffffff;
          timer <= 0;
        end else if (rx_valid && rx_data == 8'h7d) begin
          escaped <= 1'b1;
        end else if (rx_valid) begin
          octet <= rx_data ^ {2'b00, escaped, 5'b00000};
          escaped <= 1'b0;
          absorb <= 4'd8;
        end
        if (accept && !headed) begin
          at <= at + 4'd1;
          case (at)
            4'd0: asked[7:0] <= octet;
            4'd1: asked[15:8] <= octet;
            4'd2: sequence_number <= octet;
            4'd3: command <= octet[2:0];
            4'd4: bank <= octet;
            4'd5: bank <= {octet, 8'd0} | bank;
            4'd6: word <= octet;
            4'd7: word <= {octet, 8'd0} | word;
            4'd8: word <= {octet, 16'd0} | word;
            4'd9: left[7:0] <= octet;
            4'd10: left[15:8] <= octet;
            4'd14: begin
              if (check != GOOD) begin
                state <= QUIET;
                timer <= 0;
              end
              headed <= 1'b1;
              lane <= 0;
            end
            default: ;
          endcase
        end
        if (accept && headed && carries && left != 16'd0) begin
          left <= left - 16'd1;
          data <= {octet, data} >> 8;
          lane <= lane == last_lane ? 0 : lane + 1'b1;
          write <= lane == last_lane && mine && !closed;
        end
      end
      QUIET: begin
        at <= 4'd0;
        headed <= 1'b0;
        escaped <= 1'b0;
        absorb <= 4'd0;
        status <= DAMAGED;
        if (rx_active || rx_valid) timer <= 0;
        if (quiet) begin
          left <= 16'd0;
          state <= PREPARE;
        end
      end
      ACT: begin
        status <= mine || command == HELLO ? OK : FOREIGN;
        timer <= 0;
        lane <= 0;
        state <= PREPARE;
        if (command != READ || !mine || closed) left <= 16'd0;
        if (command == HELLO) begin
          session <= asked;
          run <= 8'd0;
          restart <= 1'b1;
        end else if (mine && command == START) begin
          start <= word[7:0] != run;
          run <= word[7:0];
          state <= WAIT;
        end else if (mine && closed) begin
          status <= BUSY;
        end else begin
          commit <= mine && command == PUT;
        end
      end
      WAIT:
        if (timer[2] && (!running || HASTY != 0) || &timer) begin
          status <= running ? BUSY : OK;
          state <= PREPARE;
        end
      FETCH:
        if (timer[3] && !waiting) begin
          data <= read_data;
          fetched <= 1'b1;
          state <= PREPARE;
        end
      PREPARE: begin  // of the reply's byte `at`
        octet <= at == 4'd1 ? session[7:0]
          : at == 4'd2 ? session[15:8]
          : at == 4'd3 ? sequence_number
          : at == 4'd4 ? {6'd0, status}
          : at == 4'd5 ? run
          : at == 4'd6 ? data[7:0] : ~check[7:0];
        closing <= at >= 4'd7;
        timer <= 0;
        if (at == 4'd0) begin
          check <= 32'hffffffff;
          fetched <= 1'b0;
        end
        if (at == 4'd0 || at == 4'd11) begin
          tx_data <= 8'h7e;
          tx_valid <= 1'b1;
          state <= SEND;
        end else if (at == 4'd6 && left == 16'd0) begin
          at <= 4'd7;
        end else if (at == 4'd6 && !fetched) begin
          state <= FETCH;
          fetch <= 1'b1;
        end else begin
          absorb <= 4'd8;
          state <= CHECKING;
          if (at == 4'd6) begin
            data <= data >> 8;
            left <= left - 16'd1;
            lane <= lane == last_lane ? 0 : lane + 1'b1;
            moved <= lane == last_lane;
            fetched <= lane != last_lane;
          end
        end
      end
      CHECKING:
        if (accept) begin
          escaped <= octet == 8'h7e || octet == 8'h7d;
          tx_data <= octet == 8'h7e || octet == 8'h7d ? 8'h7d : octet;
          tx_valid <= 1'b1;
          state <= SEND;
        end
      SEND:
        if (tx_ready && escaped) begin
          tx_data <= octet ^ 8'h20;
          escaped <= 1'b0;
        end else if (tx_ready) begin
          tx_valid <= 1'b0;
          at <= at == 4'd6 ? 4'd6 : at == 4'd11 ? 4'd0 : at + 4'd1;
          state <= at == 4'd11 ? RECEIVE : PREPARE;
          if (at == 4'd11) begin
            closing <= 1'b0;
            check <= 32'hffffffff;
          end
        end
    endcase
    if (reset) begin
      state <= RECEIVE;
      session <= 16'd0;
      run <= 8'd0;
      at <= 4'd0;
      headed <= 1'b0;
      escaped <= 1'b0;
      absorb <= 4'd0;
      closing <= 1'b0;
      tx_valid <= 1'b0;
      check <= 32'hffffffff;
    end
  end
endmodule
