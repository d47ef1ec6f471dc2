"""Fits to Dask collections: rounds on the cluster, or in this process if the rows are few."""

from typing import Any

from ..data.targets import check_has_order
from ..extras import missing
from ..fitting import sequence
from ..fitting.job import FitContext, FittedModel
from ..fitting.plan import may_be_gathered
from ..fitting.settings import FitSettings
from ..numerics.precision import resolve_dtype
from ..progress import note


def fit_on_cluster(
    settings: FitSettings,
    X: Any,
    y: Any,
    sample_weight: Any,
    context: FitContext,
    warm: FittedModel | None,
) -> FittedModel:
    """Fit to rows X with targets y, Dask collections that are cut alike."""
    try:
        from ..distributed.fitting import rows_on_cluster
    except ImportError as error:
        what = "fitting to Dask collections needs dask and distributed"
        raise ImportError(missing(what, "dask")) from error
    numbers = settings.targets == "numbers"
    with rows_on_cluster(
        X,
        y,
        sample_weight,
        class_weight=settings.class_weight,
        dtype=resolve_dtype(settings.dtype),
        device=settings.device,
        checkpoint=settings.checkpoint,
        of_numbers=settings.starting_likelihood(None).encoded if numbers else None,
    ) as rows:
        if not (rows.is_small and may_be_gathered(settings)):
            return sequence.fit(settings, rows, context, warm)
        if settings.likelihood == "ordinal" and rows.classes is not None:
            check_has_order(rows.classes)
        if settings.verbose:
            note(f"{rows.n_rows:,} rows are few for a cluster: they are fitted in this process")
        gathered = rows.gathered()
    return sequence.fit(settings, gathered, context, warm)
