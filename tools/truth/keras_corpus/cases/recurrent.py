"""Recurrent layers, their cells and wrappers."""

from case import model, options

SEQUENCE = (4, 3)
COMMON = {
    "plain": {},
    "sequences": {"return_sequences": True},
    "backwards": {"go_backwards": True},
    "backwards_sequences": {"go_backwards": True, "return_sequences": True},
    "without_bias": {"use_bias": False},
    "activations": {"activation": "relu"},
    "open_length": {"shape": (None, 3), "return_sequences": True},
    "unrolled": {"unroll": True},
    "dropout": {"dropout": 0.2, "recurrent_dropout": 0.1},
    "constrained": {"kernel_regularizer": "l2", "recurrent_constraint": "max_norm"},
    "time_major": {"time_major": False},
}
GATED = {
    "hard_sigmoid": {"recurrent_activation": "hard_sigmoid"},
    "sigmoid": {"recurrent_activation": "sigmoid"},
    "implementation_1": {"implementation": 1},
    "implementation_2": {"implementation": 2},
    "elu": {"activation": "elu", "recurrent_activation": "softsign"},
}


def variants(*tables):
    return {key: dict(value) for table in tables for key, value in table.items()}


options("SimpleRNN", SEQUENCE, {"units": 2}, variants(COMMON))
options(
    "LSTM",
    SEQUENCE,
    {"units": 2},
    variants(COMMON, GATED, {"without_forget_bias": {"unit_forget_bias": False}}),
)
options(
    "GRU",
    SEQUENCE,
    {"units": 2},
    variants(
        COMMON,
        GATED,
        {
            "reset_after": {"reset_after": True},
            "reset_before": {"reset_after": False},
            "reset_before_without_bias": {"reset_after": False, "use_bias": False},
            "reset_after_sequences": {"reset_after": True, "return_sequences": True, "go_backwards": True},
        },
    ),
)


def with_state(kind):
    @model(kind + "_state")
    def state(k):
        x = k.Input(SEQUENCE)
        return k.Model(x, list(k.layer(kind, units=2, return_state=True)(x)))

    @model(kind + "_state_and_sequences")
    def state_and_sequences(k):
        x = k.Input(SEQUENCE)
        return k.Model(x, list(k.layer(kind, units=2, return_state=True, return_sequences=True)(x)))

    @model(kind + "_initial_state")
    def initial_state(k):
        x = k.Input(SEQUENCE)
        states = [k.Input((2,)) for _ in range(2 if kind == "LSTM" else 1)]
        return k.Model([x, *states], k.layer(kind, units=2)(x, initial_state=states))

    @model(kind + "_encoder_decoder")
    def encoder_decoder(k):
        x, y = k.Input((None, 3)), k.Input((None, 2))
        states = k.layer(kind, units=2, return_state=True)(x)[1:]
        decoded = k.layer(kind, units=2, return_sequences=True)(y, initial_state=states)
        return k.Model([x, y], k.layer("TimeDistributed", layer=k.layer("Dense", units=3))(decoded))

    @model(kind + "_stateful", feeds=[stateful_input(4), stateful_input(6)])
    def stateful(k):
        x = k.Input((None, 3), batch_size=2)
        return k.Model(x, k.layer(kind, units=2, stateful=True, return_sequences=True)(x))

    @model(kind + "_stacked")
    def stacked(k):
        layers = [
            k.layer(kind, units=3, return_sequences=True, input_shape=SEQUENCE)
            if k.major < 3
            else k.layer(kind, units=3, return_sequences=True)
        ]
        layers = layers if k.major < 3 else [k.Input(SEQUENCE), *layers]
        return k.Sequential([*layers, k.layer(kind, units=2), k.layer("Dense", units=2)])

    for merge in ["concat", "sum", "mul", "ave", None]:
        bidirectional(kind, f"{merge}", {"merge_mode": merge}, {})
        bidirectional(kind, f"{merge}_sequences", {"merge_mode": merge}, {"return_sequences": True})

    @model(f"Bidirectional_{kind}_state")
    def bidirectional_state(k):
        x = k.Input(SEQUENCE)
        return k.Model(x, list(k.layer("Bidirectional", layer=k.layer(kind, units=2, return_state=True))(x)))

    @model(f"Bidirectional_{kind}_backward_layer")
    def backward_layer(k):
        x = k.Input(SEQUENCE)
        backward = k.layer(kind, units=3, go_backwards=True)
        return k.Model(x, k.layer("Bidirectional", layer=k.layer(kind, units=2), backward_layer=backward)(x))

    @model(f"RNN_of_{kind}Cell")
    def rnn_of_cell(k):
        x = k.Input(SEQUENCE)
        return k.Model(x, k.layer("RNN", cell=k.layer(kind + "Cell", units=2), return_sequences=True)(x))

    @model(f"RNN_of_stacked_{kind}Cells")
    def rnn_of_stack(k):
        x = k.Input(SEQUENCE)
        cells = k.layer("StackedRNNCells", cells=[k.layer(kind + "Cell", units=n) for n in [2, 3]])
        return k.Model(x, k.layer("RNN", cell=cells)(x))

    @model(f"RNN_of_list_of_{kind}Cells")
    def rnn_of_list(k):
        x = k.Input(SEQUENCE)
        cells = [k.layer(kind + "Cell", units=n) for n in [3, 2]]
        return k.Model(x, list(k.layer("RNN", cell=cells, return_state=True, return_sequences=True)(x)))

    @model(kind + "_masked_sequences", feeds=[masked_input(), masked_input(1)])
    def masked(k):
        x = k.Input(SEQUENCE)
        y = k.layer("Masking")(x)
        y = k.layer(kind, units=2, return_sequences=True, go_backwards=True)(y)
        return k.Model(x, y)

    @model(kind + "_masked_last", feeds=[masked_input(), masked_input(1)])
    def masked_last(k):
        x = k.Input(SEQUENCE)
        return k.Model(x, k.layer(kind, units=2)(k.layer("Masking")(x)))

    @model(f"Bidirectional_{kind}_masked", feeds=[masked_input(), masked_input(1)])
    def bidirectional_masked(k):
        x = k.Input(SEQUENCE)
        return k.Model(
            x,
            k.layer("Bidirectional", layer=k.layer(kind, units=2, return_sequences=True))(
                k.layer("Masking")(x)
            ),
        )


