"""Small models of one or a few layers, whose answers real Keras releases gave.

A line is a case: the shapes of its inputs without the batch (`?` for an unknown size), then a chain of
layers, each a class with its options, of which some are layers: `layer=LSTM(units=2)`. With several inputs,
the first of several layers is called on each. A release that has no such class or option is left
out when the answers are recorded (`tests/live/record_keras_layers.py`).
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from typing import Any

Case = tuple[list[list[int | None]], list[tuple[str, dict[str, Any]]]]
"""The shapes of the inputs, and the layers with their options."""

KERAS_2_AND_3 = {
    "recurrent": """
4,3          SimpleRNN units=2
4,3          SimpleRNN units=2 return_sequences=true go_backwards=true activation=relu
?,3          LSTM units=2
4,3          LSTM units=2 return_sequences=true use_bias=false recurrent_activation=hard_sigmoid
4,3          LSTM units=2 go_backwards=true unroll=true
4,3+2+2      LSTM units=2 return_sequences=true
?,3          GRU units=2
4,3          GRU units=2 reset_after=false return_sequences=true
4,3          GRU units=2 reset_after=false recurrent_activation=hard_sigmoid implementation=1
4,3          GRU units=2 reset_after=true use_bias=false activation=relu implementation=2
4,3+2        GRU units=2
4,3          RNN cell=LSTMCell(units=2) return_sequences=true
4,3          RNN cell=[LSTMCell(units=3),GRUCell(units=2)]
4,3          RNN cell=StackedRNNCells(cells=[SimpleRNNCell(units=3),LSTMCell(units=2)]) go_backwards=true
4,3          Bidirectional layer=LSTM(units=2)
4,3          Bidirectional layer=LSTM(units=2,return_sequences=true) merge_mode=sum
4,3          Bidirectional layer=GRU(units=2,return_sequences=true) merge_mode=ave
4,3          Bidirectional layer=SimpleRNN(units=2) merge_mode=mul
4,3          Bidirectional layer=LSTM(units=2) backward_layer=GRU(units=3,go_backwards=true)
4,3          TimeDistributed layer=Dense(units=2)
2,4,3        TimeDistributed layer=LSTM(units=2)
2,4,4,2      TimeDistributed layer=Conv2D(filters=2,kernel_size=3)
4,3          Masking mask_value=0.5 | SimpleRNN units=2
4,3          Masking mask_value=0.5 | LSTM units=2 return_sequences=true
4,3          Masking mask_value=0.5 | LSTM units=2 return_sequences=true unroll=true
4,3          Masking mask_value=0.5 | GRU units=2 return_sequences=true go_backwards=true
4,3          Masking mask_value=0.5 | RNN cell=LSTMCell(units=2) return_sequences=true \
             zero_output_for_mask=true
4,3          Masking mask_value=0.5 | RNN cell=GRUCell(units=2) zero_output_for_mask=true
4,3          Masking mask_value=0.5 | RNN cell=[LSTMCell(units=3),LSTMCell(units=2)] return_sequences=true
4,3          Masking mask_value=0.5 | Bidirectional layer=LSTM(units=2,return_sequences=true)
4,3          Masking mask_value=0.5 | Bidirectional layer=GRU(units=2) merge_mode=sum
4,3          Masking mask_value=0.5 | TimeDistributed layer=Dense(units=2) | LSTM units=2
4,3          Masking mask_value=0.5 | Dropout rate=0.5 | LSTM units=2 return_sequences=true | GRU units=2
3,5,2        ConvLSTM1D filters=2 kernel_size=3
3,4,5,2      ConvLSTM2D filters=2 kernel_size=[2,3] padding=same return_sequences=true
3,4,5,2      ConvLSTM2D filters=2 kernel_size=2 strides=2 recurrent_activation=hard_sigmoid use_bias=false
?,4,5,2      ConvLSTM2D filters=1 kernel_size=2 dilation_rate=2
3,2,4,5      ConvLSTM2D filters=2 kernel_size=2 data_format=channels_first
2,3,3,3,1    ConvLSTM3D filters=1 kernel_size=2 go_backwards=true
""",
    "core": """
