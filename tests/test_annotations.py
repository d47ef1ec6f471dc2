"""Annotations are checked by kind of call, and nothing that is wrong gets through."""

from dataclasses import dataclass
from typing import Literal

import beartype
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from jaxtyping import Float

from fewknots.numerics.linalg import precision_factor

from .annotations import checked_by_kind

checked = checked_by_kind(typechecker=beartype.beartype)
Matrix = Float[np.ndarray, "N D"]
Row = Float[np.ndarray, " D"]


def refused():
    return pytest.raises(jaxtyping.TypeCheckError)


@checked
def rows_dot(X: Matrix, w: Row, *, shift: float = 0.0) -> Float[np.ndarray, " N"]:
    return X @ w + shift


def test_a_call_is_checked_however_many_were_right():
    for n in (2, 3, 2, 3):
        rows_dot(np.ones((n, 4)), np.ones(4), shift=1.0)
    for wrong in ((np.ones((2, 4)), np.ones(3)), (np.ones(2), np.ones(4)), ([1.0], np.ones(1))):
        for _ in range(2):
            with refused():
                rows_dot(*wrong)
    with refused():
        rows_dot(np.ones((2, 4), int), np.ones(4))
    with refused():
        rows_dot(np.ones((2, 4)), np.ones(4), shift="1")


def test_what_is_returned_is_checked_though_the_arguments_are_known():
    @checked
    def column(X: Matrix, way: str) -> Float[np.ndarray, " N"]:
        return {"right": X[:, 0], "long": X.ravel(), "whole": X[:, 0].astype(int)}[way]

    for way in ("right", "right"):
        column(np.ones((3, 2)), way)
    for way in ("long", "whole", "long"):
        with refused():
            column(np.ones((3, 2)), way)
    assert column(np.ones((3, 2)), "right").shape == (3,)


def test_names_of_arguments_count():
    @checked
    def pair(*, first: Float[np.ndarray, "2"], second: Float[np.ndarray, "3"]) -> None:
        pass

    pair(first=np.ones(2), second=np.ones(3))
    with refused():
        pair(second=np.ones(2), first=np.ones(3))


def test_words_count_where_only_some_are_allowed():
    @checked
    def way(how: Literal["up", "down"]) -> None:
        pass

    way("up")
    way("down")
    with refused():
        way("left")


@pytest.mark.parametrize("kind", [tuple, list])
def test_collections_are_looked_into(kind):
    @checked
    def total(parts: kind[Matrix, ...] if kind is tuple else kind[Matrix]) -> float:
        return float(sum(part.sum() for part in parts))

    total(kind([np.ones((2, 3))]))
    with refused():
        total(kind([np.ones(2)]))
    with refused():
        total(kind(["words"]))


def test_a_function_made_again_by_a_function_is_checked_again():
    def maker(annotation):
        @checked
        def same(x: annotation) -> annotation:
            return x

        return same

    for _ in range(2):
        maker(int)(1)
        maker(str)("1")
        with refused():
            maker(int)("1")
        with refused():
            maker(str)(1)


def test_the_fields_of_a_dataclass():
    @checked
    @dataclass
    class Pair:
        first: Row
        second: Row

    Pair(np.ones(2), np.ones(2))
    with refused():
        Pair(np.ones(2), np.ones(3))


def test_the_package_is_checked_under_tracing_too():
    jax.eval_shape(precision_factor, jnp.eye(3))
    with refused():
        jax.eval_shape(precision_factor, jnp.ones((3, 2)))
    with refused():
        precision_factor(jnp.ones(3))
