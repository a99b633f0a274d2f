"""Mixed precision, other types and quantized models."""

from case import model


def policy(k, name):
    mixed = k.module.mixed_precision if hasattr(k.module, "mixed_precision") else None
    if mixed is not None and not hasattr(mixed, "Policy"):
        mixed = mixed.experimental
    if mixed is None:
        from installed import Missing

        raise Missing("mixed precision")
    return (mixed.DTypePolicy if hasattr(mixed, "DTypePolicy") else mixed.Policy)(name)


def precision(name, policy_name):
    @model("precision_" + name)
    def dense(k):
        x = k.Input((4,))
        y = k.layer("Dense", units=3, dtype=policy(k, policy_name), activation="relu")(x)
        return k.Model(x, k.layer("Dense", units=2, dtype="float32")(y))

    @model(f"precision_{name}_convolution")
    def convolution(k):
        x = k.Input((5, 5, 2))
        y = k.layer("Conv2D", filters=3, kernel_size=3, dtype=policy(k, policy_name))(x)
        y = k.layer("BatchNormalization", dtype=policy(k, policy_name))(y)
        return k.Model(x, k.layer("GlobalAveragePooling2D", dtype="float32")(y))


for policy_name in ["mixed_float16", "mixed_bfloat16", "float64", "float16", "bfloat16"]:
    precision(policy_name, policy_name)


@model("precision_mixed_float16_lstm")
def mixed_lstm(k):
    x = k.Input((3, 2))
    return k.Model(x, k.layer("LSTM", units=2, dtype=policy(k, "mixed_float16"))(x))


def quantized(mode):
    from weights import randomize

    @model(f"quantized_{mode}_dense", major=[3], random=False)
    def dense(k):
        x = k.Input((4,))
        built = k.Model(x, k.layer("Dense", units=2)(k.layer("Dense", units=8, activation="relu")(x)))
        randomize(k, built)
        built.quantize(mode)
        return built

    @model(f"quantized_{mode}_einsum", major=[3], random=False)
    def einsum(k):
        x = k.Input((3, 4))
        built = k.Model(
            x, k.layer("EinsumDense", equation="abc,cd->abd", output_shape=(3, 6), bias_axes="d")(x)
        )
        randomize(k, built)
        built.quantize(mode)
        return built

    @model(f"quantized_{mode}_embedding", major=[3], random=False, ints=5)
    def embedding(k):
        x = k.Input((4,), "int32")
        built = k.Model(x, k.layer("Dense", units=2)(k.layer("Embedding", input_dim=5, output_dim=4)(x)))
        randomize(k, built)
        built.quantize(mode)
        return built

    @model(f"quantized_{mode}_attention", major=[3], random=False)
    def attention(k):
        x = k.Input((3, 4))
        built = k.Model(x, k.layer("MultiHeadAttention", num_heads=2, key_dim=4)(x, x))
        randomize(k, built)
        built.quantize(mode)
        return built


for quantization_mode in ["int8", "int4", "float8"]:
    quantized(quantization_mode)
