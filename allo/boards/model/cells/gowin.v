// Cells of Gowin's devices that Yosys has no model of. The netlist's names stand behind "model_".
// From the interface that Yosys's brams_map.v and dsp_map.v take for granted, and what Apycula packs of carry chains
// (chipdb.py); no data sheet was read. Yosys and nextpnr leave BLKSEL at the code that the block answers to and OCE
// at 1, so neither is in the models. Ports that end in numbers are buses here (../netlist.py).

// A block of 512 words of four bytes of BYTE bits, with two ports. An address counts bits, or eighths of a byte of
// nine; where a word has more than one byte, the lowest bits of the address enable them.
module gowin_block #(
  parameter BYTE = 8, WIDTH_A = 32, WIDTH_B = 32, MODE_A = 0, MODE_B = 0, PIPED_A = 0, PIPED_B = 0, INITVAL = 0
) (
  input clock_a, enable_a, write_a, reset_a, clock_b, enable_b, write_b, reset_b, input [13:0] at_a, at_b,
  input [4*BYTE-1:0] in_a, in_b, output [4*BYTE-1:0] out_a, out_b
);
  localparam [2048*BYTE-1:0] FIRST = INITVAL;
  reg [4*BYTE-1:0] words [0:511];
  reg [4*BYTE-1:0] read_a, read_b, piped_a, piped_b;
  integer n;
  initial begin
    for (n = 0; n < 512; n = n + 1) words[n] = FIRST[4 * BYTE * n +: 4 * BYTE];
    read_a = 0;
    read_b = 0;
    piped_a = 0;
    piped_b = 0;
  end
  function [4*BYTE-1:0] taken(input [4*BYTE-1:0] word, input [4:0] at, input integer width);
    case (width)
      4 * BYTE: taken = word;
      2 * BYTE: taken = word[2 * BYTE * at[4] +: 2 * BYTE];
      BYTE: taken = word[BYTE * at[4:3] +: BYTE];
      4: taken = word[4 * at[4:2] +: 4];
      2: taken = word[2 * at[4:1] +: 2];
      default: taken = word[at];
    endcase
  endfunction
  function [4*BYTE-1:0] put(
    input [4*BYTE-1:0] word, input [4*BYTE-1:0] data, input [4:0] at, input integer width
  );
    integer k;
    begin
      put = word;
      case (width)
        4 * BYTE: for (k = 0; k < 4; k = k + 1) if (at[k]) put[BYTE * k +: BYTE] = data[BYTE * k +: BYTE];
        2 * BYTE:
          for (k = 0; k < 2; k = k + 1) if (at[k]) put[2 * BYTE * at[4] + BYTE * k +: BYTE] = data[BYTE * k +: BYTE];
        BYTE: put[BYTE * at[4:3] +: BYTE] = data[BYTE-1:0];
        4: put[4 * at[4:2] +: 4] = data[3:0];
        2: put[2 * at[4:1] +: 2] = data[1:0];
        default: put[at] = data[0];
      endcase
    end
  endfunction
  wire [4*BYTE-1:0] old_a = words[at_a[13:5]], old_b = words[at_b[13:5]];
  wire [4*BYTE-1:0] new_a = put(old_a, in_a, at_a[4:0], WIDTH_A), new_b = put(old_b, in_b, at_b[4:0], WIDTH_B);
  // A reset needs no enable. Modes of writing: 0 keeps what was read, 1 reads the new word, 2 the old one.
  always @(posedge clock_a) begin
    if (enable_a && write_a) words[at_a[13:5]] <= new_a;
    if (reset_a) read_a <= 0;
    else if (enable_a && (!write_a || MODE_A != 0))
      read_a <= taken(write_a && MODE_A == 1 ? new_a : old_a, at_a[4:0], WIDTH_A);
    if (reset_a) piped_a <= 0;
    else if (enable_a) piped_a <= read_a;
  end
  always @(posedge clock_b) begin
    if (enable_b && write_b) words[at_b[13:5]] <= new_b;
    if (reset_b) read_b <= 0;
    else if (enable_b && (!write_b || MODE_B != 0))
      read_b <= taken(write_b && MODE_B == 1 ? new_b : old_b, at_b[4:0], WIDTH_B);
    if (reset_b) piped_b <= 0;
    else if (enable_b) piped_b <= read_b;
  end
  assign out_a = PIPED_A ? piped_a : read_a, out_b = PIPED_B ? piped_b : read_b;
