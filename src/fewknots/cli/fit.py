"""`fewknots fit`: from files to a model file."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .inputs import (
    Debug,
    Decimal,
    Encoding,
    Json,
    Separator,
    Sources,
    check_sources,
    relative_paths,
    task_options,
)
from .inspect import contents_in_words, method_in_words, stored_rows
from .output import ColumnReport, ReadingLine, check_destination, print_json, score_table, verdict
from .running import exit_code_of_interruption, say

if TYPE_CHECKING:
    from ..tables.model import TableModel

Target = Annotated[
    str, typer.Option("--target", "-t", help="The column to predict.", show_default=False)
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="Which of the target's two values to give the probability of; by default the greater "
        "one (true, 1, the later word). Not for more values: each gets its probability.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The model file; by default named after the first source."),
]
Kernel = Annotated[
    str,
    typer.Option(
        help="auto, rbf, matern12, matern32, matern52, rational_quadratic, periodic, linear, "
        'polynomial, or a sum: "rbf + linear".'
    ),
]
Inducing = Annotated[
    int | None,
    typer.Option(min=1, help="How many inducing points; by default grows with the rows."),
]
Method = Annotated[
    str, typer.Option(help="The inference method; docs/choosing-a-method.md says which when.")
]
NoRows = Annotated[
    bool,
    typer.Option(
        "--no-rows",
        help="Use only methods whose model contains no row of the table. Such a model can be "
        "exported.",
    ),
]
Likelihood = Annotated[
    str,
    typer.Option(
        help="probit or logit for two classes, softmax for any number (mean field methods: "
        "probit); auto is probit for two, softmax for more."
    ),
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        help="Time limit in seconds for everything: reading, training, the last scores.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="For everything that is random.")]
HoldOut = Annotated[
    float,
    typer.Option(
        "--holdout",
        min=0.0,
        max=0.9,
        help="The share of the rows to score and not to learn from, at most about 100,000 rows.",
    ),
]
Weight = Annotated[
    str | None, typer.Option(help="A column that says how often a row counts.", show_default=False)
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help="Use this column (and no other that is not named); may be repeated."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Leave this column out; may be repeated.")]
Column = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=KIND",
        help="Take this column for text, number, date, or skip it; may be repeated. By default "
        "that is recognised, and shown.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="A folder in which to keep a long run as it goes; by default beside the model file, "
        "until the run is over."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Fit on the Dask cluster whose scheduler is at this address, such as "
        "tcp://host:8786; its workers read the files themselves.",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Fit with so many Dask workers on this machine.", show_default=False),
]
Device = Annotated[str, typer.Option(help="auto, cpu or gpu.")]


def command(
    sources: Sources,
    target: Target,
    positive: Positive = None,
    out: Out = None,
    kernel: Kernel = "auto",
    inducing: Inducing = None,
    method: Method = "auto",
    no_rows: NoRows = False,
    likelihood: Likelihood = "auto",
    max_time: MaxTime = None,
    holdout: HoldOut = 0.1,
    seed: Seed = 0,
    features: Columns = None,
    drop: Drop = None,
    column: Column = None,
    weight: Weight = None,
    checkpoint: Checkpoint = None,
    resume: Resume = False,
    device: Device = "auto",
    cluster: Cluster = None,
    workers: Workers = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn to predict a column of classes, two or more, from the other columns.

    A tenth of the rows is held out; at the end the model is scored on them, beside the majority
    class and a logistic regression. Ctrl-C ends training with what was learned by then.

    Example: fewknots fit flights.parquet --target late --kernel "matern32 + linear"
    """
    given = dict(locals())
    check_sources(sources)
    destination = out or default_destination(sources[0])
    check_destination(destination)
    import sys

    from ..data.csv_dialect import CsvOptions
    from ..data.table_paths import as_files
    from ..estimators import GPClassifier
    from ..fitting.settings import one_of
    from ..kernels import as_kernel
    from ..likelihoods import LINKS
    from ..numerics.precision import DEVICES, on_device
    from ..stopping import TimeLimit, listening
    from ..tables.fit import RunOptions, fit_files
    from ..tables.reading import Task

    one_of("--likelihood", likelihood, (*LINKS, "softmax", "auto"))
    classifier = GPClassifier(
        kernel=kernel if kernel == "auto" else as_kernel(kernel),
        n_inducing=inducing or "auto",
        method=method,
        store_rows=not no_rows,
        likelihood=likelihood,
        max_time=max_time,
        random_state=seed,
        device=device,
        verbose=int(sys.stderr.isatty()),
    )
    one_of("device", device, DEVICES)
    with on_device(device):
        classifier._settings()  # a wrong value is an error now, not after hours of reading
    options = CsvOptions.checked(separator, decimal, encoding)
    task = Task(target, positive, weight, features or None, drop or (), _kinds(column or ()))
    seen = ColumnReport(printed=not as_json)
    folder = checkpoint or destination.with_name(f"{destination.name}.checkpoint")
    if cluster is not None and workers is not None:
        raise typer.BadParameter("say either --cluster or --workers, not both.")
    started = time.perf_counter()
    limit = None if max_time is None else TimeLimit(max_time, started)
    run = RunOptions(holdout, seed, folder, resume, cluster=cluster, workers=workers, limit=limit)
    with as_files(sources) as files, listening() as interruption, ReadingLine() as watch:
        model = fit_files(files, task, classifier, run, watch, options, seen)
    if (places := relative_paths(sources, destination)) is not None:
        model.about["source"] = places
    model.about["csv"] = options._asdict()
    model.about["options"] = task_options(command, given)
    model.save(destination)
    seconds = time.perf_counter() - started
    if as_json:
        summary = _summary(model, destination, seconds, interruption.seen)
        print_json(summary | seen.as_json())
    else:
        _print(model, destination, seconds)
    if interruption.seen:
        again = " The same command with --resume goes on." if folder.is_dir() else ""
        say(
            f"Interrupted; {destination} holds what was learned by then, and 'fewknots evaluate "
            f"{destination}' scores it.{again}"
        )
        raise typer.Exit(exit_code_of_interruption())
    if checkpoint is None:
        _remove_checkpoints(folder)


