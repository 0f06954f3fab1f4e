// Models of the cells of GateMate that Yosys only declares.

// The clock generator: its oscillator is the clock.
module model_CC_PLL (
  input CLK_REF, CLK_FEEDBACK, USR_CLK_REF, USR_LOCKED_STDY_RST,
  output CLK0, CLK90, CLK180, CLK270, CLK_REF_OUT, USR_PLL_LOCKED, USR_PLL_LOCKED_STDY
);
  assign CLK0 = CLK_REF;
  assign CLK90 = CLK_REF;
  assign CLK180 = ~CLK_REF;
  assign CLK270 = ~CLK_REF;
  assign CLK_REF_OUT = CLK_REF;
  assign USR_PLL_LOCKED = 1'b1;
  assign USR_PLL_LOCKED_STDY = 1'b1;
endmodule