def bidirectional(kind, variant, wrapper, inner):
    @model(f"Bidirectional_{kind}_{variant}")
    def build(k):
        x = k.Input(SEQUENCE)
        y = k.layer("Bidirectional", layer=k.layer(kind, units=2, **inner), **wrapper)(x)
        return k.Model(x, list(y) if isinstance(y, (list, tuple)) else y)


def stateful_input(length):
    return [[[[0.1 * (b + 1) * (t - 1), 0.5 - 0.2 * t, b - 0.3] for t in range(length)] for b in range(2)]]


def masked_input(skip=0):
    rows = [
        [[0.3, -1, 2], [0, 0, 0], [1, 1, -1], [0, 0, 0]],
        [[0, 0, 0], [0.5, 0.1, 1], [0.2, -2, 1], [1, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]
    return [rows[skip:] if not skip else rows[:2]]


for recurrent_kind in ["SimpleRNN", "LSTM", "GRU"]:
    with_state(recurrent_kind)


def feeds_as_floats():
    """Give the masked and stateful questions above their type."""
    import numpy as np
    from case import CASES

    for case in CASES.values():
        if case.feeds is not None and (
            "masked" in case.name or "stateful" in case.name or "Masking" in case.name
        ):
            case.feeds = [[np.array(feed, "float32") for feed in feeds] for feeds in case.feeds]


feeds_as_floats()


def cudnn(kind, standard):
    more = {"reset_after": True} if standard == "GRU" else {}

    def build(k, name=kind, more=None, wrapped=False, **arguments):
        x = k.Input(SEQUENCE)
        made = k.layer(name, units=2, **dict(more or {}, **arguments))
        return k.Model(x, (k.layer("Bidirectional", layer=made) if wrapped else made)(x))

    def as_standard(k, **arguments):
        return build(k, standard, dict(more, recurrent_activation="sigmoid"), **arguments)

    for variant, arguments in [
        ("plain", {}),
        ("sequences", {"return_sequences": True}),
        ("backwards", {"go_backwards": True}),
        ("bidirectional", {"wrapped": True}),
    ]:
        model(f"{kind}_{variant}", major=[2], equivalent=lambda k, a=arguments: as_standard(k, **a))(
            lambda k, a=arguments: build(k, **a)
        )


cudnn("CuDNNLSTM", "LSTM")
cudnn("CuDNNGRU", "GRU")


@model("TimeDistributed_dense")
def time_distributed(k):
    x = k.Input((4, 3))
    return k.Model(x, k.layer("TimeDistributed", layer=k.layer("Dense", units=2, activation="tanh"))(x))


@model("TimeDistributed_convolution")
def time_distributed_convolution(k):
    x = k.Input((None, 4, 4, 2))
    y = k.layer("TimeDistributed", layer=k.layer("Conv2D", filters=2, kernel_size=2))(x)
    y = k.layer("TimeDistributed", layer=k.layer("BatchNormalization"))(y)
    return k.Model(x, k.layer("TimeDistributed", layer=k.layer("Flatten"))(y))


@model("TimeDistributed_model")
def time_distributed_model(k):
    inner = k.Input((3,))
    part = k.Model(inner, k.layer("Dense", units=2)(k.layer("Dense", units=3, activation="relu")(inner)))
    x = k.Input((4, 3))
    return k.Model(x, k.layer("LSTM", units=2)(k.layer("TimeDistributed", layer=part)(x)))


CONVOLVED = {
    "plain": {},
    "sequences": {"return_sequences": True, "padding": "same"},
    "strides": {"strides": 2},
    "backwards": {"go_backwards": True},
    "hard_sigmoid": {"recurrent_activation": "hard_sigmoid"},
    "sigmoid": {"recurrent_activation": "sigmoid", "activation": "relu"},
    "without_bias": {"use_bias": False},
    "dilated": {"dilation_rate": 2},
}
for rank, shape in [(1, (3, 5, 2)), (2, (3, 5, 4, 2)), (3, (2, 3, 4, 3, 2))]:
    options(f"ConvLSTM{rank}D", shape, {"filters": 2, "kernel_size": 2}, variants(CONVOLVED))


@model("ConvLSTM2D_state")
def convolved_state(k):
    x = k.Input((3, 4, 4, 2))
    return k.Model(x, list(k.layer("ConvLSTM2D", filters=2, kernel_size=2, return_state=True)(x)))


@model("Bidirectional_ConvLSTM2D")
def bidirectional_convolved(k):
    x = k.Input((3, 4, 4, 2))
    return k.Model(x, k.layer("Bidirectional", layer=k.layer("ConvLSTM2D", filters=2, kernel_size=2))(x))