def default_destination(source: str) -> Path:
    """flights.fewknots for data/flights.csv.gz, in the current folder."""
    name = Path(source).name.split(".")[0]
    return Path(f"{'model' if not name.strip('*?-') else name}.fewknots")


def _remove_checkpoints(folder: Path) -> None:
    """Delete the checkpoints of a finished run, and no other file in the folder."""
    for path in folder.rglob("step-*.checkpoint"):
        path.unlink()
    for part in (*folder.glob("*/"), folder):  # each method that competed has its own subfolder
        if part.is_dir() and not any(part.iterdir()):
            part.rmdir()


def _summary(model: "TableModel", path: Path, seconds: float, interrupted: bool) -> dict[str, Any]:
    from ..estimators.saved_model import contest_header

    return {
        "model": str(path),
        "target": model.target,
        "positive": model.positive,
        "classes": list(model.labels.values),
        "rows": {"learned_from": model.n_rows, "held_out": model.about["hold_out"]["rows"]},
        "inputs": list(model.feature_names),
        "kernel": " ".join(str(model.classifier.kernel_).split()),
        "method": model.classifier.method_,
        "contest": contest_header(model.classifier),
        "stored_rows": stored_rows(model.classifier),
        "holds": contents_in_words(model.classifier, model),
        "points": len(model.classifier.posterior_.points),
        "log_evidence": model.classifier.log_evidence_,
        "converged": model.classifier.converged_,
        "interrupted": interrupted,
        "seconds": seconds,
        "scores": model.about["hold_out"]["scores"],
        "gain": model.about["hold_out"].get("gain"),
    }


def _kinds(given: Sequence[str]) -> dict[str, str]:
    """Parse the values of --column, each of the form NAME=KIND."""
    from ..tables.reading import KINDS

    chosen = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or kind not in KINDS:
            raise typer.BadParameter(f"--column {text}: say NAME=KIND, with {', '.join(KINDS)}.")
        chosen[name] = kind
    return chosen


def _print(model: "TableModel", path: Path, seconds: float) -> None:
    held_out = model.about["hold_out"]
    typer.echo(
        f"{path}: {model.predicted} from {len(model.feature_names)} inputs of "
        f"{len(model.recipe.columns)} columns, learned from {model.n_rows:,} rows in "
        f"{seconds:.1f} s."
    )
    typer.echo(f"Method: {method_in_words(model.classifier)}.")
    typer.echo(f"The file holds {contents_in_words(model.classifier, model)}")
    if not held_out["scores"]:
        n = held_out["rows"]
        why = f"The {n:,} rows held out were not scored" if n else "No row was held out"
        typer.echo(f"{why}, so there are no scores.")
        return
    scored = held_out["scored"]
    some = "" if scored == held_out["rows"] else f"{scored:,} of the "
    score_table(held_out["scores"], f"{some}{held_out['rows']:,} rows held out")
    typer.echo(verdict(held_out["gain"], scored))
