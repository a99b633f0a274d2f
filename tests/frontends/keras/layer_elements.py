"""The elements of inputs and weights of recorded layers: they follow from their shapes.

The releases of Keras run this file too, under old Pythons.
"""

import zlib

import numpy as np

BATCH, UNKNOWN_SIZE, MASK_VALUE = 3, 5, 0.5


def elements(shape, kind, number):
    """Elements of a weight or input: positive for variances, else between -1 and 1."""
    seed = zlib.crc32(f"{list(shape)} {number}".encode()) & 0x7FFFFFFF
    low, high = (0.2, 1.2) if kind else (-1, 1)
    return np.random.RandomState(seed).uniform(low, high, shape).astype("f")


def kind_of(name):
    """What the name of a weight says about its elements."""
    return "variance" if "variance" in name or "std" in name else ""


def inputs_of(shapes, first_layer):
    """The inputs of a case; before Masking, some steps have the mask value."""
    arrays = []
    for number, shape in enumerate(shapes):
        sizes = [UNKNOWN_SIZE if size is None else size for size in shape]
        array = elements([BATCH, *sizes], "", number) * 2
        if first_layer == "Masking":
            array[0, -1 - number] = array[1, 0] = MASK_VALUE
        arrays.append(array)
    return arrays
