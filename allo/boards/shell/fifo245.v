// The transport of bytes over the FIFO of an FT232H or FT2232H: eight wires of data and four that ask and tell.

// Reads while RXF# is low and writes while TXE# is low; the times are those of allo/boards/shell/transports.py.
module allo_fifo245 #(
  parameter LOW = 2,    // clocks of a pulse; a byte that is read is taken at its end
  parameter SETUP = 1,  // clocks of a byte that is written, before the pulse and after it
  parameter AFTER = 4   // clocks until RXF# and TXE# tell of the next byte
) (
  input            clock,
  input            reset,
  input            rxf_n,
  input            txe_n,
  output reg       rd_n,
  output reg       wr_n,
  input      [7:0] d_in,
  output reg [7:0] d_out,
  output reg       d_drive,
  output reg       rx_valid,
  output reg [7:0] rx_data,
  output           rx_active,
  input            rx_ready,
  input            tx_valid,
  input      [7:0] tx_data,
  output           tx_ready
);
  localparam [2:0] REST = 0, READ = 1, GIVE = 2, WRITE = 3, HOLD = 4, PAUSE = 5;
  reg [2:0] state;
  reg [7:0] count;
  reg [1:0] empty, full;  // RXF# and TXE#, two clocks later
  wire over = count == 8'd0;
  assign tx_ready = state == REST && !full[1];
  assign rx_active = !empty[1];
  always @(posedge clock) begin
    empty <= {empty[0], rxf_n};
    full <= {full[0], txe_n};
    rx_valid <= 1'b0;
    count <= count - 8'd1;
    case (state)
      REST:
        if (tx_valid && tx_ready) begin
          d_out <= tx_data;
          d_drive <= 1'b1;
          count <= SETUP - 1;
          state <= GIVE;
        end else if (rx_ready && !empty[1]) begin
          rd_n <= 1'b0;
          count <= LOW - 1;
          state <= READ;
        end
      READ:
        if (over) begin
          rd_n <= 1'b1;
          rx_data <= d_in;
          rx_valid <= 1'b1;
          count <= AFTER - 1;
          state <= PAUSE;
        end
      GIVE:
        if (over) begin
          wr_n <= 1'b0;
          count <= LOW - 1;
          state <= WRITE;
        end
      WRITE:
        if (over) begin
          wr_n <= 1'b1;
          count <= SETUP - 1;
          state <= HOLD;
        end
      HOLD:
        if (over) begin
          d_drive <= 1'b0;
          count <= AFTER - 1;
          state <= PAUSE;
        end
      PAUSE: if (over) state <= REST;
      default: state <= REST;
    endcase
    if (reset) begin
      state <= REST;
      rd_n <= 1'b1;
      wr_n <= 1'b1;
      d_drive <= 1'b0;
      empty <= 2'b11;
      full <= 2'b11;
    end
  end
endmodule
