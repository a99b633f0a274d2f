import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f16, f32, i32, numbers, scalar

CORNERS = numbers(40, 2, low=0, high=1)
BOXES = np.concatenate([CORNERS, CORNERS + numbers(40, 2, seed=1, low=-0.05, high=0.6)], -1)
SCORES = numbers(40, low=-1, high=1)
TIES = np.round(SCORES, 1)
ODD = np.where(np.arange(40) % 7 == 0, np.float32(np.nan), SCORES)
ODD[3], ODD[4] = -np.inf, np.inf
HALF, LEAST = scalar(0.5, np.float32), scalar(0.1, np.float32)
TEN, MANY = scalar(10), scalar(100)


def threshold(value, kind=np.float32):
    return scalar(value, kind)


CLASSES = numbers(2, 30, 3, low=0, high=1)
MANY_BOXES = np.stack([BOXES[:30], BOXES[10:]])[:, :, None]
CLASS_BOXES = np.concatenate([MANY_BOXES, MANY_BOXES[:, ::-1], MANY_BOXES * 1.5 - 0.2], axis=2)


def combined(boxes, scores, per_class, total, overlap=0.5, least=0.2, **attrs):
    sizes = (scalar(per_class), scalar(total), threshold(overlap), threshold(least))
    return case("CombinedNonMaxSuppression", boxes, scores, *sizes, **attrs)


CASES = [
    *(
        case("NonMaxSuppression", BOXES, s, TEN, iou_threshold=t)
        for s in (SCORES, TIES, ODD)
        for t in (0.0, 0.3, 1.0)
    ),
    *(
        case("NonMaxSuppressionV2", BOXES, s, MANY, threshold(t))
        for s in (SCORES, TIES, ODD)
        for t in (0.0, 0.3, 1.0)
    ),
    *(
        case("NonMaxSuppressionV3", BOXES, s, n, threshold(0.2), LEAST)
        for s in (SCORES, TIES, ODD)
        for n in (TEN, MANY)
    ),
    case("NonMaxSuppressionV3", BOXES, SCORES, scalar(0), HALF, LEAST),
    case("NonMaxSuppressionV3", BOXES[:0], SCORES[:0], TEN, HALF, LEAST),
    case("NonMaxSuppressionV3", BOXES, SCORES, TEN, HALF, threshold(5)),
    case("NonMaxSuppressionV3", BOXES, SCORES, TEN, HALF, threshold(-np.inf)),
    case("NonMaxSuppressionV3", BOXES, SCORES, TEN, threshold(1.5), LEAST, fails=True),
    case("NonMaxSuppressionV3", BOXES, SCORES, TEN, threshold(-0.1), LEAST, fails=True),
    case("NonMaxSuppressionV3", BOXES, SCORES, scalar(-1), HALF, LEAST, fails=True),
    case("NonMaxSuppressionV3", BOXES, SCORES[:5], TEN, HALF, LEAST, fails=True),
    case("NonMaxSuppressionV3", BOXES[:, :3], SCORES, TEN, HALF, LEAST, fails=True),
    case("NonMaxSuppressionV3", BOXES.astype(np.float16), TIES.astype(np.float16), MANY, HALF, LEAST),
    case(
        "NonMaxSuppressionV2",
        BOXES.astype(np.float16),
        SCORES.astype(np.float16),
        MANY,
        scalar(0.3, np.float16),
    ),
    *(
        case("NonMaxSuppressionV4", BOXES, s, n, HALF, LEAST, pad_to_max_output_size=pad)
        for s in (SCORES, ODD)
        for n in (scalar(4), TEN, MANY)
        for pad in (False, True)
    ),
    *(
        case("NonMaxSuppressionV5", BOXES, s, n, HALF, LEAST, threshold(sigma), pad_to_max_output_size=pad)
        for s in (SCORES, TIES)
        for n in (TEN, MANY)
        for pad in (False, True)
        for sigma in (0, 0.5, 0.05)
    ),
    case("NonMaxSuppressionV5", BOXES, ODD, MANY, HALF, threshold(-0.5), threshold(0.3)),
    case("NonMaxSuppressionV5", BOXES, SCORES, MANY, HALF, LEAST, threshold(-0.3), fails=True),
    case(
        "NonMaxSuppressionV5",
        BOXES.astype(np.float16),
        SCORES.astype(np.float16),
        MANY,
        f16(0.5)[0],
        f16(0.1)[0],
        f16(0.4)[0],
    ),
    case(
        "NonMaxSuppressionV5",
        BOXES.astype(np.float16),
        SCORES.astype(np.float16),
        MANY,
        f16(0.5)[0],
        f16(0.1)[0],
        f16(0)[0],
    ),
    *(
        case(
            "NonMaxSuppressionWithOverlaps",
            numbers(12, 12, low=0, high=1),
            numbers(12, low=0),
            n,
            threshold(t),
            LEAST,
        )
        for n in (scalar(3), MANY)
        for t in (0.3, 0.7, -1.0, 2.0)
    ),
    case("NonMaxSuppressionWithOverlaps", numbers(3, 4), numbers(3), TEN, HALF, LEAST, fails=True),
    *(
        combined(boxes, scores, n, total, pad_per_class=pad, clip_boxes=clip)
        for boxes in (MANY_BOXES, CLASS_BOXES)
        for scores in (CLASSES, np.round(CLASSES, 1))
        for n, total, pad, clip in [
            (3, 20, False, True),
            (30, 8, True, False),
            (2, 20, True, True),
            (100, 12, False, False),
        ]
    ),
    combined(MANY_BOXES, CLASSES, 3, 5, least=2.0),
    combined(MANY_BOXES[:, :0], CLASSES[:, :0], 3, 5),
    combined(MANY_BOXES, CLASSES, 0, 5, fails=True),
    combined(MANY_BOXES, CLASSES, 3, 0, fails=True),
    combined(CLASS_BOXES[:, :, :2], CLASSES, 3, 3, fails=True),
    combined(MANY_BOXES, CLASSES, 3, 3, overlap=1.5, fails=True),
    case(
        "NonMaxSuppression",
        f32([1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]),
        f32(1, 2, 3),
        i32(3)[0],
        iou_threshold=0.5,
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_non_max_suppression(c, ways):
    check("non_max_suppression", c, ways)
