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
from .inspect import contents_in_words
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
        help="For a target with two values: the value whose probability is predicted. By default "
        "the greater one (true, 1, or the last in alphabetical order). With more than two values, "
        "each gets a probability.",
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
        help="auto, rbf, matern12, matern32, matern52, rational_quadratic, hyperbolic, periodic, "
        'linear, polynomial, or a sum: "rbf + linear".'
    ),
]
Inducing = Annotated[
    int | None,
    typer.Option(min=1, help="The number of inducing points; by default it grows with the rows."),
]
Method = Annotated[
    str,
    typer.Option(
        help="The inference method. For classes: sparse_kl, full_kl, local, laplace, ep, fitc_ep, "
        "mean_field, sparse_mean_field, two_stage, ivm. For numbers: exact, titsias, svi, "
        "sparse_kl, full_kl, local. docs/choosing-a-method.md compares them."
    ),
]
NoRows = Annotated[
    bool,
    typer.Option(
        "--no-rows",
        help="Use only methods whose model contains no row of the table. Such a model can be "
        "exported.",
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        help="classification or regression; auto is regression for a column of many distinct "
        "numbers, and a message says so."
    ),
]
Likelihood = Annotated[
    str,
    typer.Option(
        help="For classes: probit or logit for two, softmax for any number (mean field methods: "
        "probit), ordinal for ranks; auto is probit for two, softmax for more. For numbers: "
        "gaussian (auto), student_t, laplace, heteroscedastic, poisson, negative_binomial, gamma, "
        "beta."
    ),
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        help="Time limit in seconds for everything: reading, training, the last scores.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="The seed of all random numbers.")]
HoldOut = Annotated[
    float,
    typer.Option(
        "--holdout",
        min=0.0,
        max=0.9,
        help="The share of the rows that is kept for the scores and not used in training; at most "
        "about 100,000 rows.",
    ),
]
Weight = Annotated[
    str | None, typer.Option(help="The column with the weight of each row.", show_default=False)
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help="Use only this column; may be repeated."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Do not use this column; may be repeated.")]
Column = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=KIND",
        help="Treat the column NAME as text, number or date, or skip it; may be repeated. By "
        "default the kind is detected and printed.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="The folder where a long run saves its state, for --resume. By default a folder "
        "beside the model file, which is deleted when the run has ended."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run that was interrupted.")]
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
    typer.Option(
        min=1, help="Fit with this number of Dask workers on this machine.", show_default=False
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu or gpu.")]


def command(
    sources: Sources,
    target: Target,
    positive: Positive = None,
    task: Kind = "auto",
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
    """Learn to predict a column, of classes or of numbers, from the other columns.

    A target column of many distinct numbers is learned as a number (regression), any other as
    classes; --task overrides this. A tenth of the rows is held out. At the end the model is scored
    on them, beside two simple models: the majority class and a logistic regression, or the mean and
    a ridge regression. Ctrl-C ends training and saves the model as it is then.

    Example: fewknots fit flights.parquet --target late --kernel "matern32 + linear"
    """
    given = dict(locals())
    check_sources(sources)
    destination = out or default_destination(sources[0])
    check_destination(destination)
    import sys

    from ..data.csv_dialect import CsvOptions
    from ..data.table_paths import as_files
    from ..stopping import TimeLimit, listening
    from ..tables.fit import RunOptions, fit_files
    from ..tables.reading import Task
    from .tasks import estimators_for

    asked = {
        "kernel": kernel,
        "n_inducing": inducing or "auto",
        "method": method,
        "store_rows": not no_rows,
        "likelihood": likelihood,
        "max_time": max_time,
        "random_state": seed,
        "device": device,
        "verbose": int(sys.stderr.isatty()),
    }
    candidates = estimators_for(task, asked)
    options = CsvOptions.checked(separator, decimal, encoding)
    wanted = Task(target, positive, weight, features or None, drop or (), _kinds(column or ()))
    seen = ColumnReport(printed=not as_json)
    folder = checkpoint or destination.with_name(f"{destination.name}.checkpoint")
    if cluster is not None and workers is not None:
        raise typer.BadParameter("use either --cluster or --workers, not both.")
    started = time.perf_counter()
    limit = None if max_time is None else TimeLimit(max_time, started)
    run = RunOptions(holdout, seed, folder, resume, cluster=cluster, workers=workers, limit=limit)
    with as_files(sources) as files, listening() as interruption, ReadingLine() as watch:
        model = fit_files(files, wanted, candidates, run, watch, options, seen)
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
        again = " Run the same command with --resume to continue." if folder.is_dir() else ""
        say(
            f"Interrupted. {destination} contains the model as trained until then. To score it, "
            f"run 'fewknots evaluate {destination}'.{again}"
        )
        raise typer.Exit(exit_code_of_interruption())
    # not from converged_: minibatch training plans its steps to end with the time
    if max_time is not None and seconds > 0.8 * max_time:
        say("Note: the fit used all its time (--max-time); with more, the model may be better.")
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
    from ..estimators.in_words import stored_rows
    from ..estimators.saved_model import contest_header
    from .tasks import TASKS

    return {
        "model": str(path),
        "target": model.target,
        "task": TASKS[model.labels.learns],
        "positive": model.positive,
        "classes": list(getattr(model.labels, "values", ())),
        "rows": {"learned_from": model.n_rows, "held_out": model.about["hold_out"]["rows"]},
        "inputs": list(model.feature_names),
        "kernel": " ".join(str(model.estimator.kernel_).split()),
        "method": model.estimator.method_,
        "contest": contest_header(model.estimator),
        "stored_rows": stored_rows(model.estimator),
        "holds": contents_in_words(model.estimator, model),
        "points": len(model.estimator.posterior_.points),
        "log_evidence": model.estimator.log_evidence_,
        "converged": model.estimator.converged_,
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
            raise typer.BadParameter(
                f"--column {text}: use NAME=KIND; KIND is one of {', '.join(KINDS)}."
            )
        chosen[name] = kind
    return chosen


def _print(model: "TableModel", path: Path, seconds: float) -> None:
    from ..estimators.in_words import method_in_words

    held_out = model.about["hold_out"]
    typer.echo(
        f"{path}: predicts {model.predicted} from {len(model.recipe.columns)} columns "
        f"({len(model.feature_names)} inputs), trained on {model.n_rows:,} rows in {seconds:.1f} s."
    )
    typer.echo(f"Method: {method_in_words(model.estimator)}.")
    typer.echo(f"The file contains {contents_in_words(model.estimator, model)}")
    if not held_out["scores"]:
        n = held_out["rows"]
        why = f"The {n:,} rows held out were not scored" if n else "No row was held out"
        typer.echo(f"{why}, so there are no scores.")
        return
    scored = held_out["scored"]
    some = "" if scored == held_out["rows"] else f"{scored:,} of the "
    score_table(held_out["scores"], f"{some}{held_out['rows']:,} held-out rows")
    typer.echo(verdict(held_out["gain"], scored))
