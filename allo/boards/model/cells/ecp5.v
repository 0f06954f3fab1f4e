// Cells of ECP5 that Yosys has no model of, or has one with a fault. The netlist's names stand behind "model_".
// Ports that end in numbers are buses here (../netlist.py). From Lattice's FPGA-TN-02204 (memories) and
// FPGA-TN-02205 (multipliers), as far as Yosys and Allo use them.

// A memory of 1,024 words of 18 bits. Narrow words lie in it as bits 8*k+b of byte 9*k+b; at 36 bits, port A
// writes and port B reads, both over the data pins of both.
module model_DP16KD (
  input [17:0] DIA, DIB, input [13:0] ADA, ADB, input [2:0] CSA, CSB,
  input CLKA, CEA, OCEA, WEA, RSTA, CLKB, CEB, OCEB, WEB, RSTB, output [17:0] DOA, DOB
);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
  parameter [255:0] CLKAMUX = "CLKA", CLKBMUX = "CLKB", WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter [255:0] REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC";
  parameter [255:0] CSDECODE_A = "0b000", CSDECODE_B = "0b000", GSR = "AUTO";
  parameter WID = 0;
  parameter [20479:0] INITVAL = 0;
  reg [17:0] words [0:1023];
  reg [35:0] read_a, read_b;
  integer n;
  initial begin
    for (n = 0; n < 1024; n = n + 1) words[n] = INITVAL[20 * n +: 18];
    read_a = 0;
    read_b = 0;
  end
  // A word of a width, of both words of 18 bits at its place.
  function [35:0] taken(input [35:0] both, input [13:0] address, input integer width);
    case (width)
      36: taken = both;
      18: taken = both[17:0];
      9: taken = both[9 * address[3] +: 9];
      4: taken = both[9 * address[3] + 4 * address[2] +: 4];
      2: taken = both[9 * address[3] + 2 * address[2:1] +: 2];
      default: taken = both[9 * address[3] + address[2:0]];
    endcase
  endfunction
  // The same words with a word of a width put in; enables of bytes are in the address.
  function [35:0] put(input [35:0] both, input [35:0] data, input [13:0] address, input integer width);
    integer k;
    begin
      put = both;
      case (width)
        36: for (k = 0; k < 4; k = k + 1) if (address[k]) put[9 * k +: 9] = data[9 * k +: 9];
        18: for (k = 0; k < 2; k = k + 1) if (address[k]) put[9 * k +: 9] = data[9 * k +: 9];
        9: put[9 * address[3] +: 9] = data[8:0];
        4: put[9 * address[3] + 4 * address[2] +: 4] = data[3:0];
        2: put[9 * address[3] + 2 * address[2:1] +: 2] = data[1:0];
        default: put[9 * address[3] + address[2:0]] = data[0];
      endcase
    end
  endfunction
  wire [9:0] at_a = DATA_WIDTH_A == 36 ? {ADA[13:5], 1'b0} : ADA[13:4];
  wire [9:0] at_b = DATA_WIDTH_B == 36 ? {ADB[13:5], 1'b0} : ADB[13:4];
  wire [35:0] both_a = {words[at_a | 10'd1], words[at_a]}, both_b = {words[at_b | 10'd1], words[at_b]};
  wire [35:0] new_a = put(both_a, {DIB, DIA}, ADA, DATA_WIDTH_A);
  wire [35:0] new_b = put(both_b, {18'd0, DIB}, ADB, DATA_WIDTH_B);
  wire clock_a = CLKAMUX == "INV" ? ~CLKA : CLKA, clock_b = CLKBMUX == "INV" ? ~CLKB : CLKB;
  always @(posedge clock_a) if (CEA) begin
    if (WEA && CSA == 0) begin
      words[at_a] <= new_a[17:0];
      if (DATA_WIDTH_A == 36) words[at_a | 10'd1] <= new_a[35:18];
    end
    if (RSTA) read_a <= 0;
    else if (!WEA || WRITEMODE_A != "NORMAL")
      read_a <= taken(WEA && WRITEMODE_A == "WRITETHROUGH" ? new_a : both_a, ADA, DATA_WIDTH_A);
  end
  always @(posedge clock_b) if (CEB) begin
    if (WEB && CSB == 0) words[at_b] <= new_b[17:0];
    if (RSTB) read_b <= 0;
    else if (!WEB || WRITEMODE_B != "NORMAL")
      read_b <= taken(WEB && WRITEMODE_B == "WRITETHROUGH" ? new_b : both_b, ADB, DATA_WIDTH_B);
  end
  assign DOA = DATA_WIDTH_B == 36 ? read_b[17:0] : read_a[17:0];
  assign DOB = DATA_WIDTH_B == 36 ? read_b[35:18] : read_b[17:0];
endmodule

// A product of 18 by 18 bits with registers of one clock.
module model_MULT18X18D (
  input [17:0] A, B, C, input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB, input [3:0] CLK, CE, RST,
  output [35:0] P
);
  parameter [255:0] REG_INPUTA_CLK = "NONE", REG_INPUTB_CLK = "NONE", REG_INPUTC_CLK = "NONE";
  parameter [255:0] REG_PIPELINE_CLK = "NONE", REG_OUTPUT_CLK = "NONE";
  reg [17:0] a = 0, b = 0;
  reg [35:0] piped = 0, last = 0;
  wire [17:0] x = REG_INPUTA_CLK == "NONE" ? A : a, y = REG_INPUTB_CLK == "NONE" ? B : b;
  wire signed [36:0] product = $signed({SIGNEDA & x[17], x}) * $signed({SIGNEDB & y[17], y});
  wire [35:0] after = REG_PIPELINE_CLK == "NONE" ? product[35:0] : piped;
  always @(posedge CLK[0]) if (RST[0]) begin
    a <= 0;
    b <= 0;
    piped <= 0;
    last <= 0;
  end else if (CE[0]) begin
    a <= A;
    b <= B;
    piped <= product[35:0];
    last <= after;
  end
  assign P = REG_OUTPUT_CLK == "NONE" ? after : last;
endmodule

// The clock generator: its oscillator is the clock.
module model_EHXPLLL (input CLKI, output CLKOP, CLKOS, CLKOS2, CLKOS3, LOCK);
  assign CLKOP = CLKI;
  assign CLKOS = CLKI;
  assign CLKOS2 = CLKI;
  assign CLKOS3 = CLKI;
  assign LOCK = 1'b1;
endmodule
module model_DCCA (input CLKI, CE, output CLKO);
  assign CLKO = CLKI;
endmodule

// What nextpnr makes of lookup tables, carry chains and memories of tables. Yosys's model of the first has a
// wire in place of the output FCO.
module model_TRELLIS_COMB (
  input A, B, C, D, M, FCI, F1, FXA, FXB, WD, WRE, WCK, input [3:0] WAD, output F, FCO, OFX
);
  parameter [255:0] MODE = "LOGIC", CCU2_INJECT1 = "NO", WREMUX = "WRE", WCKMUX = "WCK";
  parameter [15:0] INITVAL = 0;
  parameter IS_Z1 = 0;
  reg [15:0] words = INITVAL;
  wire found = MODE == "DPRAM" ? words[{A, C, B, D}] : INITVAL[{D, C, B, A}];
  wire chained = CCU2_INJECT1 != "YES", low = INITVAL[{2'b00, B, A}];
  assign F = found ^ (MODE == "CCU2" & chained & FCI);
  assign FCO = found ? FCI : chained & low;
  assign OFX = IS_Z1 ? (M ? FXB : FXA) : (M ? F1 : F);
  wire clock = WCKMUX == "INV" ? ~WCK : WCK;
  always @(posedge clock) if (WREMUX == "INV" ? !WRE : WREMUX == "1" ? 1'b1 : WRE) words[WAD] <= WD;
endmodule
module model_TRELLIS_RAMW (input [1:0] A, B, C, D, output [3:0] WADO, WDO);
  assign WADO = {A[0], C[0], B[0], D[0]};
  assign WDO = {B[1], D[1], A[1], C[1]};
endmodule