4            Dense units=3 activation=relu
?,4          Dense units=3 use_bias=false
2,3,4        Dense units=2 activation=softmax
2,3,4        Flatten
2,3,4        Flatten data_format=channels_first
?,3          Flatten
5            Flatten
4,6          Reshape target_shape=[3,8]
4,6          Reshape target_shape=[2,-1,3]
4,6          Reshape target_shape=[-1]
?,6          Reshape target_shape=[-1,3]
2,3,4        Permute dims=[3,1,2]
4            RepeatVector n=3
4,2          Masking mask_value=0.5
4,2          Masking mask_value=0.5 | GlobalAveragePooling1D
4,2          Masking mask_value=0.5 | Dense units=3 | Dropout rate=0.5 | GlobalAveragePooling1D
4,2          Masking mask_value=0.5 | LayerNormalization | GlobalAveragePooling1D
4,2          Masking mask_value=0.5 | BatchNormalization | GlobalAveragePooling1D
4,2          Masking mask_value=0.5 | Softmax
4,2          Masking mask_value=0.5 | Conv1D filters=3 kernel_size=2 padding=same | GlobalAveragePooling1D
4,2          ActivityRegularization l1=0.1
4,2          SpatialDropout1D rate=0.5
4,2,2        SpatialDropout2D rate=0.5
4,2,2,2      SpatialDropout3D rate=0.5
4,2          GaussianNoise stddev=0.5
4,2          GaussianDropout rate=0.5
4,2          AlphaDropout rate=0.5
4,2          Identity
4,5          EinsumDense equation=abc,cd->abd output_shape=[null,6] bias_axes=d
4,5          EinsumDense equation=ab...,bc->ac... output_shape=[3,null]
4,5          EinsumDense equation=...x,xy->...y output_shape=6 bias_axes=y activation=relu
4,5          EinsumDense equation=abc,cde->abde output_shape=[null,2,3] bias_axes=de
""",
    "reshaping": """
6,2          Cropping1D cropping=1
6,2          Cropping1D cropping=[2,1]
?,2          Cropping1D cropping=[2,1]
5,6,2        Cropping2D cropping=1
5,6,2        Cropping2D cropping=[1,2]
5,6,2        Cropping2D cropping=[[1,0],[2,1]]
2,5,6        Cropping2D cropping=[[1,0],[2,1]] data_format=channels_first
4,5,6,2      Cropping3D cropping=1
4,5,6,2      Cropping3D cropping=[1,2,1]
4,5,6,2      Cropping3D cropping=[[1,0],[2,1],[0,1]]
2,4,5,6      Cropping3D cropping=[[1,0],[2,1],[0,1]] data_format=channels_first
3,2          ZeroPadding1D padding=1
3,2          ZeroPadding1D padding=[2,1]
2,3          ZeroPadding1D padding=[2,1] data_format=channels_first
2,3,2        ZeroPadding2D padding=1
2,3,2        ZeroPadding2D padding=[1,2]
2,3,2        ZeroPadding2D padding=[[1,0],[2,1]]
2,2,3        ZeroPadding2D padding=[[1,0],[2,1]] data_format=channels_first
2,1,2,2      ZeroPadding3D padding=1
2,1,2,2      ZeroPadding3D padding=[1,0,1]
2,1,2,2      ZeroPadding3D padding=[[1,0],[0,1],[0,1]]
2,2,1,2      ZeroPadding3D padding=[[1,0],[0,1],[0,1]] data_format=channels_first
3,2          UpSampling1D size=3
?,2          UpSampling1D size=2
3,4,1        UpSampling2D size=[2,3]
3,4,1        UpSampling2D size=2 interpolation=bilinear
3,4,1        UpSampling2D size=[3,2] interpolation=bicubic
3,4,1        UpSampling2D size=2 interpolation=lanczos3
3,4,1        UpSampling2D size=2 interpolation=lanczos5
3,4,1        UpSampling2D size=2 interpolation=area
3,4,1        UpSampling2D size=2 interpolation=gaussian
3,4,1        UpSampling2D size=2 interpolation=mitchellcubic
2,3,4        UpSampling2D size=[2,3] data_format=channels_first
2,3,4        UpSampling2D size=2 interpolation=bilinear data_format=channels_first
?,?,2        UpSampling2D size=2 interpolation=bilinear
2,1,2,2      UpSampling3D size=[2,3,1]
2,2,1,2      UpSampling3D size=[2,3,1] data_format=channels_first
""",
    "activations": """
