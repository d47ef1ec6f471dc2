"""Makes numbers/likelihoods.json: `python tests/golden/gpflow_likelihoods.py`.

Needs GPflow 2.11 (pip install gpflow==2.11.*) and nothing of fewknots. SVGP with kernel, inducing
points and parameters of the likelihood held fixed, q(u) by L-BFGS and then by natural gradients
until nothing moves; expectations by 200 Gauss-Hermite nodes where GPflow has no formula.
"""

import json
from pathlib import Path

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.quadrature import NDiagGHQuadrature
from likelihood_cases import JITTER, LENGTHSCALE, NEW, POINTS, VARIANCE, rows

gpflow.config.set_default_jitter(JITTER)


class NegativeBinomial(gpflow.likelihoods.ScalarLikelihood):
    """Mean r = 3 eᶠ, variance r + ½ r²."""

    def _given(self, F):
        return tfp.distributions.NegativeBinomial(
            total_count=tf.constant(2.0, tf.float64), logits=F + np.log(3.0 / 2.0)
        )

    def _scalar_log_prob(self, X, F, Y):
        return self._given(F).log_prob(Y)

    def _conditional_mean(self, X, F):
        return self._given(F).mean()

    def _conditional_variance(self, X, F):
        return self._given(F).variance()


class Ordinal(gpflow.likelihoods.ScalarLikelihood):
    """By the probit, which GPflow's own squeezes into [0.001, 0.999]."""

    edges = np.array([-np.inf, -0.7, 0.4, 1.1, np.inf])

    def _scalar_log_prob(self, X, F, Y):
        code = tf.cast(Y, tf.int32)
        upper, lower = (tf.gather(self.edges, code + step) - F for step in (1, 0))
        normal = tfp.distributions.Normal(tf.constant(0.0, tf.float64), 1.0)
        flip = lower > 0  # in the lower tail a difference loses nothing
        upper, lower = tf.where(flip, -lower, upper), tf.where(flip, -upper, lower)
        return tf.math.log(normal.cdf(upper) - normal.cdf(lower))

    def _conditional_mean(self, X, F):
        return F

    def _conditional_variance(self, X, F):
        return F


def heteroscedastic():
    bijectors = tfp.bijectors
    half = bijectors.Scale(tf.constant(0.5, tf.float64))
    root = bijectors.Scale(tf.constant(np.sqrt(0.2), tf.float64))
    return gpflow.likelihoods.HeteroskedasticTFPConditional(
        scale_transform=bijectors.Chain([root, bijectors.Exp(), half])
    )


# by name: likelihood, constant of the mean function
CASES = {
    "poisson": (gpflow.likelihoods.Poisson(binsize=1.7), 0.0),
    "student_t": (gpflow.likelihoods.StudentT(scale=0.3, df=3.5), 0.0),
    "negative_binomial": (NegativeBinomial(), 0.0),
    "heteroscedastic": (heteroscedastic(), 0.0),
    "ordinal": (Ordinal(), 0.0),
    "gamma": (gpflow.likelihoods.Gamma(shape=3.0), np.log(2.5 / 3.0)),
    "beta": (gpflow.likelihoods.Beta(invlink=tf.sigmoid, scale=8.0), np.log(1.3)),
}


def fitted(name, X, y):
    likelihood, constant = CASES[name]
    two = name == "heteroscedastic"
    likelihood.quadrature = NDiagGHQuadrature(2 if two else 1, 60 if two else 200)
    kernel = gpflow.kernels.RBF(variance=VARIANCE, lengthscales=LENGTHSCALE)
    points = gpflow.inducing_variables.InducingPoints(X[:POINTS].copy())
    if two:
        kernel = gpflow.kernels.SharedIndependent(kernel, output_dim=2)
        points = gpflow.inducing_variables.SharedIndependentInducingVariables(points)
    model = gpflow.models.SVGP(
        kernel,
        likelihood,
        points,
        mean_function=gpflow.mean_functions.Constant(np.full(1, constant)) if constant else None,
        num_latent_gps=2 if two else 1,
    )
    for part in (model.kernel, model.inducing_variable, model.likelihood, model.mean_function):
        gpflow.set_trainable(part, False)
    data = X, y[:, None]
    loss = model.training_loss_closure(data)
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
    gpflow.optimizers.Scipy().minimize(loss, model.trainable_variables, options=options)
    natural = gpflow.optimizers.NaturalGradient(gamma=0.3)
    for _ in range(100):
        natural.minimize(loss, [(model.q_mu, model.q_sqrt)])
    mean, variance = model.predict_f(NEW)
    if two:  # the noise is far narrower than what is known of f
        likelihood.quadrature = NDiagGHQuadrature(2, 300)
    found = {
        "bound": float(model.elbo(data)),
        "latent_mean": np.transpose(mean - constant).tolist(),
        "latent_variance": np.transpose(variance).tolist(),
        "log_density": model.predict_log_density((NEW, y[:5, None])).numpy().ravel().tolist(),
    }
    if name != "ordinal":
        moments = model.predict_y(NEW)
        found |= {"mean": moments[0].numpy().ravel().tolist()}
        found |= {"variance": moments[1].numpy().ravel().tolist()}
    return found


if __name__ == "__main__":
    X, targets = rows()
    numbers = {}
    for name, y in targets.items():
        numbers[name] = fitted(name, X, y)
        print(name, numbers[name]["bound"], flush=True)
    place = Path(__file__).parent / "numbers" / "likelihoods.json"
    place.write_text(json.dumps(numbers, indent=1) + "\n")
