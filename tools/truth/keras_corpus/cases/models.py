"""Models of several layers: sequential, nested, shared, with several inputs and outputs."""

from case import model


@model("sequential", weights_file=True)
def sequential(k):
    first = (
        [k.layer("Dense", units=4, activation="relu", input_shape=(3,))]
        if k.major < 3
        else [k.Input((3,)), k.layer("Dense", units=4, activation="relu")]
    )
    return k.Sequential(
        [*first, k.layer("Dropout", rate=0.5), k.layer("Dense", units=2, activation="softmax")]
    )


@model("sequential_with_input_layer")
def sequential_with_input(k):
    first = k.layer("InputLayer", input_shape=(4, 2)) if k.major < 3 else k.layer("InputLayer", shape=(4, 2))
    return k.Sequential([first, k.layer("Flatten"), k.layer("Dense", units=2)])


@model("sequential_batch_input_shape")
def sequential_batch_shape(k):
    if k.major == 3:
        first = [k.layers.InputLayer(batch_shape=(None, 3, 2)), k.layer("Conv1D", filters=2, kernel_size=2)]
    else:
        first = [k.layer("Conv1D", filters=2, kernel_size=2, batch_input_shape=(None, 3, 2))]
    return k.Sequential([*first, k.layer("Flatten"), k.layer("Dense", units=2)])


@model("sequential_embedding_lstm", ints=5)
def sequential_embedding(k):
    first = (
        [k.layer("Embedding", input_dim=5, output_dim=3, input_length=4)]
        if k.major < 3
        else [k.Input((4,)), k.layer("Embedding", input_dim=5, output_dim=3)]
    )
    return k.Sequential(
        [*first, k.layer("Bidirectional", layer=k.layer("LSTM", units=2)), k.layer("Dense", units=1)]
    )


@model("compiled_and_trained")
def compiled(k):
    import numpy as np

    x = k.Input((3,))
    built = k.Model(x, k.layer("Dense", units=2)(k.layer("BatchNormalization")(k.layer("Dense", units=3)(x))))
    built.compile("adam", "mse", metrics=["mae"])
    built.fit(np.ones((4, 3), "float32"), np.ones((4, 2), "float32"), verbose=0)
    return built


@model("several_inputs_and_outputs")
def several(k):
    a, b = k.Input((3,), name="first"), k.Input((2,), name="second")
    joined = k.layer("Concatenate")([k.layer("Dense", units=2)(a), b])
    return k.Model(
        [b, a],
        [k.layer("Dense", units=1, name="score")(joined), k.layer("Dense", units=3, name="kind")(joined), a],
    )


@model("named_like_paths")
def named(k):
    x = k.Input((3,))
    return k.Model(
        x,
        k.layer("Dense", units=2, name="block1/dense")(
            k.layer("Dense", units=3, name="block1/inner/dense")(x)
        ),
    )


@model("shared_layer", weights_file=True)
def shared(k):
    a, b = k.Input((3,)), k.Input((3,))
    dense = k.layer("Dense", units=2)
    return k.Model([a, b], k.layer("Subtract")([dense(a), dense(b)]))


@model("siamese")
def siamese(k):
    x = k.Input((4, 3))
    tower = k.Model(x, k.layer("Dense", units=2)(k.layer("LSTM", units=3)(x)))
    a, b = k.Input((4, 3)), k.Input((4, 3))
    return k.Model([a, b], k.layer("Dot", axes=1)([tower(a), tower(b)]))


@model("layer_called_twice_in_a_row")
def twice(k):
    x = k.Input((3,))
    dense = k.layer("Dense", units=3, activation="tanh")
    return k.Model(x, dense(dense(x)))


@model("nested_functional", weights_file=True)
def nested(k):
    x = k.Input((3,))
    inner = k.Model(x, k.layer("BatchNormalization")(k.layer("Dense", units=4)(x)), name="inner")
    y = k.Input((3,))
    return k.Model(y, k.layer("Dense", units=2)(inner(k.layer("Dense", units=3)(y))))


@model("nested_sequential")
def nested_sequential(k):
    first = (
        [k.layer("Dense", units=4, input_shape=(3,))]
        if k.major < 3
        else [k.Input((3,)), k.layer("Dense", units=4)]
    )
    inner = k.Sequential([*first, k.layer("BatchNormalization"), k.layer("Activation", activation="relu")])
    return k.Sequential(([] if k.major < 3 else [k.Input((3,))]) + [inner, k.layer("Dense", units=2)])


@model("nested_twice")
def nested_twice(k):
    x = k.Input((3,))
    inner = k.Model(x, [k.layer("Dense", units=2)(x), k.layer("Dense", units=3)(x)])
    y = k.Input((3,))
    first, second = inner(y)
    middle = k.Model(y, k.layer("Concatenate")([second, first]))
    z = k.Input((3,))
    return k.Model(z, k.layer("Dense", units=1)(middle(z)))


@model("nested_with_frozen_part")
def frozen(k):
    x = k.Input((3,))
    inner = k.Model(
        x, k.layer("BatchNormalization")(k.layer("Dense", units=2)(k.layer("BatchNormalization")(x)))
    )
    inner.trainable = False
    y = k.Input((3,))
    return k.Model(y, k.layer("Dense", units=2)(inner(y)))


@model("residual")
def residual(k):
    x = k.Input((6, 6, 2))
    y = k.layer("BatchNormalization")(
        k.layer("Conv2D", filters=2, kernel_size=3, padding="same", use_bias=False)(x)
    )
    y = k.layer("Add")([x, k.layer("Activation", activation="relu")(y)])
    return k.Model(x, k.layer("GlobalAveragePooling2D")(y))


@model("unet")
def unet(k):
    x = k.Input((6, 8, 1))
    down = k.layer("Conv2D", filters=2, kernel_size=3, padding="same", activation="relu")(x)
    low = k.layer("Conv2D", filters=3, kernel_size=3, padding="same")(k.layer("MaxPooling2D")(down))
    up = k.layer("Conv2DTranspose", filters=2, kernel_size=2, strides=2)(low)
    y = k.layer("Concatenate")([down, up])
    return k.Model(x, k.layer("Conv2D", filters=1, kernel_size=1, activation="sigmoid")(y))


@model("output_is_input")
def output_is_input(k):
    x = k.Input((3,))
    return k.Model(x, [x, k.layer("Dense", units=2)(x)])


@model("fixed_batch")
def fixed_batch(k):
    x = k.Input((3,), batch_size=2)
    return k.Model(x, k.layer("Dense", units=2)(x))


@model("integer_and_float_inputs", ints=4)
def integer_and_float(k):
    a, b = k.Input((3,), "int32"), k.Input((2,))
    y = k.layer("Flatten")(k.layer("Embedding", input_dim=4, output_dim=2)(a))
    return k.Model([a, b], k.layer("Dense", units=2)(k.layer("Concatenate")([y, b])))


@model("dictionary_inputs", major=[3])
def dictionary(k):
    a, b = k.Input((3,), name="a"), k.Input((2,), name="b")
    return k.Model(
        {"a": a, "b": b},
        {
            "sum": k.layer("Dense", units=2)(k.layer("Concatenate")([a, b])),
            "other": k.layer("Dense", units=1)(b),
        },
    )
