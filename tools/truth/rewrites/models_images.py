"""Networks of Keras 3 for images."""

import keras
import tensorflow as tf
from keras import layers
from making import export


def mobilenet_v3(path: str) -> None:
    image = keras.Input((96, 96, 3), name="image")
    export(keras.applications.MobileNetV3Small(weights=None, input_tensor=image, classes=10), path)


def efficientnet_v2(path: str) -> None:
    image = keras.Input((64, 64, 3), name="image")
    export(keras.applications.EfficientNetV2B0(weights=None, input_tensor=image, classes=7), path)


def convnext(path: str) -> None:
    """A small ConvNeXt: depthwise convolutions, layer norms, layer scale."""
    x = image = keras.Input((32, 32, 3), name="image")
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(12, 4, strides=4)(x))
    for _ in range(2):
        y = layers.LayerNormalization(epsilon=1e-6)(layers.DepthwiseConv2D(7, padding="same")(x))
        y = layers.Dense(12)(layers.Dense(48, activation="gelu")(y))
        x = x + 0.1 * y
    export(keras.Model(image, layers.Dense(5)(layers.GlobalAveragePooling2D()(x))), path)


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


def augmented(path: str) -> None:
    """Augmentation layers, inactive in inference, before a classifier; resizing and cropping are active."""
    image = keras.Input((None, None, 3), dtype="uint8", name="image")
    x = layers.Resizing(40, 40, crop_to_aspect_ratio=True)(keras.ops.cast(image, "float32"))
    x = layers.CenterCrop(32, 32)(x)
    for layer in (
        layers.RandomFlip("horizontal"),
        layers.RandomRotation(0.2),
        layers.RandomZoom(0.1),
        layers.RandomTranslation(0.1, 0.1),
        layers.RandomContrast(0.3),
        layers.RandomBrightness(0.2),
    ):
        x = layer(x)
    x = layers.Conv2D(6, 3, strides=2, activation="silu")(layers.Rescaling(1 / 127.5, offset=-1)(x))
    model = keras.Model(image, layers.Dense(3)(layers.GlobalAveragePooling2D()(x)))
    archive = keras.export.ExportArchive()
    archive.track(model)
    signature = [tf.TensorSpec([None, None, None, 3], tf.uint8, "image")]
    archive.add_endpoint("serve", lambda image: model(image, training=False), signature)
    archive.write_out(path, verbose=False)


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