5            Activation activation=linear
5            Activation activation=relu
5            Activation activation=relu6
5            Activation activation=sigmoid
5            Activation activation=tanh
5            Activation activation=exponential
5            Activation activation=softplus
5            Activation activation=softsign
5            Activation activation=elu
5            Activation activation=selu
5            Activation activation=hard_sigmoid
5            Activation activation=softmax
5            Activation activation=gelu
5            Activation activation=swish
5            Activation activation=silu
5            Activation activation=mish
5            Activation activation=leaky_relu
5            Activation activation=log_softmax
5            Activation activation=hard_silu
5            Activation activation=hard_swish
5            Activation activation=celu
5            Activation activation=squareplus
5            Activation activation=sparse_plus
5            Activation activation=sparse_sigmoid
5            Activation activation=soft_shrink
5            Activation activation=hard_shrink
5            Activation activation=tanh_shrink
5            Activation activation=hard_tanh
5            Activation activation=log_sigmoid
5            Activation activation=sparsemax
6            Activation activation=glu
2,3,4        Activation activation=softmax
2,3,4        Activation activation=log_softmax
2,3,4        Activation activation=sparsemax
5,2          ReLU
5,2          ReLU max_value=0.5
5,2          ReLU negative_slope=0.1
5,2          ReLU threshold=0.3
5,2          ReLU max_value=6
5,2          ReLU max_value=0.6 negative_slope=0.2 threshold=0.25
5,2          ReLU negative_slope=0.2 threshold=0.25
5,2          LeakyReLU
5,2          LeakyReLU alpha=0.1
5,2          LeakyReLU negative_slope=0.1
3,2          PReLU
3,2          PReLU shared_axes=[1]
3,2          PReLU shared_axes=2
5,2          ELU
5,2          ELU alpha=0.3
5,2          ThresholdedReLU
5,2          ThresholdedReLU theta=0.3
3,2,2        Softmax
3,2,2        Softmax axis=1
3,2,2        Softmax axis=[1,2]
3,2,2        Softmax axis=[2]
""",
    "convolution": """
