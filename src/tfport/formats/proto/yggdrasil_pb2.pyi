from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ForestModelHeader(_message.Message):
    __slots__ = ("name", "task", "label_col_idx", "input_features", "classification_outputs_probabilities", "uplift_treatment_col_idx", "metadata")
    class Task(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNDEFINED: _ClassVar[ForestModelHeader.Task]
        CLASSIFICATION: _ClassVar[ForestModelHeader.Task]
        REGRESSION: _ClassVar[ForestModelHeader.Task]
        RANKING: _ClassVar[ForestModelHeader.Task]
        CATEGORICAL_UPLIFT: _ClassVar[ForestModelHeader.Task]
        NUMERICAL_UPLIFT: _ClassVar[ForestModelHeader.Task]
        ANOMALY_DETECTION: _ClassVar[ForestModelHeader.Task]
        SURVIVAL_ANALYSIS: _ClassVar[ForestModelHeader.Task]
    UNDEFINED: ForestModelHeader.Task
    CLASSIFICATION: ForestModelHeader.Task
    REGRESSION: ForestModelHeader.Task
    RANKING: ForestModelHeader.Task
    CATEGORICAL_UPLIFT: ForestModelHeader.Task
    NUMERICAL_UPLIFT: ForestModelHeader.Task
    ANOMALY_DETECTION: ForestModelHeader.Task
    SURVIVAL_ANALYSIS: ForestModelHeader.Task
    class Metadata(_message.Message):
        __slots__ = ("owner", "created_date", "framework")
        OWNER_FIELD_NUMBER: _ClassVar[int]
        CREATED_DATE_FIELD_NUMBER: _ClassVar[int]
        FRAMEWORK_FIELD_NUMBER: _ClassVar[int]
        owner: bytes
        created_date: int
        framework: bytes
        def __init__(self, owner: _Optional[bytes] = ..., created_date: _Optional[int] = ..., framework: _Optional[bytes] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    LABEL_COL_IDX_FIELD_NUMBER: _ClassVar[int]
    INPUT_FEATURES_FIELD_NUMBER: _ClassVar[int]
    CLASSIFICATION_OUTPUTS_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    UPLIFT_TREATMENT_COL_IDX_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    task: ForestModelHeader.Task
    label_col_idx: int
    input_features: _containers.RepeatedScalarFieldContainer[int]
    classification_outputs_probabilities: bool
    uplift_treatment_col_idx: int
    metadata: ForestModelHeader.Metadata
    def __init__(self, name: _Optional[bytes] = ..., task: _Optional[_Union[ForestModelHeader.Task, str]] = ..., label_col_idx: _Optional[int] = ..., input_features: _Optional[_Iterable[int]] = ..., classification_outputs_probabilities: bool = ..., uplift_treatment_col_idx: _Optional[int] = ..., metadata: _Optional[_Union[ForestModelHeader.Metadata, _Mapping]] = ...) -> None: ...

class ForestDataSpec(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[ForestColumn]
    def __init__(self, columns: _Optional[_Iterable[_Union[ForestColumn, _Mapping]]] = ...) -> None: ...

class ForestColumn(_message.Message):
    __slots__ = ("type", "name", "numerical", "categorical", "discretized_numerical", "boolean")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[ForestColumn.Type]
        NUMERICAL: _ClassVar[ForestColumn.Type]
        NUMERICAL_SET: _ClassVar[ForestColumn.Type]
        NUMERICAL_LIST: _ClassVar[ForestColumn.Type]
        CATEGORICAL: _ClassVar[ForestColumn.Type]
        CATEGORICAL_SET: _ClassVar[ForestColumn.Type]
        CATEGORICAL_LIST: _ClassVar[ForestColumn.Type]
        BOOLEAN: _ClassVar[ForestColumn.Type]
        STRING: _ClassVar[ForestColumn.Type]
        DISCRETIZED_NUMERICAL: _ClassVar[ForestColumn.Type]
        HASH: _ClassVar[ForestColumn.Type]
        NUMERICAL_VECTOR_SEQUENCE: _ClassVar[ForestColumn.Type]
    UNKNOWN: ForestColumn.Type
    NUMERICAL: ForestColumn.Type
    NUMERICAL_SET: ForestColumn.Type
    NUMERICAL_LIST: ForestColumn.Type
    CATEGORICAL: ForestColumn.Type
    CATEGORICAL_SET: ForestColumn.Type
    CATEGORICAL_LIST: ForestColumn.Type
    BOOLEAN: ForestColumn.Type
    STRING: ForestColumn.Type
    DISCRETIZED_NUMERICAL: ForestColumn.Type
    HASH: ForestColumn.Type
    NUMERICAL_VECTOR_SEQUENCE: ForestColumn.Type
    class Numerical(_message.Message):
        __slots__ = ("mean",)
        MEAN_FIELD_NUMBER: _ClassVar[int]
        mean: float
        def __init__(self, mean: _Optional[float] = ...) -> None: ...
    class Categorical(_message.Message):
        __slots__ = ("most_frequent_value", "number_of_unique_values", "is_already_integerized", "items")
        class Value(_message.Message):
            __slots__ = ("index", "count")
            INDEX_FIELD_NUMBER: _ClassVar[int]
            COUNT_FIELD_NUMBER: _ClassVar[int]
            index: int
            count: int
            def __init__(self, index: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...
        class Item(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: bytes
            value: ForestColumn.Categorical.Value
            def __init__(self, key: _Optional[bytes] = ..., value: _Optional[_Union[ForestColumn.Categorical.Value, _Mapping]] = ...) -> None: ...
        MOST_FREQUENT_VALUE_FIELD_NUMBER: _ClassVar[int]
        NUMBER_OF_UNIQUE_VALUES_FIELD_NUMBER: _ClassVar[int]
        IS_ALREADY_INTEGERIZED_FIELD_NUMBER: _ClassVar[int]
        ITEMS_FIELD_NUMBER: _ClassVar[int]
        most_frequent_value: int
        number_of_unique_values: int
        is_already_integerized: bool
        items: _containers.RepeatedCompositeFieldContainer[ForestColumn.Categorical.Item]
        def __init__(self, most_frequent_value: _Optional[int] = ..., number_of_unique_values: _Optional[int] = ..., is_already_integerized: bool = ..., items: _Optional[_Iterable[_Union[ForestColumn.Categorical.Item, _Mapping]]] = ...) -> None: ...
    class Discretized(_message.Message):
        __slots__ = ("boundaries",)
        BOUNDARIES_FIELD_NUMBER: _ClassVar[int]
        boundaries: _containers.RepeatedScalarFieldContainer[float]
        def __init__(self, boundaries: _Optional[_Iterable[float]] = ...) -> None: ...
    class Boolean(_message.Message):
        __slots__ = ("count_true", "count_false")
        COUNT_TRUE_FIELD_NUMBER: _ClassVar[int]
        COUNT_FALSE_FIELD_NUMBER: _ClassVar[int]
        count_true: int
        count_false: int
        def __init__(self, count_true: _Optional[int] = ..., count_false: _Optional[int] = ...) -> None: ...
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMERICAL_FIELD_NUMBER: _ClassVar[int]
    CATEGORICAL_FIELD_NUMBER: _ClassVar[int]
    DISCRETIZED_NUMERICAL_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    type: ForestColumn.Type
    name: bytes
    numerical: ForestColumn.Numerical
    categorical: ForestColumn.Categorical
    discretized_numerical: ForestColumn.Discretized
    boolean: ForestColumn.Boolean
    def __init__(self, type: _Optional[_Union[ForestColumn.Type, str]] = ..., name: _Optional[bytes] = ..., numerical: _Optional[_Union[ForestColumn.Numerical, _Mapping]] = ..., categorical: _Optional[_Union[ForestColumn.Categorical, _Mapping]] = ..., discretized_numerical: _Optional[_Union[ForestColumn.Discretized, _Mapping]] = ..., boolean: _Optional[_Union[ForestColumn.Boolean, _Mapping]] = ...) -> None: ...

class RandomForestHeader(_message.Message):
    __slots__ = ("num_node_shards", "num_trees", "winner_take_all_inference", "node_format")
    NUM_NODE_SHARDS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_FIELD_NUMBER: _ClassVar[int]
    WINNER_TAKE_ALL_INFERENCE_FIELD_NUMBER: _ClassVar[int]
    NODE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    num_node_shards: int
    num_trees: int
    winner_take_all_inference: bool
    node_format: bytes
    def __init__(self, num_node_shards: _Optional[int] = ..., num_trees: _Optional[int] = ..., winner_take_all_inference: bool = ..., node_format: _Optional[bytes] = ...) -> None: ...

class GradientBoostedTreesHeader(_message.Message):
    __slots__ = ("num_node_shards", "num_trees", "loss", "initial_predictions", "num_trees_per_iter", "node_format", "output_logits")
    class Loss(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DEFAULT: _ClassVar[GradientBoostedTreesHeader.Loss]
        BINOMIAL_LOG_LIKELIHOOD: _ClassVar[GradientBoostedTreesHeader.Loss]
        SQUARED_ERROR: _ClassVar[GradientBoostedTreesHeader.Loss]
        MULTINOMIAL_LOG_LIKELIHOOD: _ClassVar[GradientBoostedTreesHeader.Loss]
        LAMBDA_MART_NDCG5: _ClassVar[GradientBoostedTreesHeader.Loss]
        XE_NDCG_MART: _ClassVar[GradientBoostedTreesHeader.Loss]
        BINARY_FOCAL_LOSS: _ClassVar[GradientBoostedTreesHeader.Loss]
        POISSON: _ClassVar[GradientBoostedTreesHeader.Loss]
        MEAN_AVERAGE_ERROR: _ClassVar[GradientBoostedTreesHeader.Loss]
        LAMBDA_MART_NDCG: _ClassVar[GradientBoostedTreesHeader.Loss]
        COX_PROPORTIONAL_HAZARD: _ClassVar[GradientBoostedTreesHeader.Loss]
    DEFAULT: GradientBoostedTreesHeader.Loss
    BINOMIAL_LOG_LIKELIHOOD: GradientBoostedTreesHeader.Loss
    SQUARED_ERROR: GradientBoostedTreesHeader.Loss
    MULTINOMIAL_LOG_LIKELIHOOD: GradientBoostedTreesHeader.Loss
    LAMBDA_MART_NDCG5: GradientBoostedTreesHeader.Loss
    XE_NDCG_MART: GradientBoostedTreesHeader.Loss
    BINARY_FOCAL_LOSS: GradientBoostedTreesHeader.Loss
    POISSON: GradientBoostedTreesHeader.Loss
    MEAN_AVERAGE_ERROR: GradientBoostedTreesHeader.Loss
    LAMBDA_MART_NDCG: GradientBoostedTreesHeader.Loss
    COX_PROPORTIONAL_HAZARD: GradientBoostedTreesHeader.Loss
    NUM_NODE_SHARDS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    INITIAL_PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_PER_ITER_FIELD_NUMBER: _ClassVar[int]
    NODE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_LOGITS_FIELD_NUMBER: _ClassVar[int]
    num_node_shards: int
    num_trees: int
    loss: GradientBoostedTreesHeader.Loss
    initial_predictions: _containers.RepeatedScalarFieldContainer[float]
    num_trees_per_iter: int
    node_format: bytes
    output_logits: bool
    def __init__(self, num_node_shards: _Optional[int] = ..., num_trees: _Optional[int] = ..., loss: _Optional[_Union[GradientBoostedTreesHeader.Loss, str]] = ..., initial_predictions: _Optional[_Iterable[float]] = ..., num_trees_per_iter: _Optional[int] = ..., node_format: _Optional[bytes] = ..., output_logits: bool = ...) -> None: ...

class IsolationForestHeader(_message.Message):
    __slots__ = ("num_node_shards", "num_trees", "node_format", "num_examples_per_trees")
    NUM_NODE_SHARDS_FIELD_NUMBER: _ClassVar[int]
    NUM_TREES_FIELD_NUMBER: _ClassVar[int]
    NODE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    NUM_EXAMPLES_PER_TREES_FIELD_NUMBER: _ClassVar[int]
    num_node_shards: int
    num_trees: int
    node_format: bytes
    num_examples_per_trees: int
    def __init__(self, num_node_shards: _Optional[int] = ..., num_trees: _Optional[int] = ..., node_format: _Optional[bytes] = ..., num_examples_per_trees: _Optional[int] = ...) -> None: ...
