"""Functions of TensorFlow as users of the converter have them: control flow, state, text, signals, detection.

Each function returns a module with methods and the signatures to convert: a dictionary of concrete functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

Signatures = tuple[tf.Module, list[Any]]


def random(*shape: int, seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng([seed, *shape]).uniform(-0.5, 0.5, shape), tf.float32)


def function(run: Any, *specs: Any) -> Signatures:
    """A function without state."""
    module = tf.Module()
    module.run = tf.function(run, input_signature=[tf.TensorSpec(shape, kind) for shape, kind in specs])
    return module, [module.run.get_concrete_function()]


F, I64, B, S = tf.float32, tf.int64, tf.bool, tf.string
I = tf.int32  # noqa: E741


def collatz() -> Signatures:
    def run(x):
        return tf.while_loop(
            lambda n, k: tf.reduce_any(n > 1),
            lambda n, k: (tf.where(n > 1, tf.where(n % 2 == 0, n // 2, 3 * n + 1), n), k + tf.cast(n > 1, I)),
            (x + 1, tf.zeros_like(x)),
        )[1]

    return function(run, ((4,), I))


def newton() -> Signatures:
    def run(x):
        y = tf.abs(x) + 0.5
        for _ in tf.range(6):
            y = 0.5 * (y + (tf.abs(x) + 0.1) / y)
        return y

    return function(run, ((3, 5), F))


def branches() -> Signatures:
    def run(x, choose):
        big = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x) * 2, lambda: -x)
        return tf.cond(
            choose, lambda: tf.matmul(big, random(4, 3)), lambda: tf.zeros((2, 3)) + tf.reduce_max(big)
        )

    return function(run, ((2, 4), F), ((), B))


def growing_loop() -> Signatures:
    """A loop whose tensor grows: dynamic shapes inside."""

    def run(x):
        def more(i, t):
            return i + 1, tf.concat([t, t[-1:] * 0.5], 0)

        return tf.while_loop(
            lambda i, t: i < 4, more, (0, x), shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 3]))
        )[1]

    return function(run, ((2, 3), F))


def beam() -> Signatures:
    """Greedy decoding with a TensorArray."""
    table = random(12, 12)

    def run(first):
        steps = tf.TensorArray(I, 6, element_shape=[2])
        current = first
        for i in tf.range(6):
            current = tf.argmax(tf.gather(table, current), -1, output_type=I)
            steps = steps.write(i, current)
        return tf.transpose(steps.stack())

    return function(run, ((2,), I))


class Counter(tf.Module):
    def __init__(self) -> None:
        self.total = tf.Variable([0.0, 0.5, 1.0])

    @tf.function(input_signature=[tf.TensorSpec([3], F)])
    def add(self, x):
        self.total.assign_add(x)
        return self.total * 2.0


def counter() -> Signatures:
    module = Counter()
    return module, [module.add.get_concrete_function()]


class Streaming(tf.Module):
    """A streaming convolution: a buffer of the last frames in a variable."""

    def __init__(self) -> None:
        self.frames = tf.Variable(tf.zeros((1, 5, 4)))
        self.kernel = tf.Variable(random(5, 4, 6))

    @tf.function(input_signature=[tf.TensorSpec([1, 2, 4], F)])
    def step(self, x):
        frames = tf.concat([self.frames[:, 2:], x], 1)
        self.frames.assign(frames)
        return tf.nn.relu(tf.nn.conv1d(frames, self.kernel, 1, "VALID"))


def streaming() -> Signatures:
    module = Streaming()
    return module, [module.step.get_concrete_function()]


class Trainer(tf.Module):
    """On-device training: signatures that train, infer, save nothing."""

    def __init__(self) -> None:
        self.weight, self.bias = tf.Variable(random(4, 2)), tf.Variable(tf.zeros(2))

    @tf.function(input_signature=[tf.TensorSpec([3, 4], F), tf.TensorSpec([3, 2], F)])
    def train(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(x @ self.weight + self.bias) - y))
        for variable, gradient in zip(
            (self.weight, self.bias), tape.gradient(loss, (self.weight, self.bias)), strict=True
        ):
            variable.assign_sub(0.1 * gradient)
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec([3, 4], F)])
    def infer(self, x):
        return {"y": tf.tanh(x @ self.weight + self.bias)}


def trainer() -> Signatures:
    module = Trainer()
    return module, [module.train.get_concrete_function(), module.infer.get_concrete_function()]


class Labels(tf.Module):
    def __init__(self) -> None:
        keys, values = tf.constant([0, 1, 2, 3], I64), tf.constant(["cat", "dog", "bird", "fish"])
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), "?")

    @tf.function(input_signature=[tf.TensorSpec([2, 5], F)])
    def classify(self, x):
        return self.table.lookup(tf.argmax(x, -1))


def labels() -> Signatures:
    module = Labels()
    return module, [module.classify.get_concrete_function()]


class Vocabulary(tf.Module):
    def __init__(self) -> None:
        keys = tf.constant(["hello", "", "turn on the light", "a b  c"])
        values = tf.constant([5, 6, 7, 8], I64)
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
        self.embedding = tf.Variable(random(10, 4))

    @tf.function(input_signature=[tf.TensorSpec([3], S)])
    def embed(self, words):
        return tf.gather(self.embedding, tf.maximum(self.table.lookup(words), 0))


def vocabulary() -> Signatures:
    module = Vocabulary()
    return module, [module.embed.get_concrete_function()]


def text_flex() -> Signatures:
    def run(text):
        lower = tf.strings.regex_replace(tf.strings.lower(text), "[^a-z ]", "")
        words = tf.strings.split(lower).to_tensor("")
        return tf.strings.to_hash_bucket_fast(words, 100), tf.strings.length(text)

    return function(run, ((2,), S))


def string_join_flex() -> Signatures:
    def run(text):
        return tf.strings.join([text, tf.strings.as_string(tf.strings.length(text))], "/"), tf.equal(
            text, "hello"
        )

    return function(run, ((4,), S))


def linalg_flex() -> Signatures:
    def run(x):
        square = tf.matmul(x, x, transpose_b=True) + tf.eye(3)
        return tf.linalg.inv(square), tf.linalg.det(square), tf.linalg.cholesky(square)

    return function(run, ((3, 3), F))


def image_flex() -> Signatures:
    def run(x):
        hsv = tf.image.rgb_to_hsv(tf.abs(x))
        crops = tf.image.crop_and_resize(hsv, [[0.1, 0.2, 0.8, 0.9]], [0], (5, 6))
        return tf.image.adjust_contrast(crops, 1.5)

    return function(run, ((1, 8, 8, 3), F))


def special_flex() -> Signatures:
    return function(lambda x: tf.math.lgamma(tf.abs(x) + 1), ((7,), F))


def spectrogram() -> Signatures:
    def run(x):
        spectrum = tf.signal.stft(x, 64, 32, 64)
        mel = tf.signal.linear_to_mel_weight_matrix(10, 33, 8000)
        return tf.math.log(tf.matmul(tf.abs(spectrum), mel) + 1e-3)

    return function(run, ((1, 400), F))


def mfcc() -> Signatures:
    def run(x):
        spectrum = tf.raw_ops.AudioSpectrogram(input=x, window_size=64, stride=32, magnitude_squared=True)
        return tf.raw_ops.Mfcc(spectrogram=spectrum, sample_rate=8000, dct_coefficient_count=10)

    return function(run, ((400, 1), F))


def detection_custom() -> Signatures:
    """The head of SSD models: TFLite_Detection_PostProcess, as its composite function marks it."""
    options = {
        "max_detections": 10, "max_classes_per_detection": 1, "detections_per_class": 5,
        "use_regular_nms": False, "nms_score_threshold": 0.01, "nms_iou_threshold": 0.5, "num_classes": 3,
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
    }  # fmt: skip
    kinds = {bool: "b", int: "i", float: "f"}
    attributes = "".join(
        f'attr {{ key: "{name}" value {{ {kinds[type(value)]}: {str(value).lower()} }} }} '
        for name, value in options.items()
    )
    anchors = tf.abs(random(20, 4)) + 0.1

    @tf.function(
        input_signature=[tf.TensorSpec(s, F) for s in ((1, 20, 4), (1, 20, 4), (20, 4))],
        experimental_implements=f'name: "TFLite_Detection_PostProcess" {attributes}',
    )
    def process(boxes, scores, anchors):
        flat = tf.reduce_max(scores, -1) + tf.reduce_sum(anchors)
        return tf.zeros((1, 10, 4)) + boxes[:, :10], flat[:, :10], flat[:, :10], flat[0, :1]

    return function(lambda b, s: process(b, tf.sigmoid(s), anchors), ((1, 20, 4), F), ((1, 20, 4), F))


def fourier() -> Signatures:
    def run(x):
        spectrum = tf.signal.rfft2d(x)
        return tf.math.real(spectrum), tf.math.imag(spectrum), tf.abs(spectrum)

    return function(run, ((2, 8, 16), F))


def detection() -> Signatures:
    def run(boxes, scores):
        corner = tf.abs(boxes[:, :2])
        corners = tf.concat([corner, corner + tf.abs(boxes[:, 2:]) * 0.5], -1)
        chosen, count = tf.image.non_max_suppression_padded(
            corners, scores, 6, iou_threshold=0.4, score_threshold=0.05, pad_to_max_output_size=True
        )
        return tf.gather(corners, chosen), tf.gather(scores, chosen), count

    return function(run, ((30, 4), F), ((30,), F))


def soft_detection() -> Signatures:
    def run(boxes, scores):
        corners = tf.concat([boxes[:, :2], boxes[:, :2] + 0.7], -1)
        return tf.image.non_max_suppression_with_scores(corners, scores, 5, 0.6, 0.1, 0.4)

    return function(run, ((20, 4), F), ((20,), F))


def boxes() -> Signatures:
    """Decoding of anchors, as in SSD and YOLO."""

    def run(raw):
        centers, sizes, score = tf.split(raw, [2, 2, 3], -1)
        grid = tf.stack(tf.meshgrid(tf.range(4.0), tf.range(4.0)), -1)
        centers = (tf.sigmoid(centers) + grid) / 4.0
        half = tf.exp(sizes) * 0.125
        flat = tf.reshape(tf.concat([centers - half, centers + half], -1), (-1, 4))
        best = tf.math.top_k(tf.reduce_max(tf.reshape(tf.nn.softmax(score), (-1, 3)), -1), 5)
        return tf.gather(flat, best.indices), best.values

    return function(run, ((1, 4, 4, 7), F))


def indexing() -> Signatures:
    def run(x, i):
        scattered = tf.scatter_nd(tf.stack([i, (i + 1) % 3], -1), tf.range(4.0), (5, 3))
        updated = tf.tensor_scatter_nd_update(x, i[:, None], x[:4] * 0.0 + 7.0)
        return (
            tf.gather_nd(x, tf.stack([i, i % 3], -1)),
            scattered,
            updated,
            tf.where(x > 0),
            tf.one_hot(i, 5, 2.0, -1.0),
        )

    return function(run, ((5, 3), F), ((4,), I))


def rearranging() -> Signatures:
    def run(x):
        a = tf.space_to_batch(x, [2, 2], [[0, 0], [1, 1]])
        b = tf.pad(x, [[0, 0], [1, 2], [2, 1], [0, 0]], "REFLECT")
        c = tf.reverse(tf.transpose(x, [0, 2, 1, 3]), [1, 3])
        d = tf.nn.space_to_depth(x, 2)
        e = tf.strided_slice(x, [0, -1, 0, 0], [1, 0, 6, 3], [1, -2, 2, 1], shrink_axis_mask=1)
        return a, b, c, d, e, tf.tile(x[:, :1, :2], [2, 1, 3, 1]), tf.roll(x, 1, 1)

    return function(run, ((1, 6, 6, 3), F))


def reducing() -> Signatures:
    def run(x, i):
        sums = tf.math.segment_sum(x, [0, 0, 1, 3]), tf.math.unsorted_segment_max(x, [2, 0, 2, 1], 3)
        y = tf.cumsum(x, 1, exclusive=True, reverse=True), tf.reduce_prod(x, 0), tf.reduce_any(x > 0.5, -1)
        return (
            *sums,
            *y,
            tf.unique(i).y,
            tf.math.argmin(x, 1),
            tf.reduce_logsumexp(x, 1),
            tf.sort(x, direction="DESCENDING"),
        )

    return function(run, ((4, 6), F), ((7,), I))


def arithmetic() -> Signatures:
    def run(x, y):
        z = tf.abs(y) + 0.25
        a = (
            tf.math.floordiv(x, z),
            tf.math.floormod(x, z),
            tf.pow(z, x),
            tf.atan2(x, x * 0 + y),
            tf.math.squared_difference(x, y),
        )
        b = (
            tf.sin(x),
            tf.cos(x),
            tf.sqrt(z),
            tf.math.rsqrt(z),
            tf.math.log(z),
            tf.exp(x),
            tf.round(x * 3),
            tf.sign(x),
        )
        return (
            *a,
            *b,
            tf.math.ceil(x),
            tf.floor(x),
            tf.math.divide_no_nan(x, tf.nn.relu(y)),
            tf.math.expm1(x),
            tf.math.log1p(z),
        )

    return function(run, ((3, 4), F), ((4,), F))


def integers() -> Signatures:
    def run(x, y):
        z = tf.abs(y) + 1
        a = (
            x // z,
            x % z,
            tf.bitwise.bitwise_xor(x, y),
            tf.bitwise.right_shift(x * 9, z % 4),
            tf.maximum(x, y),
            x * y - x,
        )
        return (
            *a,
            tf.cast(x, F) / 3.0,
            tf.logical_and(x > 1, tf.logical_not(y > 2)),
            tf.cast(x, tf.int64),
            tf.cast(x, tf.uint8),
        )

    return function(run, ((2, 5), I), ((5,), I))


def any_length() -> Signatures:
    def run(x):
        length = tf.shape(x)[1]
        place = tf.cast(tf.range(length), F)[None, :, None]
        y = tf.concat([x, tf.fill([tf.shape(x)[0], length, 1], 0.5) + place], -1)
        return (
            tf.reshape(y, [-1, 4]),
            tf.broadcast_to(tf.reduce_mean(y, 1, True), tf.shape(y)),
            tf.size(x),
            tf.rank(x),
        )

    return function(run, ((None, None, 3), F))


def any_image() -> Signatures:
    def run(x):
        size = tf.shape(x)[1:3]
        y = tf.nn.conv2d(x, random(3, 3, 3, 4), 2, "SAME")
        return tf.image.resize(y, size), tf.image.resize(y, size * 2, "nearest")

    return function(run, ((1, None, None, 3), F))


def products() -> Signatures:
    def run(a, b, c):
        x = (
            tf.einsum("bij,bjk->bik", a, b),
            tf.einsum("bhqd,bhkd->bhqk", c, c),
            tf.matmul(a, b, adjoint_a=False),
        )
        return (
            *x,
            tf.tensordot(a, random(5, 3), 1),
            tf.linalg.diag(a[0, 0]),
            tf.linalg.set_diag(a[:, :4, :4], a[:, 0, :4]),
        )

    return function(run, ((2, 4, 5), F), ((2, 5, 3), F), ((1, 2, 3, 4), F))


def normalizing() -> Signatures:
    def run(x):
        a = (
            tf.nn.l2_normalize(x, -1),
            tf.nn.local_response_normalization(x, 2, 1.0, 0.1, 0.5),
            tf.nn.log_softmax(x),
        )
        mean, variance = tf.nn.moments(x, [1, 2], keepdims=True)
        return *a, tf.nn.batch_normalization(x, mean, variance, 0.1, 1.5, 1e-3), tf.nn.softmax(x, 1)

    return function(run, ((1, 5, 5, 6), F))


def quantize_by_hand() -> Signatures:
    def run(x):
        y = tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0)
        return tf.quantization.fake_quant_with_min_max_args(tf.matmul(y, random(6, 4)), -3.0, 3.0)

    return function(run, ((2, 6), F))


def bucketize() -> Signatures:
    return function(lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-0.5, 0.0, 0.7]), ((3, 4), F))


def complex_numbers() -> Signatures:
    def run(x, y):
        z = tf.complex(x, y)
        return tf.math.real(z * z), tf.abs(z), tf.math.imag(tf.signal.fft(z))

    return function(run, ((2, 8), F), ((2, 8), F))


def sequence_tools() -> Signatures:
    def run(x, lengths):
        mask = tf.sequence_mask(lengths, 6)
        return tf.reverse_sequence(x, tf.math.floormod(lengths, 7), 1), mask, tf.boolean_mask(x, mask)

    return function(run, ((3, 6, 2), F), ((3,), I))


def dilate() -> Signatures:
    def run(x):
        return tf.nn.conv2d_transpose(x, random(3, 3, 2, 4), (1, 12, 12, 2), 2, "SAME"), tf.nn.atrous_conv2d(
            x, random(3, 3, 4, 2), 2, "VALID"
        )

    return function(run, ((1, 6, 6, 4), F))


MODELS = {
    f.__name__: f
    for f in (
        collatz, newton, branches, growing_loop, beam, counter, streaming, trainer, labels, vocabulary,
        text_flex, string_join_flex, linalg_flex, image_flex, special_flex, spectrogram, mfcc,
        detection_custom, fourier, detection, soft_detection, boxes, indexing, rearranging, reducing,
        arithmetic, integers, any_length, any_image, products, normalizing, quantize_by_hand, bucketize,
        complex_numbers, sequence_tools, dilate,
    )
}  # fmt: skip
