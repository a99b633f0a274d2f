"""The names of TensorFlow 1 in `explain` are those of the real `tf.compat.v1`."""

import tensorflow as tf

from tfport.check.explain.packages import compat_v1_names


def test_names_are_those_that_tensorflow_2_has_only_in_compat_v1():
    only_v1 = set(dir(tf.compat.v1)) - set(dir(tf))
    assert {name for name in only_v1 if not name.startswith("_")} == compat_v1_names()
