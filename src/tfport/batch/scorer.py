"""A model and a signature as a function over Arrow record batches.

    score = BatchScorer("export/1", ScoringOptions(on_error="null"))
    score(record_batch)                     kept columns, a column for each output, perhaps `error`
    score.schema(record_batch.schema)       of the results

Rows keep their order and number. Rows of different shapes are scored separately, so that no row is padded. A
call that fails is repeated with halves of its rows until the row at fault is known; what happens to it is
`on_error`. How columns become arrays: `input_columns`; how arrays become columns: `output_columns`.
"""

from __future__ import annotations

import functools
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tfport.batch.batch_sizes import BatchSizes
from tfport.batch.input_columns import (
    InputColumn,
    InputRows,
    RowErrors,
    element_type,
    missing_columns,
    nested_lists,
)
from tfport.batch.output_columns import OutputColumn
from tfport.batch.remote_session import RemoteSession
from tfport.batch.scoring_options import COLLECT, ERROR_COLUMN, FAIL, RowFailed, ScoringOptions
from tfport.engine_names import USUAL
from tfport.errors import Error, ResourceExhausted, RunFailed
from tfport.formats.find import ModelSource, find_model
from tfport.frontends.load import load_any_model
from tfport.graph.dtypes import STRING
from tfport.graph.infer_shapes import infer_shapes
from tfport.graph.model import Model
from tfport.runtime.custom.registry import Registry, definitions_with, ready
from tfport.runtime.engines.engine import Engine
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.feeds import as_array
from tfport.runtime.select_signature import select_signature
from tfport.runtime.session import Session
from tfport.startup.dataclass import replace
from tfport.words import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pieces = dict[str, list[tuple["NDArray[np.int64]", "NDArray[Any]"]]]
DEFAULTS = ScoringOptions()
ONNX_RUNTIME = (USUAL, "onnxruntime")
CONTENT = "content"
"""The column of a source that has one value per row, such as records or images: it feeds the only input."""


