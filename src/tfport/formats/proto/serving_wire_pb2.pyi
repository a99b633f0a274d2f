from tfport.formats.proto import graph_pb2 as _graph_pb2
from tfport.formats.proto import serving_pb2 as _serving_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TensorToRead(_message.Message):
    __slots__ = ("dtype", "tensor_shape", "version_number", "tensor_content", "float_val", "double_val", "int_val", "string_val", "scomplex_val", "int64_val", "bool_val", "dcomplex_val", "half_val", "uint32_val", "uint64_val", "float8_val")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    TENSOR_SHAPE_FIELD_NUMBER: _ClassVar[int]
    VERSION_NUMBER_FIELD_NUMBER: _ClassVar[int]
    TENSOR_CONTENT_FIELD_NUMBER: _ClassVar[int]
    FLOAT_VAL_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VAL_FIELD_NUMBER: _ClassVar[int]
    INT_VAL_FIELD_NUMBER: _ClassVar[int]
    STRING_VAL_FIELD_NUMBER: _ClassVar[int]
    SCOMPLEX_VAL_FIELD_NUMBER: _ClassVar[int]
    INT64_VAL_FIELD_NUMBER: _ClassVar[int]
    BOOL_VAL_FIELD_NUMBER: _ClassVar[int]
    DCOMPLEX_VAL_FIELD_NUMBER: _ClassVar[int]
    HALF_VAL_FIELD_NUMBER: _ClassVar[int]
    UINT32_VAL_FIELD_NUMBER: _ClassVar[int]
    UINT64_VAL_FIELD_NUMBER: _ClassVar[int]
    FLOAT8_VAL_FIELD_NUMBER: _ClassVar[int]
    dtype: _graph_pb2.DataType
    tensor_shape: _graph_pb2.TensorShapeProto
    version_number: int
    tensor_content: bytes
    float_val: _containers.RepeatedScalarFieldContainer[bytes]
    double_val: _containers.RepeatedScalarFieldContainer[bytes]
    int_val: _containers.RepeatedScalarFieldContainer[int]
    string_val: _containers.RepeatedScalarFieldContainer[bytes]
    scomplex_val: _containers.RepeatedScalarFieldContainer[bytes]
    int64_val: _containers.RepeatedScalarFieldContainer[int]
    bool_val: _containers.RepeatedScalarFieldContainer[bool]
    dcomplex_val: _containers.RepeatedScalarFieldContainer[bytes]
    half_val: _containers.RepeatedScalarFieldContainer[int]
    uint32_val: _containers.RepeatedScalarFieldContainer[int]
    uint64_val: _containers.RepeatedScalarFieldContainer[int]
    float8_val: bytes
    def __init__(self, dtype: _Optional[_Union[_graph_pb2.DataType, str]] = ..., tensor_shape: _Optional[_Union[_graph_pb2.TensorShapeProto, _Mapping]] = ..., version_number: _Optional[int] = ..., tensor_content: _Optional[bytes] = ..., float_val: _Optional[_Iterable[bytes]] = ..., double_val: _Optional[_Iterable[bytes]] = ..., int_val: _Optional[_Iterable[int]] = ..., string_val: _Optional[_Iterable[bytes]] = ..., scomplex_val: _Optional[_Iterable[bytes]] = ..., int64_val: _Optional[_Iterable[int]] = ..., bool_val: _Optional[_Iterable[bool]] = ..., dcomplex_val: _Optional[_Iterable[bytes]] = ..., half_val: _Optional[_Iterable[int]] = ..., uint32_val: _Optional[_Iterable[int]] = ..., uint64_val: _Optional[_Iterable[int]] = ..., float8_val: _Optional[bytes] = ...) -> None: ...