7,2          Conv1D filters=3 kernel_size=3
7,2          Conv1D filters=3 kernel_size=3 padding=same strides=2
7,2          Conv1D filters=3 kernel_size=3 padding=causal
7,2          Conv1D filters=3 kernel_size=2 padding=causal dilation_rate=2 use_bias=false
7,2          Conv1D filters=3 kernel_size=3 padding=causal strides=2
7,2          Conv1D filters=4 kernel_size=2 groups=2 activation=relu
7,2          Conv1D filters=2 kernel_size=3 padding=same dilation_rate=2
?,2          Conv1D filters=3 kernel_size=4 padding=same
2,7          Conv1D filters=3 kernel_size=3 padding=same data_format=channels_first
5,6,2        Conv2D filters=3 kernel_size=[3,2]
5,6,2        Conv2D filters=3 kernel_size=[3,2] padding=same strides=2
5,6,2        Conv2D filters=3 kernel_size=[3,2] padding=same strides=[1,2] activation=tanh
5,6,2        Conv2D filters=3 kernel_size=[3,2] dilation_rate=2
5,6,2        Conv2D filters=3 kernel_size=[3,2] dilation_rate=[1,2] padding=same use_bias=false
5,6,2        Conv2D filters=4 kernel_size=[3,2] groups=2
3,7,2        Conv1D filters=3 kernel_size=3 padding=same
3,?,6,2      Conv2D filters=3 kernel_size=[3,2] strides=2 padding=same
?,?,2        Conv2D filters=3 kernel_size=[3,2] padding=same strides=2
2,5,6        Conv2D filters=3 kernel_size=[3,2] data_format=channels_first
2,5,6        Conv2D filters=3 kernel_size=[3,2] data_format=channels_first padding=same strides=2
2,5,6        Conv2D filters=4 kernel_size=[3,2] data_format=channels_first groups=2
3,4,5,2      Conv3D filters=3 kernel_size=2
3,4,5,2      Conv3D filters=3 kernel_size=[3,2,1] padding=same strides=2
3,4,5,2      Conv3D filters=2 kernel_size=2 dilation_rate=2
3,4,5,2      Conv3D filters=4 kernel_size=2 groups=2 activation=relu
2,3,4,5      Conv3D filters=3 kernel_size=2 data_format=channels_first
4,2          Conv1DTranspose filters=3 kernel_size=3
4,2          Conv1DTranspose filters=3 kernel_size=3 strides=2 padding=same
4,2          Conv1DTranspose filters=3 kernel_size=3 strides=2 output_padding=1
4,2          Conv1DTranspose filters=3 kernel_size=2 strides=3
4,2          Conv1DTranspose filters=3 kernel_size=3 dilation_rate=2
2,4          Conv1DTranspose filters=3 kernel_size=3 strides=2 data_format=channels_first
3,4,2        Conv2DTranspose filters=3 kernel_size=[3,2]
3,4,2        Conv2DTranspose filters=3 kernel_size=[3,2] strides=2 padding=same
3,4,2        Conv2DTranspose filters=3 kernel_size=[3,2] strides=[2,3] activation=relu
3,4,2        Conv2DTranspose filters=3 kernel_size=[3,2] strides=2 padding=same output_padding=1
3,4,2        Conv2DTranspose filters=3 kernel_size=[3,2] strides=2 output_padding=[1,0]
3,4,2        Conv2DTranspose filters=3 kernel_size=[3,2] dilation_rate=2
3,4,2        Conv2DTranspose filters=3 kernel_size=1 strides=2
3,4,2        Conv2DTranspose filters=3 kernel_size=2 strides=3 padding=same use_bias=false
?,?,2        Conv2DTranspose filters=3 kernel_size=[3,2] strides=2 padding=same
2,3,4        Conv2DTranspose filters=3 kernel_size=[3,2] strides=2 padding=same data_format=channels_first
2,3,2,2      Conv3DTranspose filters=3 kernel_size=2
2,3,2,2      Conv3DTranspose filters=3 kernel_size=3 strides=2 padding=same
2,3,2,2      Conv3DTranspose filters=3 kernel_size=3 strides=2 output_padding=1
2,2,3,2      Conv3DTranspose filters=3 kernel_size=2 data_format=channels_first
6,2          SeparableConv1D filters=3 kernel_size=3
6,2          SeparableConv1D filters=3 kernel_size=3 padding=same strides=2 depth_multiplier=2
6,2          SeparableConv1D filters=3 kernel_size=2 padding=causal dilation_rate=2
2,6          SeparableConv1D filters=3 kernel_size=3 data_format=channels_first
5,6,2        SeparableConv2D filters=3 kernel_size=[3,2]
5,6,2        SeparableConv2D filters=3 kernel_size=[3,2] padding=same strides=2 depth_multiplier=2
5,6,2        SeparableConv2D filters=3 kernel_size=[3,2] dilation_rate=2 activation=relu
5,6,2        SeparableConv2D filters=3 kernel_size=[3,2] use_bias=false
2,5,6        SeparableConv2D filters=3 kernel_size=[3,2] data_format=channels_first
6,2          DepthwiseConv1D kernel_size=3
6,2          DepthwiseConv1D kernel_size=3 padding=same strides=2 depth_multiplier=3
2,6          DepthwiseConv1D kernel_size=3 data_format=channels_first
5,6,2        DepthwiseConv2D kernel_size=[3,2]
5,6,2        DepthwiseConv2D kernel_size=3 padding=same strides=2 depth_multiplier=2
5,6,2        DepthwiseConv2D kernel_size=2 dilation_rate=2 use_bias=false
5,6,2        DepthwiseConv2D kernel_size=2 dilation_rate=2 padding=same activation=relu
2,5,6        DepthwiseConv2D kernel_size=3 depth_multiplier=2 data_format=channels_first
6,2          LocallyConnected1D filters=3 kernel_size=3
6,2          LocallyConnected1D filters=3 kernel_size=3 implementation=2 strides=2
6,2          LocallyConnected1D filters=3 kernel_size=3 implementation=3 padding=same
6,2          LocallyConnected1D filters=3 kernel_size=3 implementation=2 padding=same use_bias=false
2,6          LocallyConnected1D filters=3 kernel_size=3 data_format=channels_first
2,6          LocallyConnected1D filters=3 kernel_size=3 implementation=2 data_format=channels_first
2,6          LocallyConnected1D filters=3 kernel_size=3 implementation=3 data_format=channels_first
4,5,2        LocallyConnected2D filters=3 kernel_size=[3,2]
4,5,2        LocallyConnected2D filters=3 kernel_size=[3,2] strides=2 activation=relu
4,5,2        LocallyConnected2D filters=3 kernel_size=[3,2] implementation=2 padding=same
4,5,2        LocallyConnected2D filters=3 kernel_size=[3,2] implementation=3 padding=same strides=[1,2]
4,5,2        LocallyConnected2D filters=3 kernel_size=[3,2] implementation=2
2,4,5        LocallyConnected2D filters=3 kernel_size=[3,2] data_format=channels_first
2,4,5        LocallyConnected2D filters=3 kernel_size=[3,2] implementation=2 data_format=channels_first
2,4,5        LocallyConnected2D filters=3 kernel_size=[3,2] implementation=3 data_format=channels_first
""",
    "pooling": """
