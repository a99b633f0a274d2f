"""Declare the models that each release of Keras saves: a name, how to build it, what to feed.

`layer` declares a model of one layer, `options` one per option of a layer, and `@model` a model
that a function builds. A case runs in every release; one that lacks the class or the argument
skips it. These modules must run on the Pythons of old releases, from 3.6 on.
"""

import inspect

CASES = {}


def family_being_declared():
    """Return the module of `cases` that is being imported."""
    frame = inspect.currentframe()
    while frame and not frame.f_globals["__name__"].startswith("cases."):
        frame = frame.f_back
    return frame.f_globals["__name__"].split(".")[-1] if frame else ""


class Case:
    """A model to save: `build(k)` returns it, made with the Keras `k`."""

    def __init__(
        self, name, build, ints=None, feeds=None, random=True, major=None, weights_file=False, equivalent=None
    ):
        self.name, self.build = name, build
        self.family = family_being_declared()
        self.ints = ints  # integer inputs are below this number
        self.feeds = feeds  # two lists of arrays; random values of the inputs' shapes without it
        self.random = random  # whether weights get random values
        self.major = major  # the major versions of Keras that have it; all from 2 on without it
        self.weights_file = weights_file  # whether the weights and the architecture are also saved apart
        self.equivalent = equivalent  # builds a model with the same weights and answers that runs on a CPU


def model(name, **more):
    """Declare the model that the decorated function builds."""

    def declare(build):
        if name in CASES:
            raise ValueError("two cases are called " + name)
        CASES[name] = Case(name, build, **more)
        return build

    return declare


def layer(name, kind, shape, arguments, dtype=None, **more):
    """Declare a model of an input of this shape and one layer."""

    @model(name, **more)
    def build(k):
        x = k.Input(shape, dtype)
        return k.Model(x, k.layer(kind, **arguments)(x))


def options(kind, shape, common, variants, **more):
    """Declare a model for each variant of the arguments of a layer."""
    for variant, arguments in variants.items():
        shape_here = arguments.pop("shape", shape)
        layer(kind + "_" + variant, kind, shape_here, dict(common, **arguments), **more)


def merging(name, kind, shapes, arguments, **more):
    """Declare a model of several inputs that one layer merges."""

    @model(name, **more)
    def build(k):
        xs = [k.Input(shape) for shape in shapes]
        return k.Model(xs, k.layer(kind, **arguments)(xs))


def channels_first(kind, shape, arguments, variant="channels_first", major=None):
    """Declare a model of a layer in that layout. Where no CPU runs it, one in the other layout answers."""

    def build(k, data_format="channels_first", shape=shape):
        x = k.Input(shape)
        return k.Model(x, k.layer(kind, data_format=data_format, **arguments)(x))

    def equivalent(k):
        return build(k, "channels_last", shape[1:] + shape[:1])

    model(kind + "_" + variant, equivalent=equivalent, major=major)(build)
