"""A TensorFlow Lite file that nobody changed goes to LiteRT as it is."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32, i32
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu

import tfport
from tfport.formats.lite.write import lite_bytes
from tfport.runtime import placed_plan
from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.engines.choice_cache import CPU, GPU, ChoiceCache
from tfport.runtime.engines.engine import LiteFiles, Rival
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.plan import Plan

pytest.importorskip("ai_edge_litert", reason="LiteRT is optional")
from tfport.runtime.engines.litert.whole_file import WholeFilePlan, whole_file

WAKE_WORD = Path(__file__).parents[4] / "examples/wake_word.tflite"
RELU = lite_bytes(lite_file(graph("x -> y", op("RELU", "x", "y"), x="FLOAT32 ? 3", y="FLOAT32 ? 3")))
EXP = lite_bytes(lite_file(graph("x -> y", op("EXP", "x", "y"), x="FLOAT32 ? 3", y="FLOAT32 ? 3")))


def interpreted(content, *arrays):
    """The answers of LiteRT's own interpreter."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=content, num_threads=1)
    details = interpreter.get_input_details()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def made_by_default(content):
    session = tfport.Session(content, threads=1)
    session.signature()(f32(1, 2, 3).reshape(1, 3))
    return made(session)


def answers(session, *arrays):
    """The answers of the first signature to its inputs, in the order of the file."""
    name = next(iter(session.model.signatures))
    inputs = dict(zip(session.model.signatures[name].inputs, arrays, strict=True))
    return list(session.signature(name)(**inputs).values())


def made(session):
    (plan,) = session.plans.plans
    return type(plan)


def test_a_quantized_file_answers_as_the_interpreter():
    session = tfport.Session(WAKE_WORD, engine="litert", threads=1)
    (spec,) = next(iter(session.model.signatures.values())).inputs.values()
    shape = tuple(size or 1 for size in spec.shape.dims)
    sound = np.random.default_rng(0).integers(-128, 127, shape).astype(spec.dtype.numpy)
    for array in (sound, np.zeros_like(sound), sound):
        assert [y.tolist() for y in answers(session, array)] == [
            y.tolist() for y in interpreted(WAKE_WORD.read_bytes(), array)
        ]
    assert made(session) is WholeFilePlan


def test_each_call_has_its_own_sizes():
    session = tfport.Session(EXP, engine="litert", threads=1)
    for rows in (1, 4, 2, 4):
        x = np.random.default_rng(rows).random((rows, 3), np.float32)
        assert np.array_equal(answers(session, x)[0], interpreted(EXP, x)[0])
    assert made(session) is WholeFilePlan


def test_a_loaded_model_goes_there_too_unless_its_graph_was_changed():
    x, model = f32(1, 2, 3).reshape(1, 3), tfport.load(EXP)
    session = tfport.Session(model, engine="litert", threads=1)
    assert np.array_equal(answers(session, x)[0], interpreted(EXP, x)[0])
    assert made(session) is WholeFilePlan
    next(node for node in model.graph if node.op == "Exp").become(
        "Neg", {"T": model.graph.nodes["x"].attrs["dtype"]}
    )
    changed = tfport.Session(model, engine="litert", threads=1)
    assert answers(changed, x)[0].tolist() == (-x).tolist()
    assert made(changed) is Plan


def test_what_is_not_the_whole_file_is_planned():
    x = f32(1, 2, 3).reshape(1, 3)
    bounded = tfport.Session(EXP, engine="litert", threads=1, limits=RunLimits(max_bytes=2**20))
    np.testing.assert_allclose(answers(bounded, x)[0], np.exp(x), rtol=1e-5)
    assert made(bounded) is Plan


@pytest.mark.parametrize(("engine", "plan"), [("default", WholeFilePlan), ("onnxruntime", Plan)])
def test_the_default_engine_hands_over_files_of_usual_ops(engine, plan):
    session = tfport.Session(RELU, engine=engine, threads=1)
    assert answers(session, f32(1, -2, 3).reshape(1, 3))[0].tolist() == [[1, 0, 3]]
    assert made(session) is plan
    if engine == "default":
        assert made_by_default(RELU) is plan


