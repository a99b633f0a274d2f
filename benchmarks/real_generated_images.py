"""Generated models: dilated, 3-D and float16 convolutions, a two-stage detector, and an audio net."""

from __future__ import annotations

from typing import Any

from real_generated_parts import Tensors, conv, dense, maker


@maker
def dilated_sequence(tf: Any) -> tuple[Tensors, Tensors]:
    """Residual blocks of dilated convolutions over a sequence of unknown length."""
    x = tf.compat.v1.placeholder(tf.float32, [None, None, 4], "x")
    y = conv(tf, x, 1, 32, "first")
    for i in range(16):
        z = conv(tf, y, 11, 32, f"{i}a", dilation=(1, 4, 10, 25)[i // 4])
        y += conv(tf, z, 11, 32, f"{i}b", dilation=(1, 4, 10, 25)[i // 4], relu=False)
    return {"x": x}, {"y": tf.nn.softmax(conv(tf, y, 1, 3, "last", relu=False))}


@maker
def dilated_image(tf: Any) -> tuple[Tensors, Tensors]:
    """Segmentation with an atrous pyramid over an image of unknown size."""
    x = tf.compat.v1.placeholder(tf.float32, [None, None, None, 3], "image")
    y = x
    for i, filters in enumerate((32, 64, 128)):
        y = conv(tf, y, 3, filters, f"down{i}", stride=2)
    for i in range(4):
        y += conv(tf, y, 3, 128, f"block{i}", dilation=2, relu=False)
    y = tf.concat([conv(tf, y, 3, 64, f"rate{rate}", dilation=rate) for rate in (1, 6, 12, 18)], -1)
    y = tf.image.resize(conv(tf, y, 1, 21, "scores", relu=False), tf.shape(x)[1:3])
    return {"image": x}, {"classes": tf.argmax(y, -1)}


def _boxes(tf: Any, raw: Any) -> Any:
    """Boxes from any numbers, with corners in order."""
    center, size = tf.sigmoid(raw[:, :2]), 0.05 + 0.4 * tf.sigmoid(raw[:, 2:])
    return tf.clip_by_value(tf.concat([center - size / 2, center + size / 2], 1), 0.0, 1.0)


@maker
def detector(tf: Any) -> tuple[Tensors, Tensors]:
    """Two stages: proposals with NonMaxSuppressionV4 and V3, CropAndResize, a loop over classes with V5."""
    v1 = tf.compat.v1
    image = v1.placeholder(tf.uint8, [None, None, None, 3], "image")
    x = tf.image.resize(tf.cast(image, tf.float32) / 255.0, [320, 320])
    for i, filters in enumerate((32, 64, 96, 128)):
        x = conv(tf, x, 3, filters, f"backbone{i}", stride=2)
    proposals = tf.reshape(conv(tf, x, 3, 3 * 5, "proposals", relu=False)[0], [-1, 5])
    boxes, scores = _boxes(tf, proposals[:, :4]), tf.sigmoid(proposals[:, 4])
    keep, count = tf.image.non_max_suppression_padded(boxes, scores, 200, 0.7, pad_to_max_output_size=False)
    boxes = tf.gather(boxes, keep[:count])
    boxes = tf.gather(boxes, tf.image.non_max_suppression(boxes, tf.gather(scores, keep[:count]), 100, 0.6))
    crops = tf.image.crop_and_resize(x, boxes, tf.zeros([tf.shape(boxes)[0]], tf.int32), [14, 14])
    crops = tf.nn.max_pool2d(crops, 2, 2, "SAME")
    features = dense(tf, tf.reshape(crops, [-1, 7 * 7 * 128]), 256, "head")
    logits = tf.nn.softmax(dense(tf, tf.nn.relu(features), 11, "classes"))

    def of_class(i: Any) -> Any:
        kept, best = tf.image.non_max_suppression_with_scores(
            boxes, logits[:, i + 1], 20, 0.5, soft_nms_sigma=0.5
        )
        return tf.pad(tf.gather(boxes, kept), [[0, 20 - tf.shape(kept)[0]], [0, 0]]), tf.pad(
            best, [[0, 20 - tf.shape(best)[0]]]
        )

    def some() -> Any:
        return tf.map_fn(of_class, tf.range(10), fn_output_signature=(tf.float32, tf.float32))

    def none() -> Any:
        return tf.zeros([10, 20, 4]), tf.zeros([10, 20])

    class_boxes, class_scores = v1.cond(tf.shape(boxes)[0] > 0, some, none)
    final = tf.image.combined_non_max_suppression(
        tf.reshape(class_boxes, [1, -1, 1, 4]), tf.reshape(class_scores, [1, -1, 1]), 20, 50
    )
    return {"image": image}, {"boxes": final[0], "scores": final[1], "classes": final[2], "count": final[3]}


@maker
def unet_3d(tf: Any) -> tuple[Tensors, Tensors]:
    """A U-Net over volumes."""
    x = tf.compat.v1.placeholder(tf.float32, [None, 48, 48, 48, 1], "volume")
    y, kept = x, []
    for i, filters in enumerate((8, 16, 32)):
        y = conv(tf, conv(tf, y, 3, filters, f"down{i}a"), 3, filters, f"down{i}b")
        kept.append(y)
        y = tf.nn.max_pool3d(y, 2, 2, "SAME")
    y = conv(tf, y, 3, 64, "bottom")
    for i, skip in reversed(list(enumerate(kept))):
        filters = skip.shape[-1]
        w = tf.compat.v1.get_variable(f"up{i}/w", [2, 2, 2, filters, y.shape[-1]])
        y = tf.nn.conv3d_transpose(y, w, tf.shape(skip), 2, "SAME")
        y = conv(tf, tf.concat([tf.reshape(y, tf.shape(skip)), skip], -1), 3, filters, f"up{i}a")
    return {"volume": x}, {"mask": tf.sigmoid(conv(tf, y, 1, 1, "mask", relu=False))}


@maker
def half_cnn(tf: Any) -> tuple[Tensors, Tensors]:
    """A residual net in float16."""
    x = tf.compat.v1.placeholder(tf.float16, [None, 224, 224, 3], "image")
    y = conv(tf, x, 7, 32, "first", stride=2)
    for i, filters in enumerate((32, 64, 128)):
        z = conv(tf, conv(tf, y, 3, filters, f"{i}a", stride=2), 3, filters, f"{i}b", relu=False)
        y = tf.nn.relu(z + conv(tf, y, 1, filters, f"{i}c", stride=2, relu=False))
    return {"image": x}, {"scores": tf.nn.softmax(dense(tf, tf.reduce_mean(y, [1, 2]), 1000, "classes"))}


@maker
def audio(tf: Any) -> tuple[Tensors, Tensors]:
    """A log mel spectrogram, then a net like MobileNet."""
    v1 = tf.compat.v1
    wave = v1.placeholder(tf.float32, [None, None], "wave")
    spectrogram = tf.abs(tf.signal.stft(wave, 400, 160, 512))
    mel = tf.signal.linear_to_mel_weight_matrix(64, 257, 16000, 125.0, 7500.0)
    x = tf.math.log(tf.tensordot(spectrogram, mel, 1) + 0.001)[..., None]
    x = conv(tf, tf.ensure_shape(x, [None, None, 64, 1]), 3, 32, "first", stride=2)
    for i, (filters, stride) in enumerate(((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2))):
        w = v1.get_variable(f"depthwise{i}", [3, 3, x.shape[-1], 1])
        x = tf.nn.relu6(tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], "SAME"))
        x = conv(tf, x, 1, filters, f"pointwise{i}")
    return {"wave": wave}, {"scores": tf.sigmoid(dense(tf, tf.reduce_mean(x, [1, 2]), 521, "classes"))}
