"""Random crops of images, from the same random numbers as TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random.distributions import as_uniform
from tfport.runtime.ops.random.philox import Philox, from_seed, generator_of


class _Box(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    @property
    def area(self) -> np.float32:
        return np.float32((self.right - self.left) * (self.bottom - self.top))

    def common(self, other: _Box) -> _Box:
        box = _Box(
            max(self.left, other.left), max(self.top, other.top),
            min(self.right, other.right), min(self.bottom, other.bottom),
        )  # fmt: skip
        return box if box.left <= box.right and box.top <= box.bottom else _Box(0, 0, 0, 0)


class _RandomWords:
    """Random numbers, drawn in sequence."""

    def __init__(self, philox: Philox) -> None:
        self._words: Iterator[int] = philox.words()

    def fraction(self) -> np.float32:
        return np.float32(as_uniform(np.array([next(self._words)], np.uint32), np.float32)[0])

    def below(self, n: int) -> int:
        """A uniform integer below n; words that would bias the result are discarded."""
        if n & (n - 1) == 0:
            return next(self._words) & (n - 1)
        least = 0xFFFFFFFF % n + 1
        while (word := next(self._words)) < least:
            pass
        return word % n


def _round(x: Any) -> int:
    return int(np.rint(np.float32(x)))


def _crop(
    width: int, height: int, area: tuple[Any, Any], aspect: np.float32, words: _RandomWords
) -> _Box | None:
    """A box of random size and position; None if no size satisfies the constraints."""
    if width <= 0 or height <= 0 or area[0] > area[1]:
        return None
    least, most = (a * np.float32(width) * np.float32(height) for a in area)
    tall, tallest = _round(np.sqrt(least / aspect)), _round(np.sqrt(most / aspect))
    if _round(np.float32(tallest) * aspect) > width:
        tallest = int((width + 0.5 - float(np.float32(0.0000001))) / float(aspect))
        if _round(np.float32(tallest) * aspect) > width:
            tallest -= 1
    tallest = min(tallest, height)
    tall = min(tall, tallest)
    if tall < tallest:
        tall += words.below(tallest - tall + 1)
    wide = _round(np.float32(tall) * aspect)
    if wide * tall < least:
        tall += 1
        wide = _round(np.float32(tall) * aspect)
    if wide * tall > most:
        tall -= 1
        wide = _round(np.float32(tall) * aspect)
    if not least <= wide * tall <= most or not 0 < wide <= width or not 0 < tall <= height:
        return None
    top = words.below(height - tall) if tall < height else 0
    left = words.below(width - wide) if wide < width else 0
    return _Box(left, top, left + wide, top + tall)


def _covers(crop: _Box, least: Any, boxes: list[_Box]) -> bool:
    if crop.area < 1:
        return False
    return any(box.area >= 1 and crop.common(box).area / box.area >= least for box in boxes)


def _boxes(bounding_boxes: Any, width: int, height: int, use_image: bool) -> list[_Box]:
    if bounding_boxes.ndim != 3 or bounding_boxes.shape[2] != 4:
        raise RunFailed(f"bounding_boxes must have shape [batch, n, 4], found {list(bounding_boxes.shape)}")
    if not np.all((bounding_boxes >= 0) & (bounding_boxes <= 1)):
        raise RunFailed(
            "coordinates of bounding_boxes must be between 0 and 1, "
            f"found {bounding_boxes.min()} to {bounding_boxes.max()}"
        )
    sides = np.array([height, width] * 2, np.float32)
    objects = [
        _Box(x1, y1, x2, y2)
        for y1, x1, y2, x2 in (bounding_boxes.reshape(-1, 4) * sides).astype(int).tolist()
    ]
    if not objects and not use_image:
        raise RunFailed("bounding_boxes must not be empty unless use_image_if_no_bounding_boxes is true")
    return objects or [_Box(0, 0, width, height)]


def _sample_crop(
    philox: Philox,
    image_size: Any,
    boxes: Any,
    covered: Any,
    aspects: list[float],
    areas: list[float],
    tries: int,
    use_image: bool,
) -> Any:
    """The begin, size and box of a random crop; the whole image if no attempt succeeds."""
    if image_size.shape != (3,) or np.any(image_size[:2] < 0) or np.any(image_size[:2] >= 2**31 - 1):
        raise RunFailed(
            f"image_size must be [height, width, depth], none of them negative, found {image_size.tolist()}"
        )
    if len(aspects) != 2 or min(aspects) <= 0 or len(areas) != 2 or min(areas) <= 0 or max(areas) > 1:
        raise RunFailed(f"invalid aspect_ratio_range {aspects} or area_range {areas}")
    if covered < 0 or tries <= 0:
        raise RunFailed(
            "min_object_covered must not be negative, and max_attempts must be positive, "
            f"found {covered} and {tries}"
        )
    height, width = int(image_size[0]), int(image_size[1])
    objects, words = _boxes(boxes, width, height, use_image), _RandomWords(philox)
    low, high = (np.float32(a) for a in aspects)
    area = np.float32(areas[0]), np.float32(areas[1])
    crop = _Box(0, 0, width, height)
    for _ in range(tries):
        tried = _crop(width, height, area, words.fraction() * (high - low) + low, words)
        if tried is not None and _covers(tried, covered, objects):
            crop = tried
            break
    corners = np.array([crop.top, crop.left, crop.bottom, crop.right], np.float32)
    sides = np.array([height, width] * 2, np.float32)
    return (
        np.array([crop.top, crop.left, 0]),
        np.array([crop.bottom - crop.top, crop.right - crop.left, -1]),
        (corners / sides).reshape(1, 1, 4),
    )


@host("SampleDistortedBoundingBox")
def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    *,
    seed,
    seed2,
    min_object_covered,
    aspect_ratio_range,
    area_range,
    max_attempts,
    use_image_if_no_bounding_boxes,
    context,
):
    philox = generator_of(context, seed, seed2).reserve(max_attempts)
    covered = np.float32(min_object_covered)
    return _sample_crop(
        philox, image_size, bounding_boxes, covered, aspect_ratio_range, area_range, max_attempts,
        use_image_if_no_bounding_boxes,
    )  # fmt: skip


@host("SampleDistortedBoundingBoxV2")
def sample_distorted_bounding_box_v2(
    image_size,
    bounding_boxes,
    min_object_covered,
    *,
    seed,
    seed2,
    aspect_ratio_range,
    area_range,
    max_attempts,
    use_image_if_no_bounding_boxes,
    context,
):
    philox = generator_of(context, seed, seed2).reserve(max_attempts)
    return _sample_crop(
        philox, image_size, bounding_boxes, _scalar(min_object_covered), aspect_ratio_range, area_range,
        max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip


@host("StatelessSampleDistortedBoundingBox")
def stateless_sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    min_object_covered,
    seed,
    *,
    aspect_ratio_range,
    area_range,
    max_attempts,
    use_image_if_no_bounding_boxes,
):
    return _sample_crop(
        from_seed(seed), image_size, bounding_boxes, _scalar(min_object_covered), aspect_ratio_range,
        area_range, max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip


def _scalar(min_object_covered: Any) -> Any:
    if min_object_covered.ndim:
        raise RunFailed(f"min_object_covered must be a scalar, found shape {list(min_object_covered.shape)}")
    return min_object_covered[()]


@host("RandomCrop")
def random_crop(image, size, *, seed, seed2, context):
    if image.ndim != 3 or size.shape != (2,):
        raise RunFailed(
            "image must have 3 axes, and size must have 2 elements, "
            f"found shapes {list(image.shape)} and {list(size.shape)}"
        )
    tall, wide = int(size[0]), int(size[1])
    height, width, _ = image.shape
    if not 0 <= tall <= height or not 0 <= wide <= width:
        raise RunFailed(f"size {tall} x {wide} does not fit in the image, {height} x {width}")
    words = generator_of(context, seed, seed2).reserve(1).words()
    left = next(words) % (width - wide + 1) if width > wide else 0
    top = next(words) % (height - tall + 1) if height > tall else 0
    return image[top : top + tall, left : left + wide]
