"""Encoded images, boxes and filters."""

import numpy as np
import tensorflow as tf
from making import SEED, save, strings, weights


class Classifier(tf.Module):
    """A small convolution over images of 24 x 24."""

    def __init__(self, channels: int = 3) -> None:
        rng = np.random.default_rng(SEED)
        self.kernel = tf.Variable(weights(rng, 3, 3, channels, 6))
        self.dense = tf.Variable(weights(rng, 6, 4))

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        x = tf.nn.relu(tf.nn.conv2d(images, self.kernel, 2, "SAME"))
        return tf.nn.softmax(tf.reduce_mean(x, [1, 2]) @ self.dense)


def image_server(path: str) -> None:
    """A batch of encoded images of any format, as a server gets them: decode, resize, classify."""
    module = tf.Module()
    module.net = Classifier()

    def prepared(content):
        image = tf.io.decode_image(content, channels=3, expand_animations=False)
        image = tf.image.resize(tf.cast(image, tf.float32) / 255.0, [24, 24])
        return tf.ensure_shape(image, [24, 24, 3])

    def call(image_bytes):
        images = tf.map_fn(prepared, image_bytes, fn_output_signature=tf.float32)
        return {"scores": module.net(images)}

    save(path, module, call, image_bytes=strings(None))
