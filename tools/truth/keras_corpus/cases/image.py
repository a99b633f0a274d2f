"""Preprocessing of images, audio and numbers."""

from case import layer, options

IMAGE = (5, 6, 3)
options(
    "Rescaling",
    IMAGE,
    {},
    {
        "plain": {"scale": 0.5},
        "offset": {"scale": 1 / 127.5, "offset": -1.0},
        "by_channel": {"scale": [0.5, 1.0, 2.0], "offset": [1.0, 0.0, -1.0]},
    },
)
options(
    "Resizing",
    IMAGE,
    {"height": 4, "width": 7},
    dict(
        {
            name: {"interpolation": name}
            for name in [
                "bilinear",
                "nearest",
                "bicubic",
                "area",
                "lanczos3",
                "lanczos5",
                "gaussian",
                "mitchellcubic",
            ]
        },
        larger={"height": 9, "width": 10},
        crop={"crop_to_aspect_ratio": True},
        pad={"pad_to_aspect_ratio": True},
        open={"shape": (None, None, 3)},
    ),
)
options(
    "CenterCrop",
    IMAGE,
    {},
    {
        "plain": {"height": 3, "width": 4},
        "odd": {"height": 2, "width": 3},
        "larger": {"height": 7, "width": 8},
        "wider": {"height": 3, "width": 8},
    },
)
for name, arguments in {
    "RandomFlip": {},
    "RandomRotation": {"factor": 0.2},
    "RandomZoom": {"height_factor": 0.2},
    "RandomContrast": {"factor": 0.2},
    "RandomCrop": {"height": 3, "width": 4},
    "RandomTranslation": {"height_factor": 0.1, "width_factor": 0.1},
    "RandomHeight": {"factor": 0.2},
    "RandomWidth": {"factor": 0.2},
    "RandomBrightness": {"factor": 0.2},
    "RandomSaturation": {"factor": 0.5},
    "RandomHue": {"factor": 0.2},
    "RandomSharpness": {"factor": 0.2},
    "RandomShear": {"x_factor": 0.2},
    "RandomPosterization": {"factor": 4},
    "RandomColorJitter": {},
    "RandomColorDegeneration": {"factor": 0.2},
    "RandomGrayscale": {"factor": 0.5},
    "RandomErasing": {"factor": 0.5},
    "RandomInvert": {},
    "RandomGaussianBlur": {},
    "RandomPerspective": {},
    "RandomElasticTransform": {},
    "AutoContrast": {},
    "Equalization": {},
    "Solarization": {},
    "AugMix": {},
    "CutMix": {},
    "MixUp": {},
    "RandAugment": {},
    "ContrastLimitedAdaptiveHistogramEqualization": {},
}.items():
    layer(name + "_plain", name, IMAGE, arguments, random=False)
layer(
    "MelSpectrogram_plain",
    "MelSpectrogram",
    (64,),
    {
        "num_mel_bins": 5,
        "fft_length": 16,
        "sequence_stride": 8,
        "sequence_length": 16,
        "sampling_rate": 1000,
        "min_freq": 10,
        "max_freq": 400,
    },
    random=False,
)
options(
    "MelSpectrogram",
    (64,),
    {"num_mel_bins": 5, "fft_length": 16, "sequence_stride": 8, "sampling_rate": 1000, "max_freq": 400},
    {
        "hann": {"window": "hann"},
        "hamming": {"window": "hamming", "power_to_db": False},
        "magnitude": {"mag_exp": 1.0},
    },
    random=False,
)
options(
    "STFTSpectrogram",
    (40, 1),
    {"fft_length": 16, "frame_length": 12, "frame_step": 5},
    {
        "log": {"mode": "log"},
        "magnitude": {"mode": "magnitude"},
        "psd": {"mode": "psd"},
        "real": {"mode": "real"},
        "imag": {"mode": "imag"},
        "angle": {"mode": "angle"},
        "stft": {"mode": "stft"},
        "same": {"mode": "magnitude", "padding": "same"},
        "expanded": {"mode": "magnitude", "expand_dims": True},
        "hamming": {"mode": "magnitude", "window": "hamming"},
        "channels": {"shape": (40, 2), "mode": "magnitude"},
    },
    random=False,
)
options(
    "Discretization",
    (3,),
    {},
    {
        "plain": {"bin_boundaries": [-1.0, 0.0, 1.0]},
        "one_hot": {"bin_boundaries": [-1.0, 0.0, 1.0], "output_mode": "one_hot", "shape": (1,)},
        "multi_hot": {"bin_boundaries": [-1.0, 0.0, 1.0], "output_mode": "multi_hot"},
        "count": {"bin_boundaries": [-1.0, 0.0, 1.0], "output_mode": "count"},
        "old": {"bins": [-1.0, 0.0, 1.0]},
    },
    random=False,
)
