"""Fits to Dask collections: the rows stay on the cluster. Order and manners only."""

from typing import Any

import numpy as np

from ..data.standardise import Moments, Standardiser
from ..data.tables import warn_of_constant_columns
from ..data.targets import class_factors
from ..extras import missing
from ..likelihoods import Bernoulli
from ..numerics.precision import resolve_dtype
from .local_fits import check_warm
from .minibatches import Table, check_same_width


def fit_on_cluster(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit `estimator` to a Dask array or dataframe with the Dask client in use."""
    try:
        from ..distributed.collections import pieces
        from ..distributed.connection import current_client
        from ..distributed.fitting import ClusterRows
    except ImportError as error:
        what = "fitting to Dask collections needs dask and distributed"
        raise ImportError(missing(what, "dask")) from error
    estimator._check_parameters()
    if y is None:
        raise ValueError("fit needs y, the labels, as a Dask array or series cut like X.")
    cut = pieces(X, y, sample_weight)
    warm = estimator._warm()
    with current_client() as client:
        rows = ClusterRows(client, cut, X, estimator.checkpoint)
        survey = rows.survey
        if warm is not None:
            check_same_width(warm, survey.n_features)
        _set_features(estimator, survey.n_features, cut.feature_names)
        estimator.classes_ = survey.classes
        fit_plan = estimator._fit_plan(survey.n_rows, on_cluster=True)
        check_warm(warm, fit_plan)
        factors = class_factors(estimator.class_weight, survey.classes, survey.class_totals)
        moments = survey.moments(factors)
        extremes = np.array([moments.minimum, moments.maximum])
        warn_of_constant_columns(extremes, getattr(estimator, "feature_names_in_", None))
        estimator._standardiser = _standardiser(estimator, moments, warm)
        dtype = resolve_dtype(estimator.dtype)
        preparation = rows.preparation(estimator._standardiser, factors, dtype, estimator.device)
        table = Table(
            survey.n_rows,
            lambda: survey.digest,
            lambda numbers: rows.take(numbers, preparation),
            None,
            lambda _: rows.summation(preparation),
        )
        estimator._fit_table(table, fit_plan, Bernoulli(estimator.likelihood), warm)


def _set_features(estimator: Any, n_features: int, names: tuple[str, ...] | None) -> None:
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _standardiser(estimator: Any, moments: Moments, warm: Any) -> Standardiser:
    if warm is not None:
        return warm.standardiser
    if not estimator.standardize:
        return Standardiser.identity(len(moments.mean))
    return Standardiser(moments.mean, moments.scale).rounded()
