"""
Ten digits, and the ones it is unsure of
========================================

Ten classes, learned together. A good classifier is not only right: it also knows when it may be
wrong. Which handwritten digits does it doubt, and what else does it think they could be?
"""

# %%
# The small digits of scikit-learn: 1797 pictures of 8 x 8 pixels, of which those that are always
# white say nothing. One lengthscale for all pixels, a latent function for each class, all held by
# the same 60 inducing points.

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from fewknots import GPClassifier

pictures, y = load_digits(return_X_y=True)
X = pictures[:, pictures.std(axis=0) > 0.5] / 16.0
X, X_test, y, y_test, _, shown = train_test_split(
    X, y, pictures, test_size=0.4, random_state=0, stratify=y
)
clf = GPClassifier(
    "rbf", ard=False, warp=None, standardize=False, n_inducing=60, max_iter=200, random_state=0
).fit(X, y)

p = clf.predict_proba(X_test)
answer = clf.predict(X_test)
print(f"{100 * np.mean(answer != y_test):.1f} % errors, NLP {log_loss(y_test, p):.3f}")

# %%
# The twelve digits whose best answer is least probable. Bars are the probabilities of 0 to 9; the
# dark one is the true digit.

unsure = np.argsort(p.max(axis=1))[:12]
pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(3, 8, figsize=(9.0, 4.4), width_ratios=[1, 1.3] * 4)
for row, (picture, bars) in zip(unsure, axes.reshape(-1, 2), strict=True):
    picture.imshow(shown[row].reshape(8, 8), cmap="gray_r", interpolation="bilinear")
    picture.set_axis_off()
    colours = np.where(np.arange(10) == y_test[row], "#1d4f8c", "#e5a15c")
    bars.bar(range(10), p[row], color=colours)
    bars.set(ylim=(0, 1), yticks=[], xticks=range(10))
    bars.tick_params(length=0, labelsize=7)
    bars.spines[["left", "bottom"]].set_visible(False)
pyplot.show()

# %%
# Doubt is worth something: leave the least sure tenth to a person, and few errors remain.

sure = np.argsort(-p.max(axis=1))[: round(0.9 * len(p))]
print(f"surest 90 %: {100 * np.mean(answer[sure] != y_test[sure]):.1f} % errors")

# %%
# .. admonition:: What to remember
#
#    ``GPClassifier`` takes any number of classes; nothing has to be chosen for it. Look at the
#    rows it doubts: they are the ones worth a second look, and most of its errors are among them.
