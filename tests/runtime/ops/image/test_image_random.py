import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, i32, i64, run, scalar

import tfport

BOXES = f32([[0.1, 0.2, 0.8, 0.9], [0, 0.5, 0.3, 1]])
NONE = np.zeros((1, 0, 4), np.float32)
KINDS = (np.uint8, np.int8, np.int16, np.int32, np.int64)


def covered(value):
    return scalar(value, np.float32)


CASES = [
    *(
        case("SampleDistortedBoundingBox", i32(h, w, 3), BOXES, seed=s, seed2=7, min_object_covered=c)
        for h, w, s, c in (
            (50, 40, 1, 0.1),
            (480, 640, 2, 0.5),
            (7, 300, 3, 0.9),
            (3, 3, 4, 0.1),
            (1, 1, 5, 0.0),
        )
    ),
    *(
        case(
            "SampleDistortedBoundingBoxV2",
            i32(h, w, 3),
            NONE,
            covered(c),
            seed=s,
            seed2=0,
            aspect_ratio_range=list(aspects),
            area_range=list(areas),
            max_attempts=n,
            use_image_if_no_bounding_boxes=True,
        )
        for h, w, s, c, aspects, areas, n in (
            (224, 224, 1, 0.1, (0.75, 1.33), (0.08, 1.0), 10),
            (100, 31, 9, 1.0, (0.5, 2.0), (0.3, 0.6), 3),
            (33, 77, 5, 0.0, (3.0, 4.0), (0.9, 1.0), 100),
        )
    ),
    *(
        case("StatelessSampleDistortedBoundingBox", np.array([90, 70, 3], k), BOXES, covered(0.3), i64(s, 5))
        for k in KINDS
        for s in (1, -3)
    ),
    *(
        case("StatelessSampleDistortedBoundingBox", i32(200, 150, 3), BOXES, covered(0.01), i32(s, s + 1))
        for s in range(12)
    ),
    case("SampleDistortedBoundingBox", i32(50, 40, 3), NONE, seed=1, fails=True),
    case("SampleDistortedBoundingBox", i32(50, 40, 3), BOXES * 2, seed=1, fails=True),
    case("SampleDistortedBoundingBox", i32(50, 40), BOXES, seed=1, fails=True),
    case("SampleDistortedBoundingBox", i32(50, 40, 3), BOXES, seed=1, area_range=[0.5, 2.0], fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_random_windows(c, ways):
    check("image_random", c, ways)


@pytest.mark.parametrize(
    ("seed", "first"),
    [(0, (36, 16, 29)), (1, (37, 27, 2)), (2, (44, 34, 16)), (3, (17, 35, 12)), (4, (32, 2, 1))],
)
def test_random_crops_of_old_graphs(seed, first):
    """Removed from graphs of producer 8 and later; TensorFlow 2.21 ran a graph of producer 7."""
    c = case("RandomCrop", np.arange(72, dtype=np.int32).reshape(9, 8, 1), i64(4, 3), seed=seed, seed2=3)
    graph_def, feeds = c.model("fed")
    session = tfport.Session(tfport.load(graph_def.SerializeToString()), engine="none")
    assert tuple(int(session.run(["node:0"], feeds)[0][0, 0, 0]) for _ in first) == first


def test_a_crop_larger_than_its_image_is_an_error():
    with pytest.raises(tfport.Error):
        run(case("RandomCrop", np.zeros((9, 8, 1), np.int32), i64(10, 3)), "host")