7,2          MaxPooling1D pool_size=2
7,2          MaxPooling1D pool_size=3 strides=2 padding=same
2,7          MaxPooling1D pool_size=3 data_format=channels_first
?,2          MaxPooling1D pool_size=3 padding=same
5,6,2        MaxPooling2D pool_size=2
5,6,2        MaxPooling2D pool_size=[3,2] strides=[1,2] padding=same
2,5,6        MaxPooling2D pool_size=3 strides=2 data_format=channels_first
4,3,5,2      MaxPooling3D pool_size=2
4,3,5,2      MaxPooling3D pool_size=3 strides=2 padding=same
2,4,3,5      MaxPooling3D pool_size=2 strides=1 data_format=channels_first
7,2          AveragePooling1D pool_size=2
7,2          AveragePooling1D pool_size=3 strides=2 padding=same
2,7          AveragePooling1D pool_size=3 data_format=channels_first
?,2          AveragePooling1D pool_size=3 padding=same
5,6,2        AveragePooling2D pool_size=2
5,6,2        AveragePooling2D pool_size=[3,2] strides=[1,2] padding=same
2,5,6        AveragePooling2D pool_size=3 strides=2 data_format=channels_first
4,3,5,2      AveragePooling3D pool_size=2
4,3,5,2      AveragePooling3D pool_size=3 strides=2 padding=same
2,4,3,5      AveragePooling3D pool_size=2 strides=1 data_format=channels_first
7,2          GlobalMaxPooling1D
7,2          GlobalMaxPooling1D keepdims=true
2,7          GlobalMaxPooling1D data_format=channels_first
5,6,2        GlobalMaxPooling2D
2,5,6        GlobalMaxPooling2D keepdims=true data_format=channels_first
4,3,5,2      GlobalMaxPooling3D
2,4,3,5      GlobalMaxPooling3D data_format=channels_first
2,4,3,5      GlobalMaxPooling3D keepdims=true data_format=channels_first
7,2          GlobalAveragePooling1D
7,2          GlobalAveragePooling1D keepdims=true
2,7          GlobalAveragePooling1D data_format=channels_first
5,6,2        GlobalAveragePooling2D
2,5,6        GlobalAveragePooling2D keepdims=true data_format=channels_first
4,3,5,2      GlobalAveragePooling3D
2,4,3,5      GlobalAveragePooling3D data_format=channels_first
2,4,3,5      GlobalAveragePooling3D keepdims=true data_format=channels_first
7,2          AdaptiveMaxPooling1D output_size=3
5,7,2        AdaptiveMaxPooling2D output_size=[3,4]
2,5,7        AdaptiveMaxPooling2D output_size=2 data_format=channels_first
4,3,5,2      AdaptiveMaxPooling3D output_size=[2,3,2]
7,2          AdaptiveAveragePooling1D output_size=3
5,7,2        AdaptiveAveragePooling2D output_size=[3,4]
2,5,7        AdaptiveAveragePooling2D output_size=2 data_format=channels_first
4,3,5,2      AdaptiveAveragePooling3D output_size=[2,3,2]
4,2          Masking mask_value=0.5 | GlobalAveragePooling1D keepdims=true
4,2          Masking mask_value=0.5 | GlobalMaxPooling1D
2,3          Masking mask_value=0.5 | GlobalAveragePooling1D data_format=channels_first
""",
    "normalization": """
5,6,3        BatchNormalization
5,6,3        BatchNormalization axis=1
5,6,3        BatchNormalization axis=[3]
5,6,3        BatchNormalization axis=[1,3]
5,6,3        BatchNormalization scale=false
5,6,3        BatchNormalization center=false epsilon=0.1
5,6,3        BatchNormalization scale=false center=false
5,6,3        BatchNormalization renorm=true
5,6,3        BatchNormalization fused=false
5,6,3        BatchNormalization axis=2
4,3          BatchNormalization
4,3          BatchNormalization axis=1
3            BatchNormalization
2,3,2,3      BatchNormalization
3,4          SyncBatchNormalization
4,3          LayerNormalization
4,3          LayerNormalization axis=1
4,3          LayerNormalization axis=[1,2]
4,3          LayerNormalization axis=[-1] epsilon=0.1 center=false
4,3          LayerNormalization scale=false
4,3          LayerNormalization rms_scaling=true
4,3          LayerNormalization epsilon=1e-06
4,3          LayerNormalization axis=[2,1]
2,3,4        LayerNormalization
2,3,4        LayerNormalization axis=[1,3]
2,3,4        LayerNormalization axis=2
3,4          GroupNormalization groups=2
3,4          GroupNormalization groups=-1
3,4          GroupNormalization groups=3 axis=1
3,4          GroupNormalization groups=1 scale=false epsilon=0.1
3,2,4        GroupNormalization groups=2
3,2,4        GroupNormalization groups=2 axis=2 center=false
?,4          GroupNormalization groups=2
3,4          RMSNormalization
3,4          RMSNormalization axis=1
3,4          RMSNormalization epsilon=0.1
3,4          RMSNormalization axis=[1,2]
3,4          UnitNormalization
3,4          UnitNormalization axis=1
3,4          UnitNormalization axis=[1,2]
""",
    "contrast": """
