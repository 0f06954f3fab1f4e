"""Numbers that the model, its reference and the hardware must share."""

EPS = 1e-5
"""What a layer norm adds to the variance."""
GELU_C, GELU_A = 0.7978845608, 0.044715
"""GELU in its tanh form: 0.5 x (1 + tanh(C (x + A x**3)))."""
HALF_ROOT = 0.5**0.5
"""GELU as it is defined: 0.5 x (1 + erf(HALF_ROOT x))."""
ROUND = 12582912.0
"""Adding and subtracting 1.5 * 2**23 rounds a small float32 to the nearest even integer.

The lowest bits of the first sum are that integer in two's complement."""
