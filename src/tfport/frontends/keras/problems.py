"""What tfport does not build in a model: classes and options of all layers at once, wrapped ones too.

A class that came to Keras after the version that saved the file is custom, also under the same name: a layer
that its author named `LayerNormalization` in 2018 is not the one that Keras has since 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.errors import Error
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import INPUT_LAYER, LayerConfig, ModelConfig, layer_config
from tfport.frontends.keras.layer import TF_FUNCTION, DeclaredLayer, catalog_name, find_layer, options_of
from tfport.frontends.keras.version import KerasVersion

LAMBDA, STACKED_CELLS = "Lambda", "StackedRNNCells"
CELLS = ("cell", "cells")
"""Options that hold what a recurrent layer runs at each step."""


def problems_of(model: ModelConfig, where: str, version: KerasVersion) -> list[str]:
    """A sentence part for each class and option that tfport does not build, without repetitions."""
    return list(dict.fromkeys(_in_model(model, where, version)))


def unknown_class(layer: LayerConfig) -> str:
    """Why a layer without a declaration is not built, and what to do."""
    if (name := catalog_name(layer)).startswith(TF_FUNCTION):
        return f"layer `{layer.name}` calls `{name}`, which tfport does not build"
    if layer.class_name == LAMBDA:
        return (
            f"layer `{layer.name}` is a Lambda, whose Python code tfport never runs; declare what it "
            f'computes with `@tfport.layer(name="{layer.name}")`'
        )
    return (
        f"layer `{layer.name}` is of the class `{layer.class_name}`, which tfport does not know; declare it "
        f'with `@tfport.layer("{layer.class_name}")`'
    )


def _in_model(model: ModelConfig, where: str, version: KerasVersion) -> Iterator[str]:
    for layer in model.layers:
        yield from _in_layer(layer, where, version)


def _in_layer(layer: LayerConfig, where: str, version: KerasVersion) -> Iterator[str]:
    if layer.model is not None:
        yield from _in_model(layer.model, where, version)
        return
    if layer.class_name == INPUT_LAYER:
        return
    declared = find_layer(layer)
    if declared is None:
        yield unknown_class(layer)
        return
    if is_newer(layer, declared, version):
        yield (
            f"layer `{layer.name}` is of the class `{layer.class_name}`, which Keras {version} did not have, "
            f'so it is custom; declare it with `@tfport.layer("{layer.class_name}")`'
        )
        return
    for problem in options_of(declared, layer.config)[1]:
        yield f"layer `{layer.name}` ({layer.class_name}): {problem}"
    for option in declared.wraps:
        for inner in _wrapped(layer.config.get(option), where):
            if option in CELLS and find_layer(inner) is None:
                yield unknown_cell(layer, inner.class_name)
            else:
                yield from _in_layer(inner, where, version)


def unknown_cell(layer: LayerConfig, class_name: str) -> str:
    """Why a recurrent layer with a cell of this class is not built."""
    return (
        f"layer `{layer.name}` ({layer.class_name}): its cell is of the class `{class_name}`, "
        f'which tfport does not know; declare it with `@tfport.layer("{class_name}", state_size=[...])`'
    )


def _wrapped(stored: Json, where: str) -> Iterator[LayerConfig]:
    """The layers that an option holds; what is no layer is reported when it is built."""
    if isinstance(stored, list):
        for entry in stored:
            yield from _wrapped(entry, where)
        return
    try:
        layer = layer_config(stored, where)
    except Error:
        return
    if layer.class_name == STACKED_CELLS:
        yield from _wrapped(layer.config.get("cells"), where)
    else:
        yield layer


# The classes that each version of Keras had

FIRST_IN_TENSORFLOW = (2, 4)
BEFORE = frozenset(
    """
    Activation ActivityRegularization Add AlphaDropout AtrousConv1D AtrousConv2D AtrousConvolution1D
    AtrousConvolution2D AutoEncoder Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D
    AvgPool2D AvgPool3D BatchNormalization Bidirectional Concatenate Container Conv1D Conv2D
    Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM2D ConvLSTM2DCell ConvRNN2D ConvRecurrent2D
    Convolution1D Convolution2D Convolution2DTranspose Convolution3D Cropping1D Cropping2D Cropping3D
    CuDNNGRU CuDNNLSTM Deconv2D Deconv3D Deconvolution2D Deconvolution3D Dense DepthwiseConv2D Dot
    Dropout ELU Embedding Flatten GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D
    GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D
    GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D
    GlobalMaxPooling3D Graph Highway InputLayer LRN2D LSTM LSTMCell Lambda LambdaMerge Layer LeakyReLU
    LocallyConnected1D LocallyConnected2D MaskedLambda MaskedLayer Masking MaxPool1D MaxPool2D MaxPool3D
    MaxPooling1D MaxPooling2D MaxPooling3D Maximum MaxoutDense Merge Minimum Model Multiply Network
    NeuralTuringMachine PReLU ParametricSoftplus Permute RNN ReLU Recurrent RepeatVector Reshape SReLU
    SeparableConv1D SeparableConv2D SeparableConvolution1D SeparableConvolution2D Sequential Siamese
    SiameseHead SimpleRNN SimpleRNNCell Softmax SpatialDropout1D SpatialDropout2D SpatialDropout3D
    StackedRNNCells Subtract ThresholdedLinear ThresholdedReLU TimeDistributed TimeDistributedDense
    TimeDistributedMerge UpSampling1D UpSampling2D UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D
    ZeroPadding3D
    """.split()  # noqa: SIM905
)
"""The layers of keras 0.3 to 2.3.1."""
LATER = {
    (2, 2, 4): """
        AbstractRNNCell AddLoss AddMetric AdditiveAttention Attention BatchNormalizationV1
        BatchNormalizationV2 CategoryCrossing CenterCrop Discretization Hashing LayerNormalization
        Normalization PeepholeLSTMCell
        RandomContrast RandomCrop RandomFlip RandomFourierFeatures RandomHeight RandomRotation
        RandomTranslation RandomWidth RandomZoom Rescaling Resizing SyncBatchNormalization TensorFlowOpLayer
        TextVectorization
    """,
    (2, 4): """
        CategoryEncoding ClassMethod Conv1DTranspose DenseFeatures EinsumDense Functional InstanceMethod
        InstanceProperty IntegerLookup MultiHeadAttention SequenceFeatures SlicingOpLambda StringLookup
        TFOpLambda
    """,
    (2, 6): "ConvLSTM1D ConvLSTM3D",
    (2, 7): "DepthwiseConv1D",
    (2, 8): "HashedCrossing",
    (2, 9): "Convolution1DTranspose RandomBrightness UnitNormalization",
    (2, 11): "GroupNormalization",
    (2, 12): "Identity",
    (2, 13): "SpectralNormalization",
    (3, 0): "GroupedQueryAttention TFSMLayer TorchModuleWrapper",
    (3, 1): "MelSpectrogram",
    (3, 2): "FlaxLayer JaxLayer",
    (3, 6): "AutoContrast Pipeline Solarization",
    (3, 7): "MaxNumBoundingBoxes STFTSpectrogram",
    (3, 8): """
        Equalization MixUp RandAugment RandomColorDegeneration RandomColorJitter RandomGrayscale RandomHue
        RandomPosterization RandomSaturation RandomSharpness RandomShear
    """,
    (3, 9): """
        AugMix CutMix RMSNormalization RandomErasing RandomGaussianBlur RandomInvert RandomPerspective
    """,
    (3, 10): "RandomElasticTransform",
    (3, 12): "ReversibleEmbedding",
    (3, 13): """
        AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D AdaptiveMaxPooling1D
        AdaptiveMaxPooling2D AdaptiveMaxPooling3D
    """,
    (3, 14): "ContrastLimitedAdaptiveHistogramEqualization",
}
"""The layers that came since Keras is a part of TensorFlow, by the first version that a file can state.

TensorFlow 1.13 to 2.2 state 2.2.4, and 2.3 and 2.4 state 2.4.0.
"""
FIRST_VERSION = {name: first for first, names in LATER.items() for name in names.split()}
BUILT_IN = "tfport.frontends.keras.layers"


def is_newer(layer: LayerConfig, declared: DeclaredLayer, version: KerasVersion) -> bool:
    """Whether a class of this name came to Keras after the version that saved the file."""
    if not version.text[:1].isdigit() or not declared.function.__module__.startswith(BUILT_IN):
        return False
    if not version.is_tensorflow and version.numbers < FIRST_IN_TENSORFLOW:
        return layer.class_name not in BEFORE
    return version.numbers < FIRST_VERSION.get(layer.class_name, ())
