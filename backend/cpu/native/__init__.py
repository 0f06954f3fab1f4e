"""Native code of ours: the runtime, its libraries, the compiler that makes them."""