class TensorToWrite(_message.Message):
    __slots__ = ("dtype", "tensor_shape", "tensor_content", "float_val", "double_val", "int_val", "string_val", "scomplex_val", "int64_val", "bool_val", "dcomplex_val", "half_val", "uint32_val", "uint64_val", "float8_val")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    TENSOR_SHAPE_FIELD_NUMBER: _ClassVar[int]
    TENSOR_CONTENT_FIELD_NUMBER: _ClassVar[int]
    FLOAT_VAL_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VAL_FIELD_NUMBER: _ClassVar[int]
    INT_VAL_FIELD_NUMBER: _ClassVar[int]
    STRING_VAL_FIELD_NUMBER: _ClassVar[int]
    SCOMPLEX_VAL_FIELD_NUMBER: _ClassVar[int]
    INT64_VAL_FIELD_NUMBER: _ClassVar[int]
    BOOL_VAL_FIELD_NUMBER: _ClassVar[int]
    DCOMPLEX_VAL_FIELD_NUMBER: _ClassVar[int]
    HALF_VAL_FIELD_NUMBER: _ClassVar[int]
    UINT32_VAL_FIELD_NUMBER: _ClassVar[int]
    UINT64_VAL_FIELD_NUMBER: _ClassVar[int]
    FLOAT8_VAL_FIELD_NUMBER: _ClassVar[int]
    dtype: int
    tensor_shape: _graph_pb2.TensorShapeProto
    tensor_content: bytes
    float_val: bytes
    double_val: bytes
    int_val: bytes
    string_val: _containers.RepeatedScalarFieldContainer[bytes]
    scomplex_val: bytes
    int64_val: bytes
    bool_val: bytes
    dcomplex_val: bytes
    half_val: bytes
    uint32_val: bytes
    uint64_val: bytes
    float8_val: bytes
    def __init__(self, dtype: _Optional[int] = ..., tensor_shape: _Optional[_Union[_graph_pb2.TensorShapeProto, _Mapping]] = ..., tensor_content: _Optional[bytes] = ..., float_val: _Optional[bytes] = ..., double_val: _Optional[bytes] = ..., int_val: _Optional[bytes] = ..., string_val: _Optional[_Iterable[bytes]] = ..., scomplex_val: _Optional[bytes] = ..., int64_val: _Optional[bytes] = ..., bool_val: _Optional[bytes] = ..., dcomplex_val: _Optional[bytes] = ..., half_val: _Optional[bytes] = ..., uint32_val: _Optional[bytes] = ..., uint64_val: _Optional[bytes] = ..., float8_val: _Optional[bytes] = ...) -> None: ...

class PredictRequestWire(_message.Message):
    __slots__ = ("model_spec", "inputs", "output_filter")
    class InputsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: TensorToRead
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[TensorToRead, _Mapping]] = ...) -> None: ...
    MODEL_SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FILTER_FIELD_NUMBER: _ClassVar[int]
    model_spec: _serving_pb2.ModelSpec
    inputs: _containers.MessageMap[str, TensorToRead]
    output_filter: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, model_spec: _Optional[_Union[_serving_pb2.ModelSpec, _Mapping]] = ..., inputs: _Optional[_Mapping[str, TensorToRead]] = ..., output_filter: _Optional[_Iterable[str]] = ...) -> None: ...

class PredictResponseWire(_message.Message):
    __slots__ = ("outputs", "model_spec")
    class OutputsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: TensorToWrite
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[TensorToWrite, _Mapping]] = ...) -> None: ...
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_SPEC_FIELD_NUMBER: _ClassVar[int]
    outputs: _containers.MessageMap[str, TensorToWrite]
    model_spec: _serving_pb2.ModelSpec
    def __init__(self, outputs: _Optional[_Mapping[str, TensorToWrite]] = ..., model_spec: _Optional[_Union[_serving_pb2.ModelSpec, _Mapping]] = ...) -> None: ...

class ExamplesWire(_message.Message):
    __slots__ = ("examples", "context")
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    examples: _containers.RepeatedScalarFieldContainer[bytes]
    context: bytes
    def __init__(self, examples: _Optional[_Iterable[bytes]] = ..., context: _Optional[bytes] = ...) -> None: ...

class InputWire(_message.Message):
    __slots__ = ("example_list", "example_list_with_context")
    EXAMPLE_LIST_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_LIST_WITH_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    example_list: ExamplesWire
    example_list_with_context: ExamplesWire
    def __init__(self, example_list: _Optional[_Union[ExamplesWire, _Mapping]] = ..., example_list_with_context: _Optional[_Union[ExamplesWire, _Mapping]] = ...) -> None: ...

class ExamplesRequestWire(_message.Message):
    __slots__ = ("model_spec", "input")
    MODEL_SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    model_spec: _serving_pb2.ModelSpec
    input: InputWire
    def __init__(self, model_spec: _Optional[_Union[_serving_pb2.ModelSpec, _Mapping]] = ..., input: _Optional[_Union[InputWire, _Mapping]] = ...) -> None: ...

class MultiInferenceRequestWire(_message.Message):
    __slots__ = ("tasks", "input")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_serving_pb2.InferenceTask]
    input: InputWire
    def __init__(self, tasks: _Optional[_Iterable[_Union[_serving_pb2.InferenceTask, _Mapping]]] = ..., input: _Optional[_Union[InputWire, _Mapping]] = ...) -> None: ...
