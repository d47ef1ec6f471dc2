"""
Are 80 % really 80 %? Beside boosting
=====================================

A probability is a promise: of all rows that are given 80 %, four in five should be of that class.
Boosted trees often find the right class but break this promise, above all on small tables.
"""

# %%
# A typical table: 400 rows to learn from, twelve inputs of which five matter, and some labels
# that are noise. 4000 further rows show whether promises are kept.

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from fewknots import GPClassifier
from fewknots.plots import plot_reliability

X, y = make_classification(
    4400, 12, n_informative=5, n_redundant=2, flip_y=0.15, class_sep=0.8, random_state=1
)
X, X_test, y, y_test = train_test_split(X, y, train_size=400, random_state=0, stratify=y)

# %%
# Both models with their defaults.

models = {
    "histogram boosting": HistGradientBoostingClassifier(random_state=0),
    "GPClassifier": GPClassifier(random_state=0),
}
pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(8.6, 4.6), sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    p = model.fit(X, y).predict_proba(X_test)
    plot_reliability(model, X_test, y_test, ax=ax)
    error, nlp = np.mean(p.argmax(axis=1) != y_test), log_loss(y_test, p)
    ax.set_title(f"{name}\nerror {100 * error:.1f} %, NLP {nlp:.3f}")
    print(f"{name:20} error {100 * error:5.1f} %  NLP {nlp:.3f}")
axes[1].set_ylabel("")
pyplot.show()

# %%
# Each disc is a bin of rows, and its area their number; bars are 95 % intervals. On the diagonal
# promises are kept. Boosting mostly says nearly 0 or nearly 1, and is wrong more often than it
# says.
#
# .. admonition:: What to remember
#
#    The error rate does not see broken promises; the negative log probability (NLP) does. Where a
#    decision depends on the probability, compare NLP, and draw this picture.
