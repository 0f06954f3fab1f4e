// AXI4-Stream side-channel structures of the open csim.
#ifndef ALLO_SHIM_AP_AXI_SDATA_H
#define ALLO_SHIM_AP_AXI_SDATA_H

#include "ap_int.h"

namespace hls {

template <typename T, int WUser = 0, int WId = 0, int WDest = 0> struct axis {
  T data;
  ap_uint<sizeof(T)> keep;
  ap_uint<sizeof(T)> strb;
  ap_uint<(WUser > 0 ? WUser : 1)> user;
  ap_uint<1> last;
  ap_uint<(WId > 0 ? WId : 1)> id;
  ap_uint<(WDest > 0 ? WDest : 1)> dest;
};

}  // namespace hls

template <int W, int WUser = 0, int WId = 0, int WDest = 0>
using ap_axis = hls::axis<ap_int<W>, WUser, WId, WDest>;
template <int W, int WUser = 0, int WId = 0, int WDest = 0>
using ap_axiu = hls::axis<ap_uint<W>, WUser, WId, WDest>;

#endif
