"""`tfport ops --tfport`: how tfport runs an op."""

import json

from tfport.cli.main import main


def test_ops_lists_how_tfport_runs_an_op(capsys):
    assert main(["ops", "--tfport", "Conv2D", "StringLower", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ops"] == [
        {"name": "Conv2D", "runs": ["onnx", "numpy", "plan"], "provider": None},
        {"name": "StringLower", "runs": ["numpy"], "provider": None},
    ]
    assert main(["ops", "--tfport", "NcclAllReduce"]) == 1
    assert capsys.readouterr().err == "tfport: NcclAllReduce has no kernel in tfport\n"
