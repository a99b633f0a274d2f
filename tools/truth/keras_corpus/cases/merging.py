"""Layers that merge several inputs."""

from case import merging, model

SAME = [(3, 2), (3, 2)]

for kind in ["Add", "Multiply", "Average", "Maximum", "Minimum"]:
    merging(kind + "_plain", kind, SAME, {})
    merging(kind + "_of_three", kind, [*SAME, (3, 2)], {})
    merging(kind + "_broadcast", kind, [(3, 2), (1, 2)], {})
    merging(kind + "_other_rank", kind, [(3, 2), (2,)], {})
merging("Subtract_plain", "Subtract", SAME, {})
merging("Concatenate_plain", "Concatenate", [(3, 2), (3, 4)], {})
merging("Concatenate_axis_1", "Concatenate", [(3, 2), (1, 2)], {"axis": 1})
merging("Concatenate_of_three", "Concatenate", [(2,), (3,), (1,)], {})
merging("Dot_plain", "Dot", [(4,), (4,)], {"axes": 1})
merging("Dot_normalized", "Dot", [(4,), (4,)], {"axes": 1, "normalize": True})
merging("Dot_matrices", "Dot", [(3, 4), (5, 4)], {"axes": 2})
merging("Dot_matrices_axis_1", "Dot", [(3, 4), (3, 2)], {"axes": 1})
merging("Dot_different_axes", "Dot", [(3, 4), (2, 3)], {"axes": (1, 2), "normalize": True})
merging("Dot_negative", "Dot", [(3, 4), (2, 4)], {"axes": -1})


@model("merged_by_functions")
def functions(k):
    x, y = k.Input((3,)), k.Input((3,))
    sums = k.layers.add([x, y])
    return k.Model(
        [x, y], k.layers.concatenate([sums, k.layers.multiply([x, y]), k.layers.maximum([x, sums])])
    )