endmodule

// Port A writes where it is enabled, and port B reads.
module model_SDPB (
  input CLKA, CEA, RESETA, CLKB, CEB, RESETB, input [13:0] ADA, ADB, input [31:0] DI, output [31:0] DO
);
  parameter BIT_WIDTH_0 = 32, BIT_WIDTH_1 = 32, READ_MODE = 0, INITVAL = 0;
  wire [31:0] unread;
  gowin_block #(.WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .PIPED_B(READ_MODE), .INITVAL(INITVAL)) block (
    CLKA, CEA, 1'b1, RESETA, CLKB, CEB, 1'b0, RESETB, ADA, ADB, DI, 32'd0, unread, DO
  );
endmodule
module model_SDPX9B (
  input CLKA, CEA, RESETA, CLKB, CEB, RESETB, input [13:0] ADA, ADB, input [35:0] DI, output [35:0] DO
);
  parameter BIT_WIDTH_0 = 36, BIT_WIDTH_1 = 36, READ_MODE = 0, INITVAL = 0;
  wire [35:0] unread;
  gowin_block #(
    .BYTE(9), .WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .PIPED_B(READ_MODE), .INITVAL(INITVAL)
  ) block (CLKA, CEA, 1'b1, RESETA, CLKB, CEB, 1'b0, RESETB, ADA, ADB, DI, 36'd0, unread, DO);
endmodule

// nextpnr's name of both.
module model_SDP (
  input CLKA, CEA, RESETA, WREA, CLKB, CEB, RESETB, input [13:0] ADA, ADB, input [35:0] DI, output [35:0] DO
);
  parameter BIT_WIDTH_0 = 32, BIT_WIDTH_1 = 32, READ_MODE = 0, INITVAL = 0;
  localparam BYTE = BIT_WIDTH_0 % 9 == 0 ? 9 : 8;
  wire [4*BYTE-1:0] unread, read;
  assign DO = read;
  gowin_block #(
    .BYTE(BYTE), .WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .PIPED_B(READ_MODE), .INITVAL(INITVAL)
  ) block (
    CLKA, CEA, WREA, RESETA, CLKB, CEB, 1'b0, RESETB, ADA, ADB, DI[4*BYTE-1:0], {4 * BYTE{1'b0}}, unread, read
  );
endmodule

