"""The other libraries of benchmarks/tables.py: how each is fitted, and what is searched for.

Needs numpy, scikit-learn and those of lightgbm, xgboost and catboost that are to take part; neither
fewknots nor pandas.

The spaces are each library's `space`: the usual arguments and ranges (compare Gorishniy et al. 2021
and Grinsztajn et al. 2022), narrower at the ends, where few of 30 settings should be spent. The
learning rate is not below 0.02, for few rounds of trees are tried (tables_fits.py).
"""

from typing import Any

import numpy as np

PATIENCE = 30  # rounds without a better NLP


# --- search spaces --------------------------------------------------------------------------------


def log_uniform(low, high):
    return lambda rng: float(np.exp(rng.uniform(np.log(low), np.log(high))))


def uniform(low, high):
    return lambda rng: float(rng.uniform(low, high))


def whole(low, high):
    return lambda rng: int(rng.integers(low, high + 1))


def log_whole(low, high):
    return lambda rng: round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


RATE = log_uniform(0.02, 0.3)


class Peer:
    """A library: how its model is made, and what is searched for. `mask`: which are categories."""

    library: str | None = None
    space: dict[str, Any] | None = None
    trees: str | None = None  # the argument that is found by stopping early

    def __init__(self, mask):
        self.mask, self.categories = mask, np.flatnonzero(mask).tolist()

    def model(self, **options):
        raise NotImplementedError

    def rows(self, X):
        return X

    def fit(self, model, X, y, **more):
        return model.fit(self.rows(X), y, **more)

    def watched(self, options, most, X, y, X_val, y_val):
        """A fit that stops when other rows' NLP no longer falls: best number of trees, NLP."""
        raise NotImplementedError


class LightGBM(Peer):
    """Trees grown leaf by leaf."""

    library, trees = "lightgbm", "n_estimators"
    space = {  # noqa: RUF012
        "learning_rate": RATE,
        "num_leaves": log_whole(4, 128),
        "min_child_samples": log_whole(2, 100),
        "subsample": uniform(0.5, 1.0),
        "colsample_bytree": uniform(0.4, 1.0),
        "reg_lambda": log_uniform(1e-3, 30.0),
    }

    def model(self, **options):
        from lightgbm import LGBMClassifier

        if "subsample" in options:
            options["subsample_freq"] = 1
        return LGBMClassifier(random_state=0, verbose=-1, n_jobs=1, **options)

    def fit(self, model, X, y, **more):
        return model.fit(X, y, categorical_feature=self.categories, **more)

    def watched(self, options, most, X, y, X_val, y_val):
        from lightgbm import early_stopping

        stop = [early_stopping(PATIENCE, verbose=False)]
        model = self.model(n_estimators=most, **options)
        self.fit(model, X, y, eval_set=[(X_val, y_val)], callbacks=stop)
        return model.best_iteration_, next(iter(model.best_score_["valid_0"].values()))


_FEW_INPUTS = 3


class XGBoost(Peer):
    """Trees grown level by level."""

    library, trees = "xgboost", "n_estimators"
    space = {  # noqa: RUF012
        "learning_rate": RATE,
        "max_depth": whole(2, 9),
        "min_child_weight": log_uniform(0.5, 30.0),
        "subsample": uniform(0.5, 1.0),
        "colsample_bytree": uniform(0.4, 1.0),
        "reg_lambda": log_uniform(0.1, 30.0),
    }

    def model(self, **options):
        from xgboost import XGBClassifier

        if "colsample_bytree" in options and len(self.mask) <= _FEW_INPUTS:
            options["colsample_bytree"] = 1.0  # XGBoost rounds down: of two inputs a tree had one
        kinds = ["c" if is_category else "q" for is_category in self.mask]
        return XGBClassifier(
            random_state=0,
            n_jobs=1,
            feature_types=kinds,
            enable_categorical=True,
            **options,
        )

    def watched(self, options, most, X, y, X_val, y_val):
        model = self.model(n_estimators=most, early_stopping_rounds=PATIENCE, **options)
        self.fit(model, X, y, eval_set=[(X_val, y_val)], verbose=False)
        return model.best_iteration + 1, float(model.best_score)


