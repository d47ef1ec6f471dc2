"""A small table with every kind of column, for tests of recipes and of the command line."""

import numpy as np
import pandas as pd


def flights(n_rows=400, seed=0):
    """Flights that are late or not: dates, numbers with gaps, words, true and false."""
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 365 * 24, n_rows)
    table = pd.DataFrame(
        {
            "when": pd.Timestamp("2023-01-01") + pd.to_timedelta(hours, unit="h"),
            "distance": rng.gamma(2.0, 400.0, n_rows).round(1),
            "carrier": rng.choice(["AA", "DL", "UA", "ZZ"], n_rows, p=[0.5, 0.3, 0.195, 0.005]),
            "weekend": rng.random(n_rows) < 0.3,
            "seats": rng.integers(50, 300, n_rows).astype(float),
            "id": [f"flight {number}" for number in range(n_rows)],
        }
    )
    table.loc[rng.random(n_rows) < 0.05, "seats"] = np.nan
    score = np.sin(2 * np.pi * hours / 24) * 1.5 + (table.carrier == "UA") - 0.2
    table["late"] = np.where(score + 0.5 * rng.normal(size=n_rows) > 0, "yes", "no")
    return table
