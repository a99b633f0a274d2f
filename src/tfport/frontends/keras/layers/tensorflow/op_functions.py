"""Functions of TensorFlow that are nothing else than an op, with the same parameters.

Most are exported with the op itself (`tensorflow/python/ops/gen_*.py` of TensorFlow 2.21); the others are
Python functions that only call it.
"""

from __future__ import annotations

from tfport.frontends.keras.layers.tensorflow.function import op_function, tf_function

FUNCTIONS = {
    "Abs": "abs math.abs",
    "Acos": "acos math.acos",
    "Acosh": "acosh math.acosh compat.v1.acosh compat.v1.math.acosh",
    "Add": "__operators__.add add math.add",
    "ApproxTopK": "approx_top_k compat.v1.approx_top_k",
    "ArgMax": "compat.v1.arg_max",
    "ArgMin": "compat.v1.arg_min",
    "AsString": (
        "as_string strings.as_string compat.v1.as_string compat.v1.dtypes.as_string "
        "compat.v1.strings.as_string"
    ),
    "Asin": "asin math.asin compat.v1.asin compat.v1.math.asin",
    "Asinh": "asinh math.asinh compat.v1.asinh compat.v1.math.asinh",
    "Atan": "atan math.atan compat.v1.atan compat.v1.math.atan",
    "Atan2": "atan2 math.atan2 compat.v1.atan2 compat.v1.math.atan2",
    "Atanh": "atanh math.atanh compat.v1.atanh compat.v1.math.atanh",
    "BatchToSpaceND": "compat.v1.batch_to_space_nd compat.v1.manip.batch_to_space_nd",
    "BesselI0": "math.bessel_i0 math.special.bessel_i0",
    "BesselI0e": "math.bessel_i0e math.special.bessel_i0e",
    "BesselI1": "math.bessel_i1 math.special.bessel_i1",
    "BesselI1e": "math.bessel_i1e math.special.bessel_i1e",
    "BesselJ0": "math.special.bessel_j0",
    "BesselJ1": "math.special.bessel_j1",
    "BesselK0": "math.special.bessel_k0",
    "BesselK0e": "math.special.bessel_k0e",
    "BesselK1": "math.special.bessel_k1",
    "BesselK1e": "math.special.bessel_k1e",
    "BesselY0": "math.special.bessel_y0",
    "BesselY1": "math.special.bessel_y1",
    "Betainc": "math.betainc compat.v1.betainc compat.v1.math.betainc",
    "Bitcast": "bitcast compat.v1.bitcast",
    "BitwiseAnd": "bitwise.bitwise_and compat.v1.bitwise.bitwise_and",
    "BitwiseOr": "bitwise.bitwise_or compat.v1.bitwise.bitwise_or",
    "BitwiseXor": "bitwise.bitwise_xor compat.v1.bitwise.bitwise_xor",
    "BroadcastTo": "compat.v1.broadcast_to",
    "Ceil": "math.ceil compat.v1.ceil",
    "CheckNumerics": "debugging.check_numerics compat.v1.check_numerics compat.v1.debugging.check_numerics",
    "Cholesky": "linalg.cholesky compat.v1.cholesky compat.v1.linalg.cholesky",
    "Conv": "conv compat.v1.conv",
    "Conv2DBackpropFilterV2": "conv2d_backprop_filter_v2 compat.v1.conv2d_backprop_filter_v2",
    "Conv2DBackpropInputV2": "conv2d_backprop_input_v2 compat.v1.conv2d_backprop_input_v2",
    "Conv3DBackpropFilterV2": "compat.v1.nn.conv3d_backprop_filter compat.v1.nn.conv3d_backprop_filter_v2",
    "Cos": "cos math.cos compat.v1.cos compat.v1.math.cos",
    "Cosh": "cosh math.cosh compat.v1.cosh compat.v1.math.cosh",
    "Cross": "linalg.cross compat.v1.cross compat.v1.linalg.cross",
    "Dawsn": "math.special.dawsn",
    "DecodeAndCropJpeg": (
        "image.decode_and_crop_jpeg io.decode_and_crop_jpeg compat.v1.image.decode_and_crop_jpeg "
        "compat.v1.io.decode_and_crop_jpeg"
    ),
    "DecodeBase64": "io.decode_base64 compat.v1.decode_base64 compat.v1.io.decode_base64",
    "DecodeBmp": "image.decode_bmp io.decode_bmp compat.v1.image.decode_bmp compat.v1.io.decode_bmp",
    "DecodeCompressed": "io.decode_compressed compat.v1.decode_compressed compat.v1.io.decode_compressed",
    "DecodeGif": "image.decode_gif io.decode_gif compat.v1.image.decode_gif compat.v1.io.decode_gif",
    "DecodeJpeg": "image.decode_jpeg io.decode_jpeg compat.v1.image.decode_jpeg compat.v1.io.decode_jpeg",
    "DecodeJxl": "image.decode_jxl io.decode_jxl compat.v1.image.decode_jxl compat.v1.io.decode_jxl",
    "DecodePng": "image.decode_png io.decode_png compat.v1.image.decode_png compat.v1.io.decode_png",
    "DecodeProtoV2": "io.decode_proto compat.v1.io.decode_proto",
    "DecodeWav": "audio.decode_wav compat.v1.audio.decode_wav",
    "DecodeWebP": "image.decode_webp io.decode_webp compat.v1.image.decode_webp compat.v1.io.decode_webp",
    "DepthToSpace": "nn.depth_to_space",
    "Diag": "linalg.tensor_diag compat.v1.diag compat.v1.linalg.tensor_diag",
    "Digamma": "math.digamma compat.v1.digamma compat.v1.math.digamma",
    "DivNoNan": "math.divide_no_nan",
    "DynamicPartition": "dynamic_partition compat.v1.dynamic_partition",
    "DynamicStitch": "dynamic_stitch compat.v1.dynamic_stitch",
    "Elu": "nn.elu compat.v1.nn.elu",
    "EncodeBase64": "io.encode_base64 compat.v1.encode_base64 compat.v1.io.encode_base64",
    "EncodeJpeg": "image.encode_jpeg io.encode_jpeg compat.v1.image.encode_jpeg compat.v1.io.encode_jpeg",
    "EncodeProto": "io.encode_proto compat.v1.io.encode_proto",
    "EncodeWav": "audio.encode_wav compat.v1.audio.encode_wav",
    "Equal": "__operators__.eq equal math.equal",
    "Erf": "math.erf compat.v1.erf compat.v1.math.erf",
    "Erfc": "math.erfc compat.v1.erfc compat.v1.math.erfc",
    "Erfinv": "math.erfinv",
    "Exp": "exp math.exp",
    "Expint": "math.special.expint",
    "Expm1": "math.expm1 compat.v1.expm1 compat.v1.math.expm1",
    "ExtractJpegShape": (
        "image.extract_jpeg_shape io.extract_jpeg_shape compat.v1.image.extract_jpeg_shape "
        "compat.v1.io.extract_jpeg_shape"
    ),
    "ExtractVolumePatches": "extract_volume_patches compat.v1.extract_volume_patches",
    "FFT": "signal.fft compat.v1.fft compat.v1.signal.fft compat.v1.spectral.fft",
    "FFT2D": "signal.fft2d compat.v1.fft2d compat.v1.signal.fft2d compat.v1.spectral.fft2d",
    "FFT3D": "signal.fft3d compat.v1.fft3d compat.v1.signal.fft3d compat.v1.spectral.fft3d",
    "FFTND": "fftnd compat.v1.fftnd",
    "FakeQuantWithMinMaxArgs": (
        "quantization.fake_quant_with_min_max_args compat.v1.fake_quant_with_min_max_args "
        "compat.v1.quantization.fake_quant_with_min_max_args"
    ),
    "FakeQuantWithMinMaxArgsGradient": (
        "quantization.fake_quant_with_min_max_args_gradient "
        "compat.v1.fake_quant_with_min_max_args_gradient "
        "compat.v1.quantization.fake_quant_with_min_max_args_gradient"
    ),
    "FakeQuantWithMinMaxVars": (
        "quantization.fake_quant_with_min_max_vars compat.v1.fake_quant_with_min_max_vars "
        "compat.v1.quantization.fake_quant_with_min_max_vars"
    ),
    "FakeQuantWithMinMaxVarsGradient": (
        "quantization.fake_quant_with_min_max_vars_gradient "
        "compat.v1.fake_quant_with_min_max_vars_gradient "
        "compat.v1.quantization.fake_quant_with_min_max_vars_gradient"
    ),
    "FakeQuantWithMinMaxVarsPerChannel": (
        "quantization.fake_quant_with_min_max_vars_per_channel "
        "compat.v1.fake_quant_with_min_max_vars_per_channel "
        "compat.v1.quantization.fake_quant_with_min_max_vars_per_channel"
    ),
    "FakeQuantWithMinMaxVarsPerChannelGradient": (
        "quantization.fake_quant_with_min_max_vars_per_channel_gradient "
        "compat.v1.fake_quant_with_min_max_vars_per_channel_gradient "
        "compat.v1.quantization.fake_quant_with_min_max_vars_per_channel_gradient"
    ),
    "Floor": "floor math.floor",
    "FloorDiv": "floordiv math.floordiv compat.v1.floor_div compat.v1.floordiv",
    "FloorMod": (
        "math.floormod math.mod compat.v1.floormod compat.v1.math.floormod compat.v1.math.mod "
        "compat.v1.mod"
    ),
    "FresnelCos": "math.special.fresnel_cos",
    "FresnelSin": "math.special.fresnel_sin",
    "Greater": "greater math.greater compat.v1.greater compat.v1.math.greater",
    "GreaterEqual": "greater_equal math.greater_equal compat.v1.greater_equal compat.v1.math.greater_equal",
    "HSVToRGB": "image.hsv_to_rgb compat.v1.image.hsv_to_rgb",
    "IFFT": "signal.ifft compat.v1.ifft compat.v1.signal.ifft compat.v1.spectral.ifft",
    "IFFT2D": "signal.ifft2d compat.v1.ifft2d compat.v1.signal.ifft2d compat.v1.spectral.ifft2d",
    "IFFT3D": "signal.ifft3d compat.v1.ifft3d compat.v1.signal.ifft3d compat.v1.spectral.ifft3d",
    "IFFTND": "ifftnd compat.v1.ifftnd",
    "IRFFTND": "irfftnd compat.v1.irfftnd",
    "Identity": "identity stop_gradient",
    "IdentityN": "identity_n compat.v1.identity_n",
    "Igamma": "math.igamma compat.v1.igamma compat.v1.math.igamma",
    "Igammac": "math.igammac compat.v1.igammac compat.v1.math.igammac",
    "Invert": "bitwise.invert compat.v1.bitwise.invert",
    "InvertPermutation": (
        "math.invert_permutation compat.v1.invert_permutation compat.v1.math.invert_permutation"
    ),
    "IsFinite": "math.is_finite compat.v1.debugging.is_finite compat.v1.is_finite compat.v1.math.is_finite",
    "IsInf": "math.is_inf compat.v1.debugging.is_inf compat.v1.is_inf compat.v1.math.is_inf",
    "IsNan": "math.is_nan compat.v1.debugging.is_nan compat.v1.is_nan compat.v1.math.is_nan",
    "L2Loss": "nn.l2_loss compat.v1.nn.l2_loss",
    "LRN": (
        "nn.local_response_normalization nn.lrn compat.v1.nn.local_response_normalization "
        "compat.v1.nn.lrn"
    ),
    "LeftShift": "bitwise.left_shift compat.v1.bitwise.left_shift",
    "Less": "less math.less compat.v1.less compat.v1.math.less",
    "LessEqual": "less_equal math.less_equal compat.v1.less_equal compat.v1.math.less_equal",
    "Lgamma": "math.lgamma compat.v1.lgamma compat.v1.math.lgamma",
    "Log": "math.log compat.v1.log compat.v1.math.log",
    "Log1p": "math.log1p compat.v1.log1p compat.v1.math.log1p",
    "LogMatrixDeterminant": "linalg.slogdet compat.v1.linalg.slogdet",
    "LogicalAnd": (
        "__operators__.logical_and logical_and math.logical_and compat.v1.logical_and "
        "compat.v1.math.logical_and"
    ),
    "LogicalNot": (
        "__operators__.logical_not logical_not math.logical_not compat.v1.logical_not "
        "compat.v1.math.logical_not"
    ),
    "LogicalOr": (
        "__operators__.logical_or logical_or math.logical_or compat.v1.logical_or "
        "compat.v1.math.logical_or"
    ),
    "Lu": "linalg.lu compat.v1.linalg.lu",
    "MatrixBandPart": "linalg.band_part compat.v1.linalg.band_part compat.v1.matrix_band_part",
    "MatrixDeterminant": "linalg.det compat.v1.linalg.det compat.v1.matrix_determinant",
    "MatrixInverse": "linalg.inv compat.v1.linalg.inv compat.v1.matrix_inverse",
    "MatrixLogarithm": "linalg.logm compat.v1.linalg.logm",
    "MatrixSolve": "linalg.solve compat.v1.linalg.solve compat.v1.matrix_solve",
    "MatrixSquareRoot": (
        "linalg.sqrtm matrix_square_root compat.v1.linalg.sqrtm compat.v1.matrix_square_root"
    ),
    "Maximum": "math.maximum maximum compat.v1.math.maximum compat.v1.maximum",
    "Minimum": "math.minimum minimum compat.v1.math.minimum compat.v1.minimum",
    "Mul": "math.multiply multiply",
    "MulNoNan": "math.multiply_no_nan",
    "Ndtri": "math.ndtri",
    "Neg": "math.negative negative compat.v1.math.negative compat.v1.negative",
    "NextAfter": "math.nextafter compat.v1.math.nextafter",
    "NotEqual": "__operators__.ne math.not_equal not_equal",
    "ParseTensor": "io.parse_tensor compat.v1.io.parse_tensor compat.v1.parse_tensor",
    "Polygamma": "math.polygamma compat.v1.math.polygamma compat.v1.polygamma",
    "Pow": "math.pow pow",
    "Qr": "linalg.qr compat.v1.linalg.qr compat.v1.qr",
    "QuantizedAvgPool": "compat.v1.nn.quantized_avg_pool",
    "QuantizedConcat": (
        "quantization.quantized_concat compat.v1.quantization.quantized_concat compat.v1.quantized_concat"
    ),
    "QuantizedConv2D": "compat.v1.nn.quantized_conv2d",
    "QuantizedMaxPool": "compat.v1.nn.quantized_max_pool",
    "QuantizedReluX": "compat.v1.nn.quantized_relu_x",
    "RFFTND": "rfftnd compat.v1.rfftnd",
    "RGBToHSV": "image.rgb_to_hsv compat.v1.image.rgb_to_hsv",
    "RaggedFillEmptyRows": "ragged_fill_empty_rows compat.v1.ragged_fill_empty_rows",
    "RandomIndexShuffle": "random_index_shuffle compat.v1.random_index_shuffle",
    "RealDiv": "realdiv compat.v1.realdiv",
    "Reciprocal": "math.reciprocal compat.v1.math.reciprocal compat.v1.reciprocal",
    "RegexFullMatch": "strings.regex_full_match",
    "Relu": "nn.relu compat.v1.nn.relu",
    "Relu6": "nn.relu6",
    "ResizeArea": "compat.v1.image.resize_area",
    "ReverseV2": "compat.v1.manip.reverse compat.v1.reverse",
    "RightShift": "bitwise.right_shift compat.v1.bitwise.right_shift",
    "Rint": "math.rint compat.v1.math.rint compat.v1.rint",
    "Round": "math.round round",
    "Rsqrt": "math.rsqrt",
    "ScatterNd": "scatter_nd compat.v1.manip.scatter_nd compat.v1.scatter_nd",
    "SegmentMax": "math.segment_max compat.v1.math.segment_max compat.v1.segment_max",
    "SegmentMean": "math.segment_mean compat.v1.math.segment_mean compat.v1.segment_mean",
    "SegmentMin": "math.segment_min compat.v1.math.segment_min compat.v1.segment_min",
    "SegmentProd": "math.segment_prod compat.v1.math.segment_prod compat.v1.segment_prod",
    "SegmentSum": "math.segment_sum compat.v1.math.segment_sum compat.v1.segment_sum",
    "Selu": "nn.selu compat.v1.nn.selu",
    "Sigmoid": "math.sigmoid nn.sigmoid sigmoid",
    "Sign": "math.sign sign",
    "Sin": "math.sin sin compat.v1.math.sin compat.v1.sin",
    "Sinh": "math.sinh sinh compat.v1.math.sinh compat.v1.sinh",
    "Softplus": "math.softplus nn.softplus",
    "Softsign": "math.softsign nn.softsign compat.v1.math.softsign compat.v1.nn.softsign",
    "SpaceToBatchND": "space_to_batch_nd compat.v1.manip.space_to_batch_nd compat.v1.space_to_batch_nd",
    "SpaceToDepth": "nn.space_to_depth",
    "SparseMatMul": "compat.v1.sparse_matmul",
    "Spence": "math.special.spence",
    "Sqrt": "math.sqrt sqrt",
    "Square": "math.square square compat.v1.math.square compat.v1.square",
    "SquaredDifference": (
        "math.squared_difference compat.v1.math.squared_difference compat.v1.squared_difference"
    ),
    "StringLength": "strings.length",
    "StringLower": "strings.lower compat.v1.strings.lower",
    "StringStrip": "strings.strip compat.v1.string_strip compat.v1.strings.strip",
    "StringToHashBucketFast": (
        "strings.to_hash_bucket_fast compat.v1.string_to_hash_bucket_fast "
        "compat.v1.strings.to_hash_bucket_fast"
    ),
    "StringToHashBucketStrong": (
        "strings.to_hash_bucket_strong compat.v1.string_to_hash_bucket_strong "
        "compat.v1.strings.to_hash_bucket_strong"
    ),
    "StringUpper": "strings.upper compat.v1.strings.upper",
    "Sub": "math.subtract subtract",
    "Substr": "strings.substr",
    "Tan": "math.tan tan compat.v1.math.tan compat.v1.tan",
    "Tanh": "math.tanh nn.tanh tanh compat.v1.math.tanh compat.v1.nn.tanh compat.v1.tanh",
    "TensorScatterAdd": "tensor_scatter_nd_add compat.v1.tensor_scatter_add compat.v1.tensor_scatter_nd_add",
    "TensorScatterMax": "tensor_scatter_nd_max compat.v1.tensor_scatter_nd_max",
    "TensorScatterMin": "tensor_scatter_nd_min compat.v1.tensor_scatter_nd_min",
    "TensorScatterSub": "tensor_scatter_nd_sub compat.v1.tensor_scatter_nd_sub compat.v1.tensor_scatter_sub",
    "Tile": "compat.v1.manip.tile compat.v1.tile",
    "TruncateDiv": "truncatediv compat.v1.truncatediv",
    "TruncateMod": "truncatemod compat.v1.truncatemod",
    "UnicodeScript": "strings.unicode_script compat.v1.strings.unicode_script",
    "UnicodeTranscode": "strings.unicode_transcode compat.v1.strings.unicode_transcode",
    "Unique": "unique",
    "UniqueWithCounts": "unique_with_counts",
    "UnravelIndex": "unravel_index compat.v1.unravel_index",
    "UnsortedSegmentMax": (
        "math.unsorted_segment_max compat.v1.math.unsorted_segment_max compat.v1.unsorted_segment_max"
    ),
    "UnsortedSegmentMin": (
        "math.unsorted_segment_min compat.v1.math.unsorted_segment_min compat.v1.unsorted_segment_min"
    ),
    "UnsortedSegmentProd": (
        "math.unsorted_segment_prod compat.v1.math.unsorted_segment_prod compat.v1.unsorted_segment_prod"
    ),
    "UnsortedSegmentSum": (
        "math.unsorted_segment_sum compat.v1.math.unsorted_segment_sum compat.v1.unsorted_segment_sum"
    ),
    "Xdivy": "math.xdivy",
    "Xlog1py": "math.xlog1py",
    "Xlogy": "math.xlogy compat.v1.math.xlogy",
    "Zeta": "math.zeta compat.v1.math.zeta compat.v1.zeta",
}  # fmt: skip

for _op, _names in FUNCTIONS.items():
    tf_function(_names)(op_function(_op))