class HistogramBoosting(Peer):
    """That of scikit-learn."""

    trees = "max_iter"
    space = {  # noqa: RUF012
        "learning_rate": RATE,
        "max_leaf_nodes": log_whole(4, 128),
        "min_samples_leaf": log_whole(2, 100),
        "max_features": uniform(0.4, 1.0),
        "l2_regularization": log_uniform(1e-3, 30.0),
    }

    def model(self, **options):
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            random_state=0, categorical_features=self.mask, **options
        )

    def watched(self, options, most, X, y, X_val, y_val):
        stop = {"early_stopping": True, "n_iter_no_change": PATIENCE, "scoring": "loss"}
        model = self.model(max_iter=most, tol=0.0, **stop, **options)
        self.fit(model, X, y, X_val=X_val, y_val=y_val)
        best = int(np.argmax(model.validation_score_))  # 0: before the first tree
        return max(best, 1), float(-model.validation_score_[best])


class CatBoost(Peer):
    """Symmetric trees."""

    library, trees = "catboost", "iterations"
    space = {  # noqa: RUF012
        "learning_rate": RATE,
        "depth": whole(3, 8),
        "l2_leaf_reg": log_uniform(1.0, 30.0),
        "random_strength": uniform(0.0, 2.0),
        "bagging_temperature": uniform(0.0, 1.0),
    }

    def model(self, **options):
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            random_state=0,
            verbose=0,
            allow_writing_files=False,
            thread_count=1,
            cat_features=self.categories,
            **options,
        )

    def rows(self, X):
        if not self.categories:
            return X
        made = X.astype(object)  # it wants categories as texts or integers
        made[:, self.categories] = np.nan_to_num(X[:, self.categories], nan=-1).astype(int)
        return made

    def watched(self, options, most, X, y, X_val, y_val):
        model = self.model(iterations=most, early_stopping_rounds=PATIENCE, **options)
        self.fit(model, X, y, eval_set=(self.rows(X_val), y_val))
        return model.tree_count_, next(iter(model.get_best_score()["validation"].values()))


class OfNumbers(Peer):
    """For models of numbers: one column for each level, medians for gaps, standard deviation 1."""

    def behind(self, model):
        from sklearn.compose import make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
        )
        levels = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2)
        columns = make_column_transformer(
            (numbers, np.flatnonzero(~self.mask)), (levels, self.categories), sparse_threshold=0.0
        )
        return make_pipeline(columns, model)

    def watched(self, options, most, X, y, X_val, y_val):
        model = self.fit(self.model(**options), X, y)
        from sklearn.metrics import log_loss

        return None, log_loss(y_val, model.predict_proba(X_val), labels=model.classes_)


class LogisticRegression(OfNumbers):
    """With a penalty on squared weights."""

    space = {"C": log_uniform(1e-4, 1e3)}  # noqa: RUF012

    def model(self, **options):
        from sklearn.linear_model import LogisticRegression

        return self.behind(LogisticRegression(max_iter=1000, **options))


class SklearnGP(OfNumbers):
    """Laplace's method with all rows; classes one against the rest."""

    def model(self, **options):
        from sklearn.gaussian_process import GaussianProcessClassifier
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel

        return self.behind(GaussianProcessClassifier(ConstantKernel() * RBF(), random_state=0))


PEERS: dict[str, type[Peer]] = {  # in the order in which they are tuned
    "LightGBM": LightGBM,
    "XGBoost": XGBoost,
    "logistic regression": LogisticRegression,
    "histogram boosting": HistogramBoosting,
    "scikit-learn GP": SklearnGP,
    "CatBoost": CatBoost,
}
TUNED = [f"{name}, tuned" for name, peer in PEERS.items() if peer.space]