// One port; nextpnr has the first name for both.
module model_SP (input CLK, CE, WRE, RESET, input [13:0] AD, input [35:0] DI, output [35:0] DO);
  parameter BIT_WIDTH = 32, READ_MODE = 0, WRITE_MODE = 0, INITVAL = 0;
  localparam BYTE = BIT_WIDTH % 9 == 0 ? 9 : 8;
  wire [4*BYTE-1:0] unread, read;
  assign DO = read;
  gowin_block #(
    .BYTE(BYTE), .WIDTH_A(BIT_WIDTH), .MODE_A(WRITE_MODE), .PIPED_A(READ_MODE), .INITVAL(INITVAL)
  ) block (
    CLK, CE, WRE, RESET, CLK, 1'b0, 1'b0, 1'b0, AD, 14'd0, DI[4*BYTE-1:0], {4 * BYTE{1'b0}}, read, unread
  );
endmodule
module model_SPX9 (input CLK, CE, WRE, RESET, input [13:0] AD, input [35:0] DI, output [35:0] DO);
  parameter BIT_WIDTH = 36, READ_MODE = 0, WRITE_MODE = 0, INITVAL = 0;
  wire [35:0] unread;
  gowin_block #(
    .BYTE(9), .WIDTH_A(BIT_WIDTH), .MODE_A(WRITE_MODE), .PIPED_A(READ_MODE), .INITVAL(INITVAL)
  ) block (CLK, CE, WRE, RESET, CLK, 1'b0, 1'b0, 1'b0, AD, 14'd0, DI, 36'd0, DO, unread);
endmodule

// Two ports that read and write.
module model_DPB (
  input CLKA, CEA, WREA, RESETA, CLKB, CEB, WREB, RESETB, input [13:0] ADA, ADB, input [15:0] DIA, DIB,
  output [15:0] DOA, DOB
);
  parameter BIT_WIDTH_0 = 16, BIT_WIDTH_1 = 16, READ_MODE0 = 0, READ_MODE1 = 0, WRITE_MODE0 = 0, WRITE_MODE1 = 0;
  parameter INITVAL = 0;
  wire [15:0] unread_a, unread_b;
  gowin_block #(
    .WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .MODE_A(WRITE_MODE0), .MODE_B(WRITE_MODE1),
    .PIPED_A(READ_MODE0), .PIPED_B(READ_MODE1), .INITVAL(INITVAL)
  ) block (
    CLKA, CEA, WREA, RESETA, CLKB, CEB, WREB, RESETB, ADA, ADB, {16'd0, DIA}, {16'd0, DIB},
    {unread_a, DOA}, {unread_b, DOB}
  );
endmodule
module model_DPX9B (
  input CLKA, CEA, WREA, RESETA, CLKB, CEB, WREB, RESETB, input [13:0] ADA, ADB, input [17:0] DIA, DIB,
  output [17:0] DOA, DOB
);
  parameter BIT_WIDTH_0 = 18, BIT_WIDTH_1 = 18, READ_MODE0 = 0, READ_MODE1 = 0, WRITE_MODE0 = 0, WRITE_MODE1 = 0;
  parameter INITVAL = 0;
  wire [17:0] unread_a, unread_b;
  gowin_block #(
    .BYTE(9), .WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .MODE_A(WRITE_MODE0), .MODE_B(WRITE_MODE1),
    .PIPED_A(READ_MODE0), .PIPED_B(READ_MODE1), .INITVAL(INITVAL)
  ) block (
    CLKA, CEA, WREA, RESETA, CLKB, CEB, WREB, RESETB, ADA, ADB, {18'd0, DIA}, {18'd0, DIB},
    {unread_a, DOA}, {unread_b, DOB}
  );
endmodule