6,5,3        AutoContrast
6,5,3        AutoContrast value_range=[-1,1]
3,6,5        AutoContrast value_range=[0,1] data_format=channels_first
6,5,3        ContrastLimitedAdaptiveHistogramEqualization value_range=[0,1]
6,4,3        ContrastLimitedAdaptiveHistogramEqualization value_range=[-1,1] tile_grid_size=[2,2]
7,5,2        ContrastLimitedAdaptiveHistogramEqualization value_range=[0,1] tile_grid_size=[2,3] \
             clip_limit=0.0
9,8,1        ContrastLimitedAdaptiveHistogramEqualization value_range=[0,2] tile_grid_size=[3,2] \
             clip_limit=70.0
2,7,5        ContrastLimitedAdaptiveHistogramEqualization value_range=[0,1] data_format=channels_first
""",
    "merging": """
3,4 + 3,4    Add
3,4 + 3,4    Subtract
3,4 + 3,4    Multiply
3,4 + 3,4    Average
3,4 + 3,4    Maximum
3,4 + 3,4    Minimum
3,4 + 3,4    Concatenate
3,4 + 3,4 + 3,4 Add
3,4 + 3,4 + 3,4 Multiply
3,4 + 3,4 + 3,4 Average
3,4 + 3,4 + 3,4 Maximum
3,4 + 3,4 + 3,4 Minimum
3,4 + 4      Add
3,4 + 4      Subtract
3,4 + 4      Multiply
3,4 + 4      Average
3,4 + 4      Maximum
3,4 + 1,4    Add
3,4 + 1,4    Multiply
2,3,4 + 4 + 3,1 Add
2,3,4 + 4 + 3,1 Multiply
3,4 + 2,4 + 1,4 Concatenate axis=1
3,4 + 3,2    Concatenate axis=2
?,4 + ?,2    Concatenate axis=-1
3,4 + 3,4    Dot axes=1
3,4 + 3,4    Dot axes=2
3,4 + 3,4    Dot axes=-1
3,4 + 3,4    Dot axes=[2,2] normalize=true
3,4 + 4,2    Dot axes=[2,1]
4 + 4        Dot axes=1
4 + 4        Dot axes=-1 normalize=true
3,4 + 4      Dot axes=[2,1]
4 + 3,4      Dot axes=[1,2]
2,3,4 + 4,5  Dot axes=[3,1]
2,3,4 + 2,4,3 Dot axes=[2,3]
3,4 + 3,4    Masking mask_value=0.5 | Add | GlobalAveragePooling1D
3,4 + 3,4    Masking mask_value=0.5 | Multiply | GlobalAveragePooling1D
3,4 + 3,4    Masking mask_value=0.5 | Maximum | GlobalAveragePooling1D
3,4 + 3,4    Masking mask_value=0.5 | Average | GlobalAveragePooling1D
3,4 + 3,4    Masking mask_value=0.5 | Concatenate | GlobalAveragePooling1D
3,4 + 3,4    Masking mask_value=0.5 | Concatenate axis=1 | GlobalAveragePooling1D
""",
}
KERAS_1 = {
    "recurrent": """
4,3          SimpleRNN output_dim=2
4,3          LSTM output_dim=2
4,3          LSTM output_dim=2 return_sequences=true consume_less=gpu inner_activation=sigmoid
4,3          LSTM output_dim=2 go_backwards=true consume_less=mem
4,3          GRU output_dim=2 return_sequences=true
4,3          GRU output_dim=2 consume_less=gpu activation=relu
4,3          Bidirectional layer=LSTM(output_dim=2)
4,3          Bidirectional layer=GRU(output_dim=2,return_sequences=true) merge_mode=ave
4,3          TimeDistributed layer=Dense(output_dim=2)
4,3          Masking mask_value=0.5 | LSTM output_dim=2 return_sequences=true
4,3          Masking mask_value=0.5 | GRU output_dim=2 unroll=true return_sequences=true
4,3          Masking mask_value=0.5 | Bidirectional layer=GRU(output_dim=2,return_sequences=true)
3,4,5,2      ConvLSTM2D nb_filter=2 nb_row=2 nb_col=3 dim_ordering=tf border_mode=same
""",
    "core": """
