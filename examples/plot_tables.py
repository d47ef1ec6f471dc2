"""
A table as it is: words, dates and gaps
=======================================

Real tables have words, dates, and cells that nobody filled in. Give such a table to ``fit`` as it
is.
"""

# %%
# Who renews a membership? 500 members, generated: a town, the day of joining, and visits a month,
# with gaps where the card reader was broken. In Rome people renew whatever they do.

import numpy as np
import pandas as pd
from matplotlib import pyplot

from fewknots import GPClassifier

rng = np.random.default_rng(0)
members = pd.DataFrame(
    {
        "town": rng.choice(["Oslo", "Rome", "Lima"], 500, p=[0.5, 0.3, 0.2]),
        "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, 500), "D"),
        "visits": rng.gamma(1.5, 4.0, 500).round(1),
    }
)
rome, january = members["town"] == "Rome", members["joined"].dt.month == 1
score = np.where(rome, 0.5, np.log1p(members["visits"]) - 1.6) - 1.5 * january
renewed = np.where(score + rng.normal(scale=0.7, size=500) > 0, "yes", "no")
members.loc[rng.random(500) < 0.15, "visits"] = np.nan
print(members.head())

# %%
# The model says what it made of the columns.

model = GPClassifier(random_state=0).fit(members, renewed)
print(model.recipe_.feature_names)

# %%
# Questions are tables, too. One curve for each town over the visits; the diamond on the right is
# the answer where the visits are not known.

visits = np.linspace(0.0, 30.0, 60)
pyplot.style.use("fewknots.plots.style")
figure, ax = pyplot.subplots(figsize=(7.6, 4.8))
lines = {"Oslo": ("-", "C0"), "Rome": ("--", "C1"), "Lima": (":", "C2")}
for town, (line, colour) in lines.items():
    asked = pd.DataFrame({"town": town, "joined": pd.Timestamp("2024-06-15"), "visits": visits})
    p = model.predict_proba(asked)[:, 1]
    ax.plot(visits, p, line, color=colour, label=town)
    asked = asked.iloc[:1].assign(visits=np.nan)
    ax.plot(33.0, model.predict_proba(asked)[0, 1], "D", color=colour, markersize=8)
ax.axvspan(31.5, 34.5, color="#eeeeee", zorder=0)
ax.set(xlabel="visits a month", ylabel="probability to renew", ylim=(0, 1), xlim=(0, 34.5))
ax.set_xticks([0, 10, 20, 30, 33], ["0", "10", "20", "30", "not\nknown"])
ax.set_title("joined in June")
ax.legend(loc="lower right", bbox_to_anchor=(0.9, 0.02))
pyplot.show()

# %%
# The recipe is part of the model: ``save`` keeps it, and a new town is not an error.

asked = pd.DataFrame(
    {
        "town": ["Oslo", "Oslo", "Cairo"],
        "joined": pd.to_datetime(["2024-01-10", "2024-06-10", "2024-06-10"]),
        "visits": [6.0, 6.0, np.nan],
    }
)
print(asked.assign(renews=model.predict_proba(asked)[:, 1].round(2)))

# %%
# .. admonition:: What to remember
#
#    No encoding before the fit: words become levels, dates become the turn of the year, a gap is
#    something the model knows about. ``recipe_`` says what was made of each column.
