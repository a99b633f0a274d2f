"""`tfport ops`: text of 80 columns, JSON, suggestions and exit codes."""

import json

import pytest

from tfport.cli.main import main


@pytest.fixture
def tfport(capsys):
    """Run a command: exit code, standard output, standard error."""

    def run(*argv):
        code = main(argv)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize("op", ["FusedBatchNormV3", "Cast", "CudnnRNN", "VarHandleOp", "Resampler", "NoOp"])
def test_a_history_fits_in_80_columns(tfport, op):
    code, out, err = tfport("ops", op)
    assert (code, err) == (0, "")
    assert out.splitlines()[1].startswith(f"{op}  tensorflow ")
    assert max(map(len, out.splitlines())) <= 80


def test_a_history_shows_changes_and_kernels(tfport):
    _, out, _ = tfport("ops", "FusedBatchNormV3")
    assert "FusedBatchNormV3  tensorflow since 1.14.0" in out
    assert "2.2.0  attribute exponential_avg_factor: float = 1 added" in out
    assert ["CPU", "since", "1.14.0", "float32,", "float16"] in map(str.split, out.splitlines())


def test_a_history_shows_what_xla_compiles(tfport):
    rows = [line.split() for line in tfport("ops", "StringSplit", "Bincount")[1].splitlines()]
    assert ["XLA_CPU_JIT", "none", "in", "2.9.1", "to", "2.21.0"] in rows
    assert ["XLA_CPU_JIT", "2.10.1", "to", "2.21.0", "float32,", "float64,", "int32,", "int64"] in rows


def test_json_has_what_xla_compiles(tfport):
    described = json.loads(tfport("ops", "Resampler", "Bincount", "--json")[1])["ops"]
    of_addon, of_tensorflow = (op["compiled_by_xla"] for op in described)
    assert of_addon == []
    on_cpu, on_gpu = of_tensorflow
    assert (on_cpu["device"], on_cpu["recorded"]) == ("XLA_CPU_JIT", {"first": "2.9.1", "last": "2.21.0"})
    assert on_cpu["kernels"][0]["releases"] == [{"first": "2.10.1", "last": "2.21.0"}]
    assert on_gpu["recorded"] == {"first": "2.21.0", "last": "2.21.0"}


def test_later_versions_of_an_op_are_listed(tfport):
    assert (
        "later       BatchMatMulV2 since 1.14.0, BatchMatMulV3 since 2.6.0" in tfport("ops", "BatchMatMul")[1]
    )


def test_several_ops_at_once(tfport):
    code, out, _ = tfport("ops", "AddV2", "NoOp")
    assert code == 0
    assert out.index("\nAddV2 ") < out.index("\nNoOp ")


def test_an_unknown_op_gets_suggestions(tfport):
    close = "did you mean BatchMatMulV2, BatchMatMulV3 or BatchMatMul?"
    assert tfport("ops", "batchmatmulv2") == (
        2,
        "",
        f"tfport: batchmatmulv2: no recorded build registers this op; {close}\n",
    )
    assert tfport("ops", "Zzzzzzzzzz") == (2, "", "tfport: Zzzzzzzzzz: no recorded build registers this op\n")


def test_known_ops_are_shown_even_if_others_are_unknown(tfport):
    code, out, err = tfport("ops", "NoOp", "Nop\x1b[2J")
    assert code == 2
    assert "NoOp  tensorflow" in out
    assert "Nop\\x1b[2J: no recorded build registers this op" in err


def test_the_history_as_json(tfport):
    code, out, _ = tfport("ops", "FusedBatchNormV3", "Zzzzzzzzzz", "--json")
    document = json.loads(out)
    (op,) = document["ops"]
    assert (code, document["version"], document["unknown"]) == (2, 1, {"Zzzzzzzzzz": []})
    assert (op["name"], op["since"], op["until"], op["type_attr"]) == (
        "FusedBatchNormV3",
        "1.14.0",
        None,
        "T",
    )
    stock = op["providers"][0]
    assert (stock["package"], stock["library"]) == ("tensorflow", None)
    assert stock["releases"][0]["first"] == "1.14.0"
    assert {"release": "2.9.0", "changes": ["attribute U also accepts bfloat16"]} in stock["changes"]
    assert stock["kernels"][0]["device"] == "CPU"
    assert set(stock["kernels"][0]) == {"device", "types", "label", "releases"}
    attrs = {attr["name"]: attr for attr in op["definition"]["attrs"]}
    assert attrs["epsilon"] == {"name": "epsilon", "type": "float", "default": 0.0001}
    assert attrs["T"]["allowed"] == ["float16", "bfloat16", "float32"]


def test_a_search(tfport):
    code, out, _ = tfport("ops", "--search", "batchnorm")
    assert code == 0
    assert "FusedBatchNormV3" in out
    assert max(map(len, out.splitlines())) <= 80
    document = json.loads(tfport("ops", "--search", "batchmatmul?2", "--json")[1])
    assert [op["name"] for op in document["ops"]] == ["BatchMatMulV2"]
    assert document["version"] == 1


def test_a_search_without_matches_is_an_error(tfport):
    assert tfport("ops", "--search", "Zzz") == (2, "", "tfport: no recorded op matches 'Zzz'\n")
    assert json.loads(tfport("ops", "--search", "Zzz", "--json")[1])["ops"] == []


def test_names_and_search_exclude_each_other(tfport):
    expected = "tfport: expected either names of ops or --search PATTERN\n"
    assert tfport("ops") == (2, "", expected)
    assert tfport("ops", "NoOp", "--search", "No") == (2, "", expected)
    assert tfport("ops", "--search", "No", "--on", "tensorflow==2.8")[0] == 2


def test_the_definition_that_one_target_registers(tfport):
    code, out, _ = tfport("ops", "HashTableV2", "--on", "tensorflow==1.4.1")
    assert code == 0
    assert out.splitlines()[1:4] == [
        "HashTableV2  tensorflow 1.4.1",
        '  REGISTER_OP("HashTableV2")',
        '      .Output("table_handle: resource")',
    ]
    code, out, _ = tfport("ops", "Cast", "Sum", "--on", "tensorflow==2.21.0")
    assert "SrcT=float32, bfloat16, float16" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_definition_that_one_target_registers_as_json(tfport):
    code, out, _ = tfport("ops", "Sum", "BatchMatMulV2", "--on", "tensorflow==1.13.2", "--json")
    document = json.loads(out)
    assert (code, document["version"], document["target"]) == (1, 1, "tensorflow==1.13.2")
    assert document["missing"] == ["BatchMatMulV2"]
    (op,) = document["ops"]
    assert (op["name"], op["provider"]) == ("Sum", "tensorflow 1.13.2")
    gpu = next(k for k in op["kernels"] if k["device"] == "CPU")
    assert set(gpu) == {"device", "constraints", "host_memory", "label", "priority"}


def test_an_unregistered_op_names_the_releases_that_register_it(tfport):
    assert tfport("ops", "BatchMatMulV2", "--on", "tensorflow==1.13.2") == (
        1,
        "",
        "tfport: tensorflow 1.13.2 does not register BatchMatMulV2; it is in tensorflow since 1.14.0\n",
    )
    code, _, err = tfport("ops", "batchmatmulv2", "--on", "tensorflow==1.13.2")
    assert code == 1
    assert "nor does any recorded build; did you mean BatchMatMulV2" in err


def test_only_one_target_is_accepted(tfport):
    code, _, err = tfport("ops", "NoOp", "--on", "tensorflow>=2.20")
    assert code == 2
    assert "tensorflow>=2.20: expected one target, found 2: " in err