4            Dense output_dim=3 activation=relu
?,4          Dense output_dim=3 bias=false
4            MaxoutDense output_dim=3 nb_feature=2
4            MaxoutDense output_dim=3 nb_feature=2 bias=false
4            Highway activation=tanh
4            Highway bias=false
2,3,4        Flatten
4,6          Reshape target_shape=[2,-1,3]
2,3,4        Permute dims=[3,1,2]
4            RepeatVector n=3
4,2          Masking mask_value=0.5
4,2          Dropout p=0.5
4,2          SpatialDropout1D p=0.5
4,2,2        SpatialDropout2D p=0.5 dim_ordering=th
4,2          GaussianNoise sigma=0.5
4,2          GaussianDropout p=0.5
4,2          TimeDistributedDense output_dim=3
""",
    "reshaping": """
6,2          Cropping1D cropping=[2,1]
5,6,2        Cropping2D cropping=[[1,0],[2,1]] dim_ordering=tf | GlobalMaxPooling2D dim_ordering=tf
2,5,6        Cropping2D cropping=[[1,0],[2,1]] dim_ordering=th | GlobalMaxPooling2D dim_ordering=th
4,5,6,2      Cropping3D cropping=[[1,0],[2,1],[0,1]] dim_ordering=tf | GlobalMaxPooling3D dim_ordering=tf
3,2          ZeroPadding1D padding=1
3,2          ZeroPadding1D padding=[2,1]
2,3,2        ZeroPadding2D padding=[1,2] dim_ordering=tf | GlobalMaxPooling2D dim_ordering=tf
2,2,3        ZeroPadding2D padding=[1,2] dim_ordering=th | GlobalMaxPooling2D dim_ordering=th
2,2,3        ZeroPadding2D padding=[1,0,2,1] dim_ordering=th | GlobalMaxPooling2D dim_ordering=th
2,1,2,2      ZeroPadding3D padding=[1,0,1] dim_ordering=tf | GlobalMaxPooling3D dim_ordering=tf
2,2,1,2      ZeroPadding3D padding=[1,0,1] dim_ordering=th | GlobalMaxPooling3D dim_ordering=th
3,2          UpSampling1D length=3
3,4,1        UpSampling2D size=[2,3] dim_ordering=tf | GlobalMaxPooling2D dim_ordering=tf
2,3,4        UpSampling2D size=[2,3] dim_ordering=th | GlobalMaxPooling2D dim_ordering=th
2,1,2,2      UpSampling3D size=[2,3,1] dim_ordering=tf | GlobalMaxPooling3D dim_ordering=tf
""",
    "activations": """
5            Activation activation=relu
5            Activation activation=sigmoid
5            Activation activation=tanh
5            Activation activation=softplus
5            Activation activation=softsign
5            Activation activation=elu
5            Activation activation=hard_sigmoid
5            Activation activation=softmax
3,4          Activation activation=softmax
5,2          LeakyReLU
5,2          LeakyReLU alpha=0.1
3,2          PReLU
5,2          ELU alpha=0.3
5,2          ThresholdedReLU theta=0.3
3,2          ParametricSoftplus
3,2          SReLU
""",
    "convolution": """
7,2          Convolution1D nb_filter=3 filter_length=3
7,2          Convolution1D nb_filter=3 filter_length=3 border_mode=same subsample_length=2 bias=false
7,2          AtrousConvolution1D nb_filter=3 filter_length=3 atrous_rate=2
5,6,2        Convolution2D nb_filter=3 nb_row=3 nb_col=2 dim_ordering=tf
5,6,2        Convolution2D nb_filter=3 nb_row=3 nb_col=2 dim_ordering=tf border_mode=same subsample=[2,2]
2,5,6        Convolution2D nb_filter=3 nb_row=3 nb_col=2 dim_ordering=th activation=relu
2,5,6        Convolution2D nb_filter=3 nb_row=3 nb_col=3 dim_ordering=th border_mode=same subsample=[2,1]
5,6,2        AtrousConvolution2D nb_filter=3 nb_row=2 nb_col=2 dim_ordering=tf atrous_rate=[2,2]
2,5,6        AtrousConvolution2D nb_filter=3 nb_row=2 nb_col=2 dim_ordering=th atrous_rate=[2,2]
3,4,2        Deconvolution2D nb_filter=3 nb_row=3 nb_col=2 output_shape=[null,5,5,3] dim_ordering=tf
3,4,2        Deconvolution2D nb_filter=3 nb_row=3 nb_col=3 output_shape=[null,6,8,3] dim_ordering=tf \
             subsample=[2,2] border_mode=same