class BatchScorer:
    """Scores record batches with one model. Not for several threads at once."""

    def __init__(
        self,
        model: Model | ModelSource,
        options: ScoringOptions = DEFAULTS,
        *,
        constants: Mapping[str, Any] = MappingProxyType({}),
        registry: Registry | None = None,
        gpu: GpuOptions = NO_GPU_OPTIONS,
        share: int = 1,
    ) -> None:
        """`share`: processes on this machine that score at the same time, for the default of memory."""
        self.options = options
        self.lock = threading.Lock()
        """For callers with several threads."""
        self.session: Session | RemoteSession
        if options.server:
            self.model = _graph_of(model, registry)
            self.signature = select_signature(self.model, options.signature, options.fetches)
            self.session = RemoteSession(options.server, self.signature)
        else:
            self.session = Session(
                model,
                threads=options.threads,
                engine=_engine(options, gpu),
                device=options.device,
                gpu=gpu,
                registry=registry,
                cache=options.cache,
            )
            self.model = self.session.model
            self.signature = select_signature(self.model, options.signature, options.fetches)
        signature = self.signature
        waits = bool(options.server) or options.device != "cpu"
        self.sizes = BatchSizes(options.max_bytes, options.batch_rows, share, waits=waits)
        self._outputs = self._output_columns()
        self._fetches = [signature.outputs[column.name].tensors[0] for column in self._outputs]
        self._constants = self._constant_feeds(constants)
        self._inputs: list[InputColumn] = []
        self._schema: pa.Schema | None = None
        self._call_rows: int | None = None
        """Rows that a call must have, as the model declares; None for any number, 0 for no such axis."""

    def _output_columns(self) -> list[OutputColumn]:
        outputs, asked = self.signature.outputs, self.options.outputs
        for name in (*asked, *self.options.binary):
            if name not in outputs:
                raise Error(
                    f"no output `{name}`; the outputs of {self.signature.name} are: {', '.join(outputs)}"
                )
        names = asked or tuple(outputs)
        specs = {name: outputs[name] for name in names}
        if any(spec.shape.dims is None for spec in specs.values()):
            model, inferred = self.model, infer_shapes(self.model.graph)
            for name, spec in specs.items():
                ends = model.ends_of(replace(self.signature, outputs={name: spec}))
                if spec.shape.dims is None and len(ends) == 1:
                    specs[name] = replace(spec, shape=inferred.shape(ends[0]))
        return [OutputColumn(n, spec, binary=n in self.options.binary) for n, spec in specs.items()]

    def _constant_feeds(self, constants: Mapping[str, Any]) -> dict[str, Any]:
        """The values of inputs that are not in the table, by input; those that the signature declares too."""
        inputs = self.signature.inputs
        values = {name: tensor.numpy() for name, tensor in self.signature.defaults.items()}
        for name, value in constants.items():
            self._check_input(name)
            values[name] = as_array(value, inputs[name].dtype, name)
        return values

    def _check_input(self, name: str) -> None:
        if name not in self.signature.inputs:
            names = ", ".join(self.signature.inputs)
            raise Error(f"no input `{name}`; the inputs of {self.signature.name} are: {names}")

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Score the rows; RowFailed if one fails and `on_error` is `fail`."""
        return self.score(batch, {})[0]

    def score_table(self, table: pa.Table) -> pa.Table:
        """Score a table; short chunks together, as a call is faster with many rows."""
        if not table.num_rows:
            return self.schema(table.schema).empty_table()
        return pa.Table.from_batches([self(batch) for batch in table.combine_chunks().to_batches()])

    def score_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The outputs for arrays by input, each with a row per row; a row that fails is an error."""
        columns = {name: nested_lists(np.asarray(array)) for name, array in arrays.items()}
        batch, errors = pa.RecordBatch.from_pydict(columns), RowErrors()
        self.bind(batch.schema)
        inputs = [column.read(batch, errors) for column in self._inputs]
        self._refuse(errors)
        pieces: Pieces = defaultdict(list)
        for rows, takers in self._groups(inputs, errors, batch.num_rows):
            self._score(rows, takers, pieces, errors)
        return {name: np.concatenate([array for _, array in parts]) for name, parts in pieces.items()}

    def score(self, batch: pa.RecordBatch, known: RowErrors) -> tuple[pa.RecordBatch, RowErrors]:
        """Score the rows, except those that are known to be unreadable; also why rows failed."""
        self.bind(batch.schema)
        errors: RowErrors = dict(known)
        self._refuse(errors)
        inputs = [column.read(batch, errors) for column in self._inputs]
        self._refuse(errors)
        pieces: Pieces = defaultdict(list)
        for rows, arrays in self._groups(inputs, errors, batch.num_rows):
            self._score(rows, arrays, pieces, errors)
        return self._result(batch, pieces, errors), errors

    def bind(self, schema: pa.Schema) -> None:
        """Decide which columns feed the inputs; an Error says what does not fit."""
        if schema == self._schema:
            return
        wanted = self._wanted(schema)
        if (error := missing_columns(wanted, self.signature.inputs, schema)) is not None:
            raise error
        specs = self.signature.inputs
        self._inputs = [InputColumn(name, specs[name], columns) for name, columns in wanted.items()]
        batched = [column.is_batched(schema) for column in self._inputs]
        if len(set(batched)) > 1:
            raise Error(
                f"signature {self.signature.name}: some inputs have an axis for rows, and some have none"
            )
        self._call_rows = self._declared_rows() if batched and batched[0] else 0
        for column in self._outputs:
            column.decide(self._call_rows is None or self._call_rows > 1)
        self._schema = schema

    def _wanted(self, schema: pa.Schema) -> dict[str, tuple[str, ...]]:
        renamed, inputs = dict(self.options.columns), self.signature.inputs
        for name in renamed:
            self._check_input(name)
        needed = [n for n in inputs if n in renamed or n in schema.names or n not in self._constants]
        wanted = {name: renamed.get(name, (name,)) for name in needed}
        if len(needed) == 1 and needed[0] not in renamed and needed[0] not in schema.names:
            metadata = schema.metadata or {}
            content = metadata.get(CONTENT.encode(), b"").decode()
            if content in schema.names:
                wanted[needed[0]] = (content,)
        return wanted

    def _declared_rows(self) -> int | None:
        sizes = {dims[0] for c in self._inputs if (dims := c.spec.shape.dims) and dims[0] is not None}
        if len(sizes) > 1:
            raise Error(f"signature {self.signature.name}: the inputs declare different numbers of rows")
        return next(iter(sizes), None)

    def column_types(self) -> dict[str, pa.DataType]:
        """The types that columns should have, for files that do not say: what numbers texts are parsed to."""
        types, renamed = {}, dict(self.options.columns)
        for name, spec in self.signature.inputs.items():
            columns, dims = renamed.get(name, (name,)), spec.shape.dims
            kind = element_type(spec.dtype.base)
            inner = dims[1:] if dims else ()
            if len(columns) == 1 and not all(size == 1 for size in inner):
                for _ in inner:
                    kind = pa.list_(kind)
            types.update(dict.fromkeys(columns, kind))
        return types

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the results for a table with this schema."""
        self.bind(schema)
        if any(column.rank is None for column in self._outputs):
            self._try_zeros()
        fields = [schema.field(name) for name in self._kept(schema)]
        fields += [pa.field(column.name, column.type) for column in self._outputs]
        if self.options.on_error == COLLECT:
            fields.append(pa.field(ERROR_COLUMN, pa.string()))
        return pa.schema(fields)

    def _try_zeros(self) -> None:
        """Learn the shapes of the outputs from a row of zeros."""
        arrays = {}
        for column in self._inputs:
            dims = column.spec.shape.dims or (None,)
            shape = [size or 1 for size in (dims[1:] if self._call_rows != 0 else dims)]
            empty = np.full((1, *shape), b"", object)
            dtype = column.spec.dtype.base
            arrays[column.name] = empty if dtype == STRING else np.zeros((1, *shape), dtype.numpy)
        try:
            self._call(arrays, 1)
        except (RunFailed, ResourceExhausted) as error:
            raise Error(
                f"the model does not declare the shapes of its outputs, and a row of zeros does not run: "
                f"{error}"
            ) from None

    def _kept(self, schema: pa.Schema) -> list[str]:
        read = {name for column in self._inputs for name in column.columns}
        kept = [n for n in schema.names if n not in read] if self.options.keep is None else self.options.keep
        produced = [*(c.name for c in self._outputs), *([ERROR_COLUMN] * (self.options.on_error == COLLECT))]
        for name in kept:
            if name not in schema.names:
                raise Error(f"keep: no column `{name}`; columns: {', '.join(schema.names)}")
            if name in produced:
                raise Error(
                    f"column `{name}` has the name of a result; name the columns to keep with keep= (--keep)"
                )
        return list(kept)

    def _refuse(self, errors: RowErrors) -> None:
        if errors and self.options.on_error == FAIL:
            row = min(errors)
            raise RowFailed(row, errors[row])

    def _groups(
        self, inputs: Sequence[InputRows], errors: RowErrors, number: int
    ) -> Iterator[tuple[NDArray[np.int64], dict[str, Any]]]:
        """Rows with equal shapes, and a function for each input that returns some of them."""
        bad = np.fromiter(errors, np.int64, len(errors))
        rows = np.setdiff1d(np.arange(number), bad) if len(bad) else np.arange(number)
        if not len(rows):
            return
        indices = [np.searchsorted(values.rows, rows) for values in inputs]
        names = [column.name for column in self._inputs]
        ragged = [i for i, values in enumerate(inputs) if not isinstance(values.shapes, tuple)]
        groups: dict[Any, list[int]] = defaultdict(list)
        for at in range(len(rows)) if ragged else ():
            groups[tuple(inputs[i].shapes[indices[i][at]] for i in ragged)].append(at)
        for members in [np.array(group) for group in groups.values()] or [np.arange(len(rows))]:
            takers = {
                name: functools.partial(_take, values, index[members])
                for name, values, index in zip(names, inputs, indices, strict=True)
            }
            yield rows[members], takers

    def _score(
        self, rows: NDArray[np.int64], takers: Mapping[str, Any], pieces: Pieces, errors: RowErrors
    ) -> None:
        start = 0
        while start < len(rows):
            size = min(
                self._call_rows or 1 if self._call_rows is not None else self.sizes.rows, len(rows) - start
            )
            self._score_part(rows, takers, start, start + size, pieces, errors)
            start += size

    def _score_part(
        self, rows: Any, takers: Mapping[str, Any], start: int, end: int, pieces: Pieces, errors: RowErrors
    ) -> None:
        """Score some rows; halves of them where they fail."""
        arrays = {name: take(start, end) for name, take in takers.items()}
        try:
            outputs = self._call(arrays, end - start)
        except RunFailed as error:
            if end - start == 1:
                errors[int(rows[start])] = str(error)
                self._refuse(errors)
                return
            if isinstance(error, ResourceExhausted):
                self.sizes.ran_out_of_memory(end - start)
            middle = (start + end) // 2
            self._score_part(rows, takers, start, middle, pieces, errors)
            self._score_part(rows, takers, middle, end, pieces, errors)
            return
        for column, array in zip(self._outputs, outputs, strict=True):
            pieces[column.name].append((rows[start:end], array))

    def _call(self, arrays: Mapping[str, NDArray[Any]], number: int) -> list[NDArray[Any]]:
        """The outputs of one call, each with a row for each row."""
        declared, inputs = self._call_rows, dict(arrays)
        if declared == 0:
            inputs = {name: array[0] for name, array in arrays.items()}
        elif declared is not None and number < declared:  # the last row again
            inputs = {
                n: np.concatenate([a, np.repeat(a[-1:], declared - number, 0)]) for n, a in arrays.items()
            }
        feeds = {self.signature.inputs[name].tensors[0]: array for name, array in inputs.items()}
        for name, value in self._constants.items():
            feeds.setdefault(self.signature.inputs[name].tensors[0], value)
        with self.sizes.measured(number):
            outputs = self.session.run(self._fetches, feeds)
        return [
            self._rows(column, array, number) for column, array in zip(self._outputs, outputs, strict=True)
        ]

    def _rows(self, column: OutputColumn, array: NDArray[Any], number: int) -> NDArray[Any]:
        single = self._call_rows is not None and self._call_rows <= 1
        if column.rank is None:
            column.decide(not single, array)
        value = array if column.has_rows else array[None]
        if column.has_rows and len(value) != number and self._call_rows and len(value) == self._call_rows:
            value = value[:number]
        if value.ndim - 1 != column.rank or len(value) != number:
            raise Error(
                f"output `{column.name}` has shape {array.shape} for {count(number, 'row')}, "
                "not one value for each; choose others with outputs= (--result)"
            )
        return value

    def _result(self, batch: pa.RecordBatch, pieces: Pieces, errors: RowErrors) -> pa.RecordBatch:
        number = batch.num_rows
        if any(column.rank is None for column in self._outputs):
            self._try_zeros()
        outputs = [column.build(pieces[column.name], number, errors) for column in self._outputs]
        self._refuse(errors)
        columns = [batch.column(name) for name in self._kept(batch.schema)] + outputs
        if self.options.on_error == COLLECT:
            columns.append(pa.array([errors.get(row) for row in range(number)], pa.string()))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema(batch.schema))


def _engine(options: ScoringOptions, gpu: GpuOptions) -> str | Engine:
    """The engine of a session. Waiting threads must not spin: the reader and other workers need the cores."""
    if options.engine not in ONNX_RUNTIME:
        return options.engine
    return make_engine(options.engine, options.threads, spins=False, device=options.device, gpu=gpu)


def _graph_of(model: Model | ModelSource, registry: Registry | None) -> Model:
    """The model, of which only the signatures are used: a server runs it."""
    if isinstance(model, Model):
        return model
    return load_any_model(find_model(model), definitions_with(ready(registry)))


def _take(values: InputRows, indices: NDArray[np.int64], start: int, end: int) -> NDArray[Any]:
    return values.take(indices[start:end])