// nextpnr's name of both.
module model_DP (
  input CLKA, CEA, WREA, RESETA, CLKB, CEB, WREB, RESETB, input [13:0] ADA, ADB, input [17:0] DIA, DIB,
  output [17:0] DOA, DOB
);
  parameter BIT_WIDTH_0 = 16, BIT_WIDTH_1 = 16, READ_MODE0 = 0, READ_MODE1 = 0, WRITE_MODE0 = 0, WRITE_MODE1 = 0;
  parameter INITVAL = 0;
  localparam BYTE = BIT_WIDTH_0 % 9 == 0 ? 9 : 8;
  wire [4*BYTE-1:0] read_a, read_b;
  assign DOA = read_a[2*BYTE-1:0], DOB = read_b[2*BYTE-1:0];
  gowin_block #(
    .BYTE(BYTE), .WIDTH_A(BIT_WIDTH_0), .WIDTH_B(BIT_WIDTH_1), .MODE_A(WRITE_MODE0), .MODE_B(WRITE_MODE1),
    .PIPED_A(READ_MODE0), .PIPED_B(READ_MODE1), .INITVAL(INITVAL)
  ) block (
    CLKA, CEA, WREA, RESETA, CLKB, CEB, WREB, RESETB, ADA, ADB, {{2 * BYTE{1'b0}}, DIA[2*BYTE-1:0]},
    {{2 * BYTE{1'b0}}, DIB[2*BYTE-1:0]}, read_a, read_b
  );
endmodule

// Products, as Yosys makes them: without registers.
module model_MULT9X9 (input [8:0] A, B, input ASIGN, BSIGN, output [17:0] DOUT);
  wire signed [19:0] product = $signed({ASIGN & A[8], A}) * $signed({BSIGN & B[8], B});
  assign DOUT = product[17:0];
endmodule
module model_MULT18X18 (input [17:0] A, B, input ASIGN, BSIGN, output [35:0] DOUT);
  wire signed [37:0] product = $signed({ASIGN & A[17], A}) * $signed({BSIGN & B[17], B});
  assign DOUT = product[35:0];
endmodule
module model_MULT36X36 (input [35:0] A, B, input ASIGN, BSIGN, output [71:0] DOUT);
  wire signed [73:0] product = $signed({ASIGN & A[35], A}) * $signed({BSIGN & B[35], B});
  assign DOUT = product[71:0];
endmodule

// The clock generator: its oscillator is the clock.
module model_rPLL (input CLKIN, output CLKOUT, CLKOUTP, CLKOUTD, CLKOUTD3, LOCK);
  assign CLKOUT = CLKIN;
  assign CLKOUTP = CLKIN;
  assign CLKOUTD = CLKIN;
  assign CLKOUTD3 = CLKIN;
  assign LOCK = 1'b1;
endmodule

// What nextpnr makes of carry chains: a table of its own, or the ends of a chain, which bring it a 1 or read it.
module model_ALU (input [3:0] I, input CIN, output SUM, COUT);
  parameter [255:0] ALU_MODE = 0;
  parameter [31:0] RAW_ALU_LUT = 32'hFFFFFFFF;
  localparam ENDS = ALU_MODE == "C2L" || ALU_MODE == "ONE2C";
  localparam [15:0] TABLE = ENDS ? (ALU_MODE == "C2L" ? 16'h0000 : 16'h000F) : RAW_ALU_LUT[15:0];
  generate
    if (ENDS || RAW_ALU_LUT != 32'hFFFFFFFF) begin : own
      wire passes = TABLE[{I[3], 1'b1, I[1:0]}];
      assign SUM = passes ^ CIN;
      assign COUT = passes ? CIN : TABLE[{2'b00, I[1:0]}];
    end else begin : usual
      ALU #(.ALU_MODE(ALU_MODE)) unit (.I0(I[0]), .I1(I[1]), .I3(I[3]), .CIN(CIN), .SUM(SUM), .COUT(COUT));
    end
  endgenerate
endmodule

// Memories of tables, which have an enable in nextpnr.
module model_RAM16SDP4 (input CLK, CE, WRE, input [3:0] WAD, RAD, DI, output [3:0] DO);
  parameter [15:0] INIT_0 = 0, INIT_1 = 0, INIT_2 = 0, INIT_3 = 0;
  RAM16SDP4 #(.INIT_0(INIT_0), .INIT_1(INIT_1), .INIT_2(INIT_2), .INIT_3(INIT_3)) unit (
    .CLK(CLK), .WRE(WRE), .WAD(WAD), .RAD(RAD), .DI(DI), .DO(DO)
  );
endmodule
module model_RAM16SDP2 (input CLK, CE, WRE, input [3:0] WAD, RAD, input [1:0] DI, output [1:0] DO);
  parameter [15:0] INIT_0 = 0, INIT_1 = 0;
  RAM16SDP2 #(.INIT_0(INIT_0), .INIT_1(INIT_1)) unit (
    .CLK(CLK), .WRE(WRE), .WAD(WAD), .RAD(RAD), .DI(DI), .DO(DO)
  );
endmodule
module model_RAM16SDP1 (input CLK, CE, WRE, input [3:0] WAD, RAD, input DI, output DO);
  parameter [15:0] INIT_0 = 0;
  RAM16SDP1 #(.INIT_0(INIT_0)) unit (.CLK(CLK), .WRE(WRE), .WAD(WAD), .RAD(RAD), .DI(DI), .DO(DO));
endmodule
module model_GOWIN_VCC (output V);
  assign V = 1'b1;
endmodule
module model_GOWIN_GND (output G);
  assign G = 1'b0;
endmodule
