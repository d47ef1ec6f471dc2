"""`fewknots export`: a model that runs without Python and without JAX."""

from pathlib import Path
from typing import Annotated

import typer

from .inputs import Debug, Json, Model, check_model, command_without_rows
from .output import check_destination, print_json

Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="The ONNX file; by default MODEL.onnx.")
]
DType = Annotated[str, typer.Option("--dtype", help="float32 or float64.")]


def command(
    model: Model,
    out: Out = None,
    dtype: DType = "float32",
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a model of classes as one ONNX graph: inputs to probabilities.

    Example: fewknots export flights.fewknots --out flights.onnx
    """
    check_model(model)
    destination = out or Path(model.with_suffix(".onnx").name)
    check_destination(destination)
    from sklearn.pipeline import Pipeline

    from ..exceptions import ModelFileError
    from ..export import to_onnx
    from ..loading import load
    from ..tables.model import TableModel

    loaded = load(model)
    estimator = loaded.estimator if isinstance(loaded, TableModel) else loaded
    if not isinstance(loaded, Pipeline) and estimator._learns != "classes":
        raise ModelFileError(
            f"{model} contains a {type(estimator).__name__}: only classifiers are exported to "
            "ONNX. "
            "Use models of numbers in Python or with 'fewknots predict'."
        )
    if isinstance(loaded, TableModel) and not loaded.estimator._method.exports_to_onnx:
        raise ModelFileError(
            f"{model} was fitted by method {loaded.estimator.method_!r}, which looks up "
            "neighbours among its rows; an ONNX graph cannot do that. To fit a model that can be "
            f"exported, run: {command_without_rows(loaded, model)}"
        )
    if isinstance(loaded, Pipeline):
        to_onnx(loaded, destination, dtype=dtype)
    else:
        loaded.to_onnx(destination, dtype=dtype)
    size = destination.stat().st_size
    if as_json:
        print_json({"out": str(destination), "bytes": size})
    else:
        typer.echo(f"{destination}: {size:,} bytes.")
