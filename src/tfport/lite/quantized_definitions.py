"""The ops on quantized tensors, which are uint8 or int16; see `quantized_value`.

`scales` of LiteConv are those of input, output and filter where a kernel computes with real numbers.
`multiplier` and `shift` are real factors as in `fixed_point`; `x_zero`, `y_zero` zero points; `low` and
`high` the range of the output after its activation. A line that starts with blanks continues a definition.
"""

TEXT = """
LiteUnsigned(x: int8) -> y: uint8
LiteSigned(x: uint8) -> y: int8
LiteQuantize(x: float) -> y: T; T: type; scale: list(float); zero_point: list(int); axis: int;
    low: int; high: int
LiteDequantize(x: T) -> y: float; T: type; scale: list(float); zero_point: list(int); axis: int
LiteLookup(x: S, table: T) -> y: T; S: type; T: type
LiteRescale(x: S) -> y: T; S: type; T: type; multiplier: int; shift: int; x_zero: int; y_zero: int;
    low: int; high: int
LiteConv(x: T, filter: int8, bias: B) -> y: U; T: type; U: type; B: type; strides: list(int);
    dilations: list(int); padding: string; groups: int; multiplier: list(int); shift: list(int);
    x_zero: int; filter_zero: int; y_zero: int; low: int; high: int; scales: list(float) = []
"""
