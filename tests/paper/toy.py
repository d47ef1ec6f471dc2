"""An experiment small enough to see through: squares of numbers, with data of its own."""

import warnings

import numpy as np

from fewknots.paper.experiment import Cell, Choice
from fewknots.paper.outputs import entry, markdown_table, write_csv


class Squares:
    """Squares `numbers`; which cells were run, and not taken from their files, is in `ran`."""

    name = "squares"
    title = "Squares"
    shows = "that squares grow."
    needs = ("banana",)
    minutes = 0.1
    choices = (Choice("colour", ("red", "blue"), "What colour."),)

    def __init__(self, numbers=(1, 2, 3), scale=1.0, fails=(), interrupted_at=None):
        self.numbers, self.scale, self.fails = numbers, scale, fails
        self.interrupted_at = interrupted_at
        self.ran = []

    def cells(self, options):
        fixed = {"data": "banana", "scale": self.scale, "seed": 0}
        return [Cell(f"square-{n}", {"n": n} | fixed) for n in self.numbers]

    def run(self, cell, options):
        n = cell.settings["n"]
        self.ran.append(n)
        if n == self.interrupted_at:
            raise KeyboardInterrupt
        if n in self.fails:
            raise ValueError(f"no square of {n}\nis to be had")
        if n == 3:
            warnings.warn("three is odd", UserWarning, stacklevel=1)
        square = self.scale * np.float64(n) ** 2
        return {"square": square, "both": np.array([n, square]), "huge": np.inf}

    def write(self, results, options, folder):
        write_csv(folder / "results.csv", [{"n": key} | r.values for key, r in results.items()])
        rows = [(key, entry(result, "square", 1)) for key, result in results.items()]
        return markdown_table(("cell", "square"), rows)
