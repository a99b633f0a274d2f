"""Images: whole networks, preprocessing, detection, decoding."""

import numpy as np
import tensorflow as tf
from making import SEED, export, save, strings, weights

import keras
from keras import layers


def mobilenet_v3(path: str) -> None:
    image = keras.Input((96, 96, 3), name="image")
    export(keras.applications.MobileNetV3Small(weights=None, input_tensor=image, classes=10), path)


def unet(path: str) -> None:
    """Segmentation: skips, upsampling by transposed convolution and bilinear, a map of classes."""
    image = keras.Input((24, 16, 3), name="image")
    a = layers.LeakyReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(image)))
    b = layers.ReLU(6.0)(layers.Conv2D(12, 3, padding="same")(layers.MaxPooling2D()(a)))
    c = layers.SpatialDropout2D(0.2)(
        layers.Conv2D(16, 3, padding="same", dilation_rate=2)(layers.AveragePooling2D(2)(b))
    )
    x = layers.Conv2DTranspose(12, 3, strides=2, padding="same")(c)
    x = layers.UpSampling2D(interpolation="bilinear")(layers.Concatenate()([x, b]))
    logits = layers.Conv2D(4, 1)(layers.Concatenate()([x, a]))
    classes = keras.ops.argmax(logits, -1)
    export(keras.Model(image, {"probabilities": layers.Softmax()(logits), "classes": classes}), path)


def volume_net(path: str) -> None:
    """A 3-D convnet as for scans."""
    scan = keras.Input((8, 8, 8, 1), name="scan")
    x = layers.Conv3D(4, 3, padding="same", activation="relu")(scan)
    x = layers.BatchNormalization()(layers.MaxPooling3D()(x))
    x = layers.Conv3DTranspose(2, 2, strides=2)(layers.SpatialDropout3D(0.1)(x))
    export(keras.Model(scan, layers.Conv3D(2, 1, activation="sigmoid")(x)), path)


def vision_transformer(path: str) -> None:
    """Patches, a class token, attention."""
    image = keras.Input((24, 24, 3), name="image")
    x = layers.Reshape((16, 20))(layers.Conv2D(20, 6, strides=6)(image))
    token = keras.ops.zeros_like(x[:, :1]) + 0.1
    x = layers.Concatenate(axis=1)([token, x])
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 5)(y, y)])
        x = layers.Add()(
            [x, layers.Dense(20)(layers.Dense(40, activation="gelu")(layers.LayerNormalization()(x)))]
        )
    export(keras.Model(image, layers.Dense(6, activation="softmax")(x[:, 0])), path)


def dense_net(path: str) -> None:
    """DenseNet blocks with spectral norm and squeeze-and-excitation."""
    x = image = keras.Input((28, 28, 1), name="image")
    x = layers.SpectralNormalization(layers.Conv2D(8, 3, padding="same"))(x)
    for _ in range(3):
        y = layers.Conv2D(6, 3, padding="same")(layers.Activation("selu")(layers.BatchNormalization()(x)))
        x = layers.Concatenate()([x, y])
    gate = layers.Dense(26, activation="hard_sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = layers.PReLU(shared_axes=[1, 2])(layers.Multiply()([x, gate]))
    export(keras.Model(image, layers.Dense(10, activation="log_softmax")(layers.Flatten()(x))), path)


# Decoding


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
