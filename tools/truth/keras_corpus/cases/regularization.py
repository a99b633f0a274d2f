"""Layers that do something in training only."""

from case import layer, options

options(
    "Dropout",
    (3, 2),
    {"rate": 0.5},
    {"plain": {}, "noise_shape": {"noise_shape": (None, 1, 2)}, "seed": {"seed": 3}},
)
for rank, shape in [(1, (3, 2)), (2, (2, 3, 2)), (3, (2, 2, 2, 2))]:
    layer(f"SpatialDropout{rank}D_plain", f"SpatialDropout{rank}D", shape, {"rate": 0.3})
layer("GaussianNoise_plain", "GaussianNoise", (3,), {"stddev": 0.5})
layer("GaussianDropout_plain", "GaussianDropout", (3,), {"rate": 0.5})
layer("AlphaDropout_plain", "AlphaDropout", (3,), {"rate": 0.5})
layer("ActivityRegularization_plain", "ActivityRegularization", (3,), {"l1": 0.1, "l2": 0.2})
layer("RandomFourierFeatures_plain", "RandomFourierFeatures", (3,), {"output_dim": 4})