2,3,4        Deconvolution2D nb_filter=3 nb_row=3 nb_col=3 output_shape=[null,3,5,7] dim_ordering=th \
             subsample=[2,2] border_mode=same
5,6,2        SeparableConvolution2D nb_filter=3 nb_row=3 nb_col=2 dim_ordering=tf depth_multiplier=2
2,5,6        SeparableConvolution2D nb_filter=3 nb_row=3 nb_col=2 dim_ordering=th
3,4,5,2      Convolution3D nb_filter=3 kernel_dim1=2 kernel_dim2=3 kernel_dim3=2 dim_ordering=tf
2,3,4,5      Convolution3D nb_filter=3 kernel_dim1=2 kernel_dim2=3 kernel_dim3=2 dim_ordering=th
6,2          LocallyConnected1D nb_filter=3 filter_length=3 subsample_length=2
4,5,2        LocallyConnected2D nb_filter=3 nb_row=3 nb_col=2 dim_ordering=tf
2,4,5        LocallyConnected2D nb_filter=3 nb_row=3 nb_col=2 dim_ordering=th
""",
    "pooling": """
7,2          MaxPooling1D
7,2          AveragePooling1D pool_length=3 stride=2 border_mode=same
5,6,2        MaxPooling2D dim_ordering=tf
2,5,6        MaxPooling2D pool_size=[3,2] strides=[1,2] border_mode=same dim_ordering=th
5,6,2        AveragePooling2D pool_size=[3,2] strides=[1,2] border_mode=same dim_ordering=tf
4,3,5,2      MaxPooling3D dim_ordering=tf
2,4,3,5      AveragePooling3D pool_size=[2,2,2] strides=[1,1,1] dim_ordering=th
7,2          GlobalMaxPooling1D
7,2          GlobalAveragePooling1D
5,6,2        GlobalMaxPooling2D dim_ordering=tf
2,5,6        GlobalAveragePooling2D dim_ordering=th
2,4,3,5      GlobalAveragePooling3D dim_ordering=th
""",
    "normalization": """
5,6,3        BatchNormalization
3,5,6        BatchNormalization axis=1
4,3          BatchNormalization epsilon=0.1
3            BatchNormalization mode=1
3            BatchNormalization mode=2
""",
    "merging": """
3,4 + 3,4    Merge mode=sum
3,4 + 3,4    Merge mode=mul
3,4 + 3,4    Merge mode=ave
3,4 + 3,4    Merge mode=max
3,4 + 3,4    Merge mode=concat
3,4 + 2,4    Merge mode=concat concat_axis=1
4 + 4        Merge mode=dot
4 + 4        Merge mode=cos
3,4 + 3,4    Merge mode=dot dot_axes=[2,2]
3,4 + 3,4    Merge mode=dot dot_axes=1
3,4 + 3,4 + 3,4 Merge mode=sum
""",
}
FAMILIES = sorted({*KERAS_2_AND_3, *KERAS_1})


@cache
def named_cases(major: int) -> dict[str, Case]:
    """The cases of a major version of Keras by name: the family and the line."""
    return {
        f"{family}: {' '.join(line.split())}": parsed(line)
        for family, lines in (KERAS_1 if major == 1 else KERAS_2_AND_3).items()
        for line in lines.strip().splitlines()
    }


def parsed(line: str) -> Case:
    shapes, layers = re.fullmatch(r"([\d,?+ ]+?) +([A-Z].*)", line.strip()).groups()
    return [_shape(text) for text in shapes.split("+")], [_layer(text) for text in layers.split(" | ")]


def _shape(text: str) -> list[int | None]:
    return [None if size == "?" else int(size) for size in text.strip().split(",")]


def _layer(text: str) -> tuple[str, dict[str, Any]]:
    name, *options = text.split()
    return name, {key: _value(value) for key, _, value in (option.partition("=") for option in options)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _plain(ast.parse(text, mode="eval").body) if "(" in text else text


def _plain(node: ast.expr) -> Any:
    """`LSTM(units=2)` as wrappers store it, alone or in a list."""
    if isinstance(node, ast.List):
        return [_plain(element) for element in node.elts]
    if not isinstance(node, ast.Call):
        return _value(ast.unparse(node))
    options = {keyword.arg: _plain(keyword.value) for keyword in node.keywords}
    return {"class_name": ast.unparse(node.func), "config": options}
