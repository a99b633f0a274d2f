"""The classes of Keras before it became a part of TensorFlow: any other class in such a file is custom.

A layer that its author named `LayerNormalization` in 2018 is not the layer that Keras has since 2.4.
"""

from __future__ import annotations

from tfport.keras.config import LayerConfig
from tfport.keras.layer import DeclaredLayer
from tfport.keras.version import KerasVersion

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
BUILT_IN = "tfport.keras.layers"


def is_newer(layer: LayerConfig, declared: DeclaredLayer, version: KerasVersion) -> bool:
    """Whether a class of this name came to Keras after the version that saved the file."""
    is_old = (
        version.text[:1].isdigit() and not version.is_tensorflow and version.numbers < FIRST_IN_TENSORFLOW
    )
    return is_old and layer.class_name not in BEFORE and declared.function.__module__.startswith(BUILT_IN)
