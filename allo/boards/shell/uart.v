// The transport of bytes over two wires of a serial port.

// Receives bytes: a start bit, eight data bits with the lowest first, a stop bit.
module allo_uart_rx #(
  parameter DIVIDER = 8  // clocks of a bit
) (
  input            clock,
  input            reset,
  input            line,
  output reg       valid,  // for one clock
  output reg [7:0] data
);
  reg [2:0] synced;
  reg [3:0] left;  // samples to come
  reg [15:0] count;
  always @(posedge clock) begin
    synced <= {synced[1:0], line};
    valid <= 1'b0;
    if (reset) begin
      synced <= 3'b111;
      left <= 4'd0;
    end else if (left == 4'd0) begin
      count <= DIVIDER / 2 - 1;
      if (!synced[2]) left <= 4'd10;
    end else if (count != 16'd0) begin
      count <= count - 16'd1;
    end else begin
      count <= DIVIDER - 1;
      left <= left - 4'd1;
      if (left == 4'd10 && synced[2]) left <= 4'd0;  // a spike, and no start bit
      if (left != 4'd10 && left != 4'd1) data <= {synced[2], data[7:1]};
      if (left == 4'd1) valid <= synced[2];
    end
  end
endmodule

// Sends bytes; one is taken when `valid` and `ready` are high.
module allo_uart_tx #(
  parameter DIVIDER = 8
) (
  input        clock,
  input        reset,
  input        valid,
  input  [7:0] data,
  output       ready,
  output       line
);
  reg [8:0] shift;  // the level of the line is its lowest bit
  reg [3:0] left;
  reg [15:0] count;
  assign line = shift[0];
  assign ready = left == 4'd0;
  always @(posedge clock) begin
    if (reset) begin
      shift <= 9'h1ff;
      left <= 4'd0;
    end else if (ready) begin
      count <= DIVIDER - 1;
      if (valid) begin
        shift <= {data, 1'b0};
        left <= 4'd10;
      end
    end else if (count != 16'd0) begin
      count <= count - 16'd1;
    end else begin
      count <= DIVIDER - 1;
      shift <= {1'b1, shift[8:1]};
      left <= left - 4'd1;
    end
  end
endmodule

// A serial port, as the link sees a transport.
module allo_uart #(
  parameter DIVIDER = 8
) (
  input        clock,
  input        reset,
  input        rx,
  output       tx,
  output       rx_valid,
  output [7:0] rx_data,
  output       rx_active,
  input        rx_ready,  // a line cannot be held back
  input        tx_valid,
  input  [7:0] tx_data,
  output       tx_ready
);
  assign rx_active = !rx;
  allo_uart_rx #(.DIVIDER(DIVIDER)) receiver (
    .clock(clock), .reset(reset), .line(rx), .valid(rx_valid), .data(rx_data));
  allo_uart_tx #(.DIVIDER(DIVIDER)) sender (
    .clock(clock), .reset(reset), .valid(tx_valid), .data(tx_data), .ready(tx_ready), .line(tx));
endmodule
