"""Structures of different classes are different: compiled programs are looked up by them."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.kernels import RBF, Constant, Linear, Matern12, Matern32, Matern52
from fewknots.likelihoods import Bernoulli, Gaussian

TREES = [RBF(1.0), Matern12(1.0), Matern32(1.0), Matern52(1.0), Linear(1.0), Constant(1.0)]
TREES += [RBF(1.0) + Linear(1.0), RBF(1.0) * Linear(1.0), Matern32(1.0) + Linear(1.0)]
TREES += [RBF(1.0, ard=False), Bernoulli("probit"), Bernoulli("logit"), Gaussian(np.ones(()))]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(TREES, 2)), ids=repr)
def test_no_two_structures_are_equal(one, other):
    assert jax.tree.structure(one) != jax.tree.structure(other)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree_survives_taking_apart(tree):
    leaves, structure = jax.tree.flatten(tree)
    again = jax.tree.unflatten(structure, leaves)
    assert type(again) is type(tree)
    assert repr(again) == repr(tree)
    assert jax.tree.structure(again) == structure


def test_a_compiled_function_tells_kernels_apart():
    matrix = jax.jit(lambda kernel, A: kernel(A, A))
    A = jnp.array([[0.0], [1.0]])
    found = {float(matrix(kernel, A)[0, 1]) for kernel in TREES[:4] for _ in range(50)}
    assert len(found) == 4
