// The controller of an SDR SDRAM. Bursts have one word, and a word is asked for in every clock: in an open row
// one passes in each. Times are in clocks, rounded up from those of the data sheet.
//
// The memory's clock is the inverse of this one. So commands, which leave at a rising edge, are taken half a clock
// later, and what the memory gives is taken at the falling edge that is the memory's rising one.
module allo_sdram #(
  parameter WIDTH = 16,
  parameter ROW_BITS = 13,
  parameter COLUMN_BITS = 9,
  parameter CAS = 2,
  parameter POWER_UP = 10000,  // before the first command
  parameter RCD = 2,           // from a row's opening to its words
  parameter RP = 2,            // from closing rows to opening one
  parameter RAS = 3,           // from opening a row to closing it
  parameter WR = 2,            // from a word written to closing its row
  parameter RFC = 4,           // of a refresh
  parameter REFRESH = 390      // between refreshes
) (
  input                                     clock,
  input                                     reset,
  output                                    awake,     // its beginning is over
  input                                     drop,      // words that were asked for are not wanted any more
  input                                     valid,     // a word is to be read or written; it is done when `ready`
  input                                     write,
  input      [ROW_BITS+2+COLUMN_BITS-1:0]   address,   // row, bank, column
  input      [WIDTH-1:0]                    data,
  input      [WIDTH/8-1:0]                  strobe,    // bytes that are written
  output                                    ready,
  output                                    returned,  // `value` is the next word that was read
  output reg [WIDTH-1:0]                    value,
  output                                    cke,
  output                                    cs_n,
  output reg                                ras_n,
  output reg                                cas_n,
  output reg                                we_n,
  output reg [1:0]                          ba,
  output reg [ROW_BITS-1:0]                 a,
  output reg [WIDTH/8-1:0]                  dqm,
  output reg [WIDTH-1:0]                    dq_out,
  output reg                                dq_drive,
  input      [WIDTH-1:0]                    dq_in
);
  localparam [2:0] NOP = 3'b111, ACTIVE = 3'b011, READ = 3'b101, WRITE = 3'b100,
    PRECHARGE = 3'b010, REFRESH_ROW = 3'b001, MODE = 3'b000;
  localparam [3:0] FIRST_REFRESH = 1, LAST_REFRESH = 8, SET_MODE = 9, READY = 10;

  wire [ROW_BITS-1:0] row = address[ROW_BITS+2+COLUMN_BITS-1 -: ROW_BITS];
  wire [1:0] bank = address[COLUMN_BITS +: 2];
  wire [COLUMN_BITS-1:0] column = address[COLUMN_BITS-1:0];

  reg [3:0] step;               // of the beginning, then READY
  reg [15:0] hold;              // clocks until the next command
  reg [3:0] young, written;     // clocks until a row may be closed
  reg [15:0] timer;             // clocks until the next refresh
  reg due;                      // a refresh is due
  reg [3:0] open;
  reg [ROW_BITS-1:0] rows [0:3];
  reg [CAS+1:0] bus, wanted;    // words on their way from the memory

  wire free = hold == 16'd0;
  wire closable = young == 4'd0 && written == 4'd0;
  wire serving = free && step == READY && !due;
  wire hit = open[bank] && rows[bank] == row;
  assign ready = serving && hit && !(write && |bus[CAS:0]);
  assign returned = wanted[CAS+1];
  assign awake = step == READY;
  assign cke = 1'b1;
  assign cs_n = 1'b0;

  reg [WIDTH-1:0] early;
  always @(negedge clock) early <= dq_in;
  always @(posedge clock) value <= early;

  reg [2:0] command;
  always @* begin
    command = NOP;
    if (free && step == 4'd0) command = PRECHARGE;
    else if (free && step <= LAST_REFRESH) command = REFRESH_ROW;
    else if (free && step == SET_MODE) command = MODE;
    else if (free && due && |open) command = closable ? PRECHARGE : NOP;
    else if (free && due) command = REFRESH_ROW;
    else if (valid && ready) command = write ? WRITE : READ;
    else if (serving && valid && !open[bank]) command = ACTIVE;
    else if (serving && valid && !hit && closable) command = PRECHARGE;
  end
  wire all = step != READY || due;  // a PRECHARGE closes every row

  always @(posedge clock) begin
    {ras_n, cas_n, we_n} <= command;
    ba <= command == MODE ? 2'd0 : bank;
    a <= command == ACTIVE ? row : command == MODE ? CAS << 4 : {{ROW_BITS{1'b0}}, column};
    if (command == PRECHARGE) a <= {{ROW_BITS{1'b0}}, all, 10'd0};
    dqm <= command == WRITE ? ~strobe : {WIDTH/8{step != READY}};
    dq_out <= data;
    dq_drive <= command == WRITE;
    bus <= {bus[CAS:0], command == READ};
    wanted <= drop ? {CAS+2{1'b0}} : {wanted[CAS:0], command == READ};

    if (!free) hold <= hold - 16'd1;
    if (young != 4'd0) young <= young - 4'd1;
    if (written != 4'd0) written <= written - 4'd1;
    timer <= timer == 16'd0 ? REFRESH - 1 : timer - 16'd1;
    if (timer == 16'd0) due <= 1'b1;
    if (free && step != READY) step <= step + 4'd1;
    case (command)
      ACTIVE: begin
        hold <= RCD - 1;
        young <= RAS - 1;
        open[bank] <= 1'b1;
        rows[bank] <= row;
      end
      PRECHARGE: begin
        hold <= RP - 1;
        open <= all ? 4'd0 : open & ~(4'd1 << bank);
      end
      REFRESH_ROW: begin
        hold <= RFC - 1;
        due <= 1'b0;
      end
      WRITE: written <= WR - 1;
      MODE: hold <= 16'd2;
      default: ;
    endcase
    if (reset) begin
      {ras_n, cas_n, we_n} <= NOP;
      step <= 4'd0;
      hold <= POWER_UP;
      young <= 4'd0;
      written <= 4'd0;
      timer <= REFRESH - 1;
      due <= 1'b0;
      open <= 4'd0;
      bus <= {CAS+2{1'b0}};
      wanted <= {CAS+2{1'b0}};
      dq_drive <= 1'b0;
    end
  end
endmodule
