// Cells of iCE40 that Yosys has no model of. The netlist's names stand behind "model_".

// The clock generators: the oscillator is the clock.
module model_SB_PLL40_PAD (input PACKAGEPIN, RESETB, BYPASS, output PLLOUTGLOBAL, PLLOUTCORE, LOCK);
  parameter [255:0] FEEDBACK_PATH = "SIMPLE";
  parameter DIVR = 0, DIVF = 0, DIVQ = 0, FILTER_RANGE = 0;
  assign PLLOUTGLOBAL = PACKAGEPIN;
  assign PLLOUTCORE = PACKAGEPIN;
  assign LOCK = 1'b1;
endmodule
module model_SB_PLL40_CORE (input REFERENCECLK, RESETB, BYPASS, output PLLOUTGLOBAL, PLLOUTCORE, LOCK);
  parameter [255:0] FEEDBACK_PATH = "SIMPLE";
  parameter DIVR = 0, DIVF = 0, DIVQ = 0, FILTER_RANGE = 0;
  assign PLLOUTGLOBAL = REFERENCECLK;
  assign PLLOUTCORE = REFERENCECLK;
  assign LOCK = 1'b1;
endmodule
module model_ICESTORM_PLL (output PLLOUT_A, PLLOUT_A_GLOBAL, LOCK, input REFERENCECLK);
  assign PLLOUT_A = REFERENCECLK;
  assign PLLOUT_A_GLOBAL = REFERENCECLK;
  assign LOCK = 1'b1;
endmodule
