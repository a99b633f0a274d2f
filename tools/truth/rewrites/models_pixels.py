"""Encoded images, boxes and filters."""

import numpy as np
import tensorflow as tf
from making import SEED, floats, save, strings, weights


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


def thumbnail(path: str) -> None:
    """One image in web-safe base64: its thumbnail, as floats from decode_image, and a PNG of it."""

    def call(image):
        decoded = tf.io.decode_image(
            tf.io.decode_base64(image), channels=3, dtype=tf.float32, expand_animations=False
        )
        decoded.set_shape([None, None, 3])
        small = tf.image.resize(decoded, [9, 7], antialias=True, method="area")
        size = tf.shape(decoded)[:2]
        return {"small": small, "size": size, "gray": tf.image.rgb_to_grayscale(small)}

    save(path, tf.Module(), call, image=strings())


def animation(path: str) -> None:
    """All frames of an animation, or one of a still image, with mean colors."""

    def call(content):
        frames = tf.io.decode_image(content, channels=3)
        frames = tf.cond(tf.equal(tf.rank(frames), 3), lambda: frames[None], lambda: frames)
        frames = tf.reshape(frames, tf.concat([tf.shape(frames)[:3], [3]], 0))
        return {"frames": tf.shape(frames)[0], "colors": tf.reduce_mean(tf.cast(frames, tf.float32), [1, 2])}

    save(path, tf.Module(), call, content=strings())


def detector_head(path: str) -> None:
    """Anchors, boxes and combined_non_max_suppression."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.boxes, module.scores = (
        tf.Variable(weights(rng, 3, 3, 3, 8)),
        tf.Variable(weights(rng, 3, 3, 3, 6, scale=1)),
    )
    ys, xs = np.meshgrid(np.arange(6) / 6, np.arange(6) / 6, indexing="ij")
    anchors = np.stack([ys, xs, ys + 0.3, xs + 0.3], -1).reshape(-1, 1, 4).astype(np.float32).repeat(2, 1)

    def call(image):
        offsets = tf.reshape(tf.nn.conv2d(image, module.boxes, 4, "SAME"), [-1, 72, 1, 4])
        scores = tf.reshape(tf.nn.conv2d(image, module.scores, 4, "SAME"), [-1, 72, 3])
        boxes = tf.reshape(anchors, [1, 72, 1, 4]) + 0.1 * tf.tanh(offsets)
        kept = tf.image.combined_non_max_suppression(
            boxes, tf.sigmoid(scores), 4, 10, iou_threshold=0.4, score_threshold=0.5, clip_boxes=True
        )
        return kept._asdict()

    save(path, module, call, image=floats(None, 24, 24, 3))


def crops(path: str) -> None:
    """Regions of interest: padded NMS with soft scores, crop_and_resize, max_pool_with_argmax."""

    def call(image, boxes, scores):
        kept, count = tf.image.non_max_suppression_padded(
            boxes, scores, 5, iou_threshold=0.5, score_threshold=0.1, pad_to_max_output_size=True
        )
        soft, soft_scores = tf.image.non_max_suppression_with_scores(boxes, scores, 4, soft_nms_sigma=0.5)
        chosen = tf.gather(boxes, kept[0] if kept.shape.rank == 2 else kept)
        parts = tf.image.crop_and_resize(image, chosen, tf.zeros([tf.shape(chosen)[0]], tf.int32), [6, 6])
        pooled, where = tf.nn.max_pool_with_argmax(parts, 2, 2, "SAME")
        return {
            "kept": kept,
            "count": count,
            "soft": soft,
            "soft_scores": soft_scores,
            "pooled": pooled,
            "where": where,
        }

    save(path, tf.Module(), call, image=floats(1, None, None, 3), boxes=floats(None, 4), scores=floats(None))


def photo_filter(path: str) -> None:
    """Color and geometry of tf.image, as in a test-time preprocessing."""

    def call(image):
        x = tf.image.convert_image_dtype(image, tf.float32)
        x = tf.image.adjust_saturation(tf.image.adjust_hue(x, 0.1), 1.4)
        x = tf.image.resize_with_pad(x, 20, 24, method="lanczos3", antialias=True)
        edges = tf.image.sobel_edges(x)
        patches = tf.image.extract_patches(x, [1, 5, 5, 1], [1, 5, 6, 1], [1, 1, 1, 1], "VALID")
        ssim = tf.image.ssim(x, tf.image.flip_left_right(x), 1.0, filter_size=5)
        transposed = tf.raw_ops.ImageProjectiveTransformV3(
            images=x,
            transforms=tf.constant([[0.9, -0.2, 2, 0.2, 0.9, -1, 0, 0]]),
            output_shape=[20, 24],
            interpolation="BILINEAR",
            fill_mode="REFLECT",
            fill_value=0.0,
        )
        return {
            "x": x,
            "edges": edges,
            "patches": patches,
            "ssim": ssim,
            "turned": transposed,
            "yuv": tf.image.rgb_to_yuv(x),
        }

    save(path, tf.Module(), call, image=tf.TensorSpec([None, None, None, 3], tf.uint8))
