"""Attention layers."""

from case import model
from installed import Missing


def attention(name, kind, count, arguments, shapes=((3, 4), (5, 4), (5, 4))):
    @model(name)
    def build(k):
        made = k.layer(kind, **arguments)
        if set(arguments) - set(made.get_config()):
            raise Missing("{} is not saved".format(", ".join(arguments)))
        xs = [k.Input(shape) for shape in shapes[:count]]
        return k.Model(xs, made(xs))


for variant, arguments in {
    "plain": {},
    "scaled": {"use_scale": True},
    "causal": {"causal": True},
    "dropout": {"dropout": 0.5},
    "concat_score": {"score_mode": "concat"},
}.items():
    attention("Attention_" + variant, "Attention", 2, arguments)
    attention("Attention_with_keys_" + variant, "Attention", 3, arguments)
for variant, arguments in {"plain": {}, "unscaled": {"use_scale": False}, "causal": {"causal": True}}.items():
    attention("AdditiveAttention_" + variant, "AdditiveAttention", 2, arguments)
attention("AdditiveAttention_with_keys", "AdditiveAttention", 3, {})


def masked(kind):
    @model(kind + "_masked")
    def build(k):
        xs = [k.Input((3, 4)), k.Input((5, 4))]
        masks = [k.Input((3,), "bool"), k.Input((5,), "bool")]
        return k.Model(xs + masks, k.layer(kind)(xs, mask=masks))

    @model(kind + "_causal_call")
    def causal(k):
        xs = [k.Input((4, 3)), k.Input((4, 3))]
        return k.Model(xs, k.layer(kind)(xs, use_causal_mask=True))

    @model(kind + "_scores")
    def scores(k):
        xs = [k.Input((3, 4)), k.Input((5, 4))]
        return k.Model(xs, list(k.layer(kind)(xs, return_attention_scores=True)))

    @model(kind + "_of_masked_embeddings", ints=3)
    def of_embeddings(k):
        x, y = k.Input((3,), "int32"), k.Input((4,), "int32")
        table = k.layer("Embedding", input_dim=3, output_dim=2, mask_zero=True)
        return k.Model([x, y], k.layer("GlobalAveragePooling1D")(k.layer(kind)([table(x), table(y)])))


masked("Attention")
masked("AdditiveAttention")


def multi_head(name, arguments, call=(), shapes=((3, 4), (5, 4)), kind="MultiHeadAttention", **more):
    @model(name, **more)
    def build(k):
        xs = [k.Input(shape) for shape in shapes]
        y = k.layer(kind, **arguments)(*xs, **dict(call))
        return k.Model(xs, list(y) if isinstance(y, (list, tuple)) else y)


HEADS = {"num_heads": 2, "key_dim": 3}
multi_head("MultiHeadAttention_plain", HEADS)
multi_head("MultiHeadAttention_value_dim", dict(HEADS, value_dim=2))
multi_head("MultiHeadAttention_with_key", HEADS, shapes=((3, 4), (5, 2), (5, 3)))
multi_head("MultiHeadAttention_without_bias", dict(HEADS, use_bias=False))
multi_head("MultiHeadAttention_output_shape", dict(HEADS, output_shape=5))
multi_head("MultiHeadAttention_axes", dict(HEADS, attention_axes=2), shapes=((2, 3, 4), (2, 5, 4)))
multi_head("MultiHeadAttention_two_axes", dict(HEADS, attention_axes=(1, 2)), shapes=((2, 3, 4), (2, 3, 4)))
multi_head("MultiHeadAttention_scores", HEADS, {"return_attention_scores": True})
multi_head("MultiHeadAttention_causal", HEADS, {"use_causal_mask": True}, ((4, 3), (4, 3)))
multi_head("MultiHeadAttention_dropout", dict(HEADS, dropout=0.3))
multi_head("MultiHeadAttention_flash", dict(HEADS, flash_attention=False))
GROUPS = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}
multi_head("GroupQueryAttention_plain", GROUPS, kind="GroupQueryAttention")
multi_head(
    "GroupQueryAttention_causal",
    GROUPS,
    {"use_causal_mask": True},
    ((4, 3), (4, 3)),
    kind="GroupQueryAttention",
)
multi_head("GroupQueryAttention_without_bias", dict(GROUPS, use_bias=False), kind="GroupQueryAttention")
multi_head(
    "GroupQueryAttention_scores", GROUPS, {"return_attention_scores": True}, kind="GroupQueryAttention"
)


@model("MultiHeadAttention_mask")
def with_mask(k):
    x, mask = k.Input((3, 4)), k.Input((3, 3), "bool")
    return k.Model([x, mask], k.layer("MultiHeadAttention", **HEADS)(x, x, attention_mask=mask))


@model("MultiHeadAttention_of_masked_embeddings", ints=3)
def of_masked_embeddings(k):
    x = k.Input((4,), "int32")
    y = k.layer("Embedding", input_dim=3, output_dim=4, mask_zero=True)(x)
    y = k.layer("MultiHeadAttention", **HEADS)(y, y)
    return k.Model(x, k.layer("GlobalAveragePooling1D")(y))


@model("transformer_block", weights_file=True)
def transformer(k):
    x = k.Input((4, 6))
    y = k.layer("LayerNormalization", epsilon=1e-6)(
        k.layer("Add")([x, k.layer("MultiHeadAttention", **HEADS)(x, x)])
    )
    z = k.layer("Dense", units=6)(k.layer("Dense", units=8, activation="gelu")(y))
    return k.Model(
        x, k.layer("LayerNormalization", epsilon=1e-6)(k.layer("Add")([y, k.layer("Dropout", rate=0.1)(z)]))
    )