@pytest.mark.parametrize(
    "operators",
    [
        pytest.param([op("EXP", "x", "y")], id="rounds otherwise"),
        pytest.param([op("BROADCAST_ARGS", "s s", "t"), op("RELU", "x", "y")], id="not robust"),
    ],
)
def test_the_default_engine_plans_other_files(operators):
    tensors = {"s": i32(1), "t": "INT32 1"} if len(operators) > 1 else {}
    content = lite_bytes(lite_file(graph("x -> y", *operators, x="FLOAT32 1 3", y="FLOAT32 1 3", **tensors)))
    assert made_by_default(content) is Plan


def test_tfport_computes_empty_inputs():
    session = tfport.Session(RELU, threads=1)
    assert answers(session, np.zeros((0, 3), np.float32))[0].shape == (0, 3)
    assert answers(session, f32(1, -2, 3).reshape(1, 3))[0].tolist() == [[1, 0, 3]]


def test_a_wrong_number_of_parts_is_an_error_and_does_not_reach_litert():
    split = op("SPLIT", "axis x", "y", num_splits=-9)
    content = lite_bytes(lite_file(graph("x -> y", split, axis=i32(0), x="FLOAT32 1 3", y="FLOAT32 1 3")))
    with pytest.raises(tfport.Error, match="has no output 0"):
        made_by_default(content)


def test_a_depthwise_convolution_without_a_bias_is_planned():
    x, weights = f32(*range(36)).reshape(1, 4, 3, 3), f32(*range(12)).reshape(1, 2, 2, 3)
    depthwise = op(
        "DEPTHWISE_CONV_2D", "x w", "y", padding="VALID", stride_w=1, stride_h=1, depth_multiplier=1
    )
    content = lite_bytes(
        lite_file(graph("x -> y", depthwise, x="FLOAT32 1 4 3 3", w=weights, y="FLOAT32 1 3 2 3"))
    )
    planned = answers(tfport.Session(content, engine="onnxruntime", threads=1), x)
    for engine in ("default", "litert"):
        session = tfport.Session(content, engine=engine, threads=1)
        np.testing.assert_allclose(answers(session, x), planned, rtol=1e-5)
        assert made(session) is Plan


def resizing(size=(4, 6), result="FLOAT32 1 4 6 2", image="FLOAT32 1 2 3 2"):
    """A file that enlarges an image."""
    resize = op("RESIZE_BILINEAR", "x size", "y", half_pixel_centers=True)
    return lite_bytes(lite_file(graph("x -> y", resize, x=image, size=np.array(size, np.int32), y=result)))


def test_a_resized_image_goes_to_litert():
    x = f32(*range(12)).reshape(1, 2, 3, 2)
    session = tfport.Session(resizing(), threads=1)
    planned = tfport.Session(resizing(), engine="onnxruntime", threads=1)
    np.testing.assert_allclose(answers(session, x), answers(planned, x), rtol=1e-5)
    assert made(session) is WholeFilePlan


def test_tfport_computes_images_for_other_inputs_than_the_file_states():
    mean, reshape = op("MEAN", "x axis", "m"), op("RESHAPE", "m shape", "image")
    resize = op("RESIZE_BILINEAR", "image size", "y")
    constants = {"axis": i32(0), "shape": i32(1, 2, 3, 2), "size": i32(4, 6)}
    tensors = {"m": "FLOAT32 2 3 2", "image": "FLOAT32 1 2 3 2", "y": "FLOAT32 1 4 6 2", **constants}
    content = lite_bytes(lite_file(graph("x -> y", mean, reshape, resize, x="FLOAT32 ? 2 3 2", **tensors)))
    session, planned = (tfport.Session(content, threads=1, engine=e) for e in ("default", "onnxruntime"))
    for images in (1, 3, 0):
        x = f32(*range(images * 12)).reshape(images, 2, 3, 2)
        np.testing.assert_allclose(answers(session, x), answers(planned, x), rtol=1e-5)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(resizing(size=(4, 7)), id="another size than stated"),
        pytest.param(resizing(image="FLOAT32 ? 2 3 2"), id="any number of images"),
        pytest.param(resizing(size=(4, 6, 1)), id="three sizes"),
        pytest.param(resizing(result="FLOAT32"), id="an unknown result"),
    ],
)
def test_other_images_are_resized_in_tfport(content):
    assert whole_file(tfport.load(content), 1, LiteFiles.ROBUST) is None


