"""Pictures and tables of `fewknots reproduce digits`."""

from pathlib import Path
from typing import Any

import numpy as np

from ..scoring import wilson
from .experiment import Result
from .outputs import draw_panel, markdown_table, new_figure, save_figure

_PER_ROW = 8
_LISTED = 15
_SIDE = 28


def draw(done: dict[str, Result], labels: dict[str, str], folder: Path) -> None:
    """Scores against time, calibration, and entropy for strange images."""
    figure, axes = new_figure(2, 2, 11.0, 8.5)
    shown = list(done.values())
    for panel, score in zip(axes[0], ("nlp", "error"), strict=True):
        draw_panel(panel, shown, lambda result: labels[result.cell.key], (), "seconds", score)
    axes[0][0].legend(fontsize=8)
    calibration, strange = axes[1]
    for key, result in done.items():
        if bins := result.values.get("bins"):
            found = [b["probability"] for b in bins]
            right = [b["right"] for b in bins]
            ends = np.array([wilson(b["right"], b["count"]) for b in bins]).T
            calibration.errorbar(
                found, right, np.abs(ends - right), fmt="o-", capsize=3, label=labels[key]
            )
    calibration.plot([0.3, 1.0], [0.3, 1.0], color="#888888", linewidth=1)
    calibration.set(xlabel="probability of the answer", ylabel="share of right answers")
    if calibration.get_legend_handles_labels()[0]:
        calibration.legend(fontsize=8)
    kinds = done["digits-sparse"].values["strange"] if "digits-sparse" in done else {}
    strange.barh(list(kinds), [kind["entropy"] for kind in kinds.values()])
    strange.axvline(np.log(10.0), color="#888888", linewidth=1)
    strange.invert_yaxis()
    strange.set(xlabel="entropy of the answer, nats (line: all digits alike)")
    save_figure(figure, folder)


def draw_mistakes(done: dict[str, Result], folder: Path) -> None:
    """The misclassified digits of the sparse model, with its answers."""
    if "digits-sparse" not in done:
        return
    values = done["digits-sparse"].values
    pixels, mistakes = values["pixels"], values["mistakes"]
    rows = max(1, -(-len(pixels) // _PER_ROW))
    figure, axes = new_figure(rows, _PER_ROW, 11.0, 1.7 * rows)
    for panel in axes.ravel():
        panel.axis("off")
    for panel, image, one in zip(axes.ravel(), pixels, mistakes, strict=False):
        panel.imshow(np.reshape(image, (_SIDE, _SIDE)), cmap="gray_r")
        panel.set_title(
            f"{one['digit']}, not {one['answer']}\n{one['p_digit']:.2f}, {one['p_answer']:.2f}",
            fontsize=8,
        )
    save_figure(figure, folder, "mistakes")


def tables(results: dict[str, Result], labels: dict[str, str]) -> str:
    """The experiment's part of the README."""
    header = ("model", "right", "NLP", "odd or even", "features, CPU s", "rest, CPU s", "digits")
    parts = [
        "![scores against time, calibration, entropy](figure.png)",
        markdown_table(header, [_line(labels[key], result) for key, result in results.items()]),
        "Right and NLP are on test digits (the last column says how many), at the end of training. "
        "CPU seconds are those of all cores together; those of training include scoring the test "
        "digits for the curves, and a short fit before, for compiling. Odd or even: whether the "
        "more probable of the two was right, by sums of probabilities.",
    ]
    sparse = results.get("digits-sparse")
    if sparse is not None and sparse.failed is None:
        parts += _sparse_parts(sparse.values)
    return "\n\n".join(parts)


def _line(label: str, result: Result) -> tuple[str, ...]:
    if result.failed is not None:
        return (label, f"failed: {result.failed.splitlines()[0]}", *[""] * 5)
    values = result.values
    odd = f"{1.0 - values['odd_error']:.4f}" if "odd_error" in values else ""
    return (
        label,
        f"{1.0 - values['curve']['error'][-1]:.4f}",
        f"{values['curve']['nlp'][-1]:.4f}",
        odd,
        f"{values['features_cpu']:.0f}",
        f"{values['cpu']:.0f}",
        f"{result.cell.settings['test_rows']:,}",
    )


def _sparse_parts(values: dict[str, Any]) -> list[str]:
    mistakes = values["mistakes"]
    wrong = [
        (m["image"], m["digit"], m["answer"], f"{m['p_digit']:.3f}", f"{m['p_answer']:.3f}")
        for m in mistakes[:_LISTED]
    ]
    bins = [
        (
            f"{b['low']:g} and more",
            b["count"],
            f"{b['probability']:.4f}",
            f"{b['right']:.4f}",
            " to ".join(f"{end:.4f}" for end in wilson(b["right"], b["count"])),
        )
        for b in values["bins"]
    ]
    strange = [
        (name, f"{kind['entropy']:.3f}", f"{kind['variance']:.2f}", f"{kind['sure']:.1%}")
        for name, kind in values["strange"].items()
    ]
    return [
        f"## Scattering with inducing points: {len(mistakes)} wrong answers, the most certain "
        "first",
        "![the digits](mistakes.png)",
        markdown_table(("test image", "digit", "answer", "p(digit)", "p(answer)"), wrong),
        "## How far its doubt can be trusted",
        markdown_table(
            ("probability of the answer", "digits", "on average", "right", "95 % interval"), bins
        ),
        "## Images unlike the training images",
        markdown_table(
            ("images", "entropy, nats", "latent variance", "answers above 0.99"), strange
        ),
        f"Averages. An answer that knows nothing has an entropy of {np.log(10.0):.3f} nats. The "
        "first line is what it says to digits; scikit-learn's are digits too, in other hands and "
        "with fewer pixels.",
    ]