def test_a_sum_of_one_number_does_not_reach_litert():
    file = lite_file(graph("x -> y", op("ADD", "x x", "y"), x="FLOAT32 1 3", y="FLOAT32 1 3"))
    (operator,) = file.subgraphs[0].operators
    operator.inputs = (-1, operator.inputs[1])
    for which in (LiteFiles.ROBUST, LiteFiles.ALL):
        assert whole_file(tfport.load(lite_bytes(file)), 1, which) is None


def test_large_products_go_to_litert():
    weights = np.ones((512, 2048), np.float32)
    content = lite_bytes(
        lite_file(
            graph(
                "x -> y", op("FULLY_CONNECTED", "x w", "y"), x="FLOAT32 4 2048", w=weights, y="FLOAT32 4 512"
            )
        )
    )
    session, x = tfport.Session(content, threads=1), np.ones((4, 2048), np.float32)
    assert answers(session, x)[0].tolist() == [[2048.0] * 512] * 4
    assert made(session) is WholeFilePlan


def counting(initial, *, x="FLOAT32 1 3", read="FLOAT32 1 3", assigned=True):
    """A file that adds its input to a variable and returns the sum."""
    handle = op("VAR_HANDLE", "", "v", container="", shared_name="count")
    main = graph(
        "x -> y z",
        op("CALL_ONCE", "", "", init_subgraph_index=1),
        handle,
        op("READ_VARIABLE", "v", "before"),
        op("ADD", "before x", "y"),
        op("ASSIGN_VARIABLE", "v y", ""),
        op("NEG", "y", "z"),
        v="RESOURCE",
        x=x,
        before=read,
        y="FLOAT32 1 3",
        z="FLOAT32 1 3",
    )
    assign = [op("ASSIGN_VARIABLE", "v zero", "")] if assigned else []
    return lite_bytes(lite_file(main, graph("->", handle, *assign, v="RESOURCE", zero=initial)))


ZEROS = np.zeros((1, 3), np.float32)


@pytest.mark.parametrize("engine", ["default", "litert"])
def test_variables_are_in_the_interpreter_of_a_session(engine):
    content, x = counting(ZEROS), f32(1, -2, 3).reshape(1, 3)
    planned = tfport.Session(content, engine="onnxruntime", threads=1)
    session, other = (tfport.Session(content, engine=engine, threads=1) for _ in range(2))
    for array in (x, 2 * x, -x):
        assert np.array_equal(answers(session, array), answers(planned, array))
    signature = session.model.signatures["serving_default"]
    fetches, feeds = [s.tensors[0] for s in signature.outputs.values()], signature.inputs["x"].tensors
    assert session.run(fetches[1], {feeds[0]: x}).tolist() == [[-3, 6, -9]]
    assert {type(plan) for plan in session.plans.plans} == {WholeFilePlan}
    assert answers(other, x)[0].tolist() == x.tolist()
    with pytest.raises(tfport.Error, match="LiteRT has the variables of this session"):
        session.run(fetches, {})


def test_variables_stay_in_tfport_if_the_first_run_is_computed_there():
    session, x = tfport.Session(counting(ZEROS), threads=1), f32(1, -2, 3).reshape(1, 3)
    inner = next(node for node in session.model.graph if node.op.startswith("Add"))
    (feed,) = session.model.signatures["serving_default"].inputs["x"].tensors
    assert session.run(f"{inner.name}:0", {feed: x}).tolist() == x.tolist()
    answers(session, x)
    assert WholeFilePlan not in {type(plan) for plan in session.plans.plans}


def test_a_variable_that_would_grow_stays_in_tfport():
    """LiteRT 2.3.0 ends the process in the second call."""
    session = tfport.Session(counting(ZEROS, x="FLOAT32 4 3"), engine="litert", threads=1)
    for number in (1, 2):
        assert answers(session, np.ones((4, 3), np.float32))[0].tolist() == [[number] * 3] * 4
    assert made(session) is Plan


def test_calls_from_several_threads_all_count():
    session, x = tfport.Session(counting(ZEROS), threads=1), np.ones((1, 3), np.float32)
    call = session.signature()
    with ThreadPoolExecutor(4) as threads:
        counts = sorted(answer["y"][0, 0] for answer in threads.map(lambda _: call(x=x), range(40)))
    assert counts == list(range(1, 41))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(counting(ZEROS, read="FLOAT32 3"), id="another shape"),
        pytest.param(counting(np.zeros((1, 1), np.float32)), id="another size"),
        pytest.param(counting(ZEROS, assigned=False), id="not set"),
    ],
)
def test_other_variables_stay_in_tfport(content):
    assert whole_file(tfport.load(content), 1, LiteFiles.ALL) is None


@pytest.mark.parametrize(("epsilon", "plan"), [(1e-5, WholeFilePlan), (0, Plan)])
def test_a_normalization_goes_to_litert_if_its_root_is_of_a_positive_number(epsilon, plan):
    names = ["x", "square", "mean", "sum", "root", "y"]
    content = lite_bytes(
        lite_file(
            graph(
                "x -> y",
                op("MUL", "x x", "square"),
                op("MEAN", "square axis", "mean"),
                op("ADD", "mean epsilon", "sum"),
                op("RSQRT", "sum", "root"),
                op("MUL", "x root", "y"),
                axis=i32(1),
                epsilon=f32(epsilon),
                **{n: "FLOAT32 1" if n in ("mean", "sum", "root") else "FLOAT32 1 3" for n in names},
            )
        )
    )
    assert made_by_default(content) is plan


def test_a_file_with_a_loop_is_planned():
    content = lite_bytes(
        lite_file(
            graph(
                "x -> y",
                op("WHILE", "x", "y", cond_subgraph_index=1, body_subgraph_index=2),
                x="INT32 1",
                y="INT32 1",
            ),
            graph("x -> y", op("LESS", "x limit", "y"), x="INT32 1", y="BOOL 1", limit=i32(9)),
            graph("x -> y", op("ADD", "x one", "y"), x="INT32 1", y="INT32 1", one=i32(4)),
        )
    )
    session = tfport.Session(content, engine="litert", threads=1)
    assert answers(session, i32(2))[0].tolist() == [10]
    assert made(session) is Plan


def test_an_error_is_one_sentence_that_names_the_node():
    content = lite_bytes(
        lite_file(graph("i -> y", op("GATHER", "x i", "y"), i="INT32 2", y="FLOAT32 2", x=f32(1, 2, 3)))
    )
    session = tfport.Session(content, engine="litert", threads=1)
    assert answers(session, i32(2, 0))[0].tolist() == [3, 1]
    with pytest.raises(tfport.RunFailed, match=r"out of range|not in"):
        answers(session, i32(2, 7))


@pytest.mark.parametrize(("gpu", "cpu", "expected"), [(2, 1, WholeFilePlan), (1, 2, Plan)])
def test_auto_measures_the_gpu_against_it(monkeypatch, tmp_path, gpu, cpu, expected):
    engine = engine_on_cpu()
    engine.rival = Rival(make_engine("default", 1), ChoiceCache(tmp_path), ("a GPU",))
    monkeypatch.setattr(placed_plan, "quick_times", lambda *arguments: (gpu, cpu))
    session = tfport.Session(WAKE_WORD, engine=engine)
    (spec,) = next(iter(session.model.signatures.values())).inputs.values()
    sound = np.ones([size or 1 for size in spec.shape.dims], spec.dtype.numpy)
    answer, *_ = [answers(session, sound) for _ in range(placed_plan.CALLS_BEFORE)]
    (plan,) = session.plans.plans
    plan.race.join()
    assert plan.device == (CPU if cpu < gpu else GPU)
    assert [type(made) for made in plan._plans.values()] == [expected]
    for _ in range(3):
        for before, after in zip(answer, answers(session, sound), strict=True):
            assert np.abs(before.astype(int) - after).max() <= 1
