"""The commands that pages show exist, with the options they show."""

import re
import shlex

import pytest

from .pages import PAGES, name

typer = pytest.importorskip("typer")
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown(text):
    """Every line of a block, or `code` in a sentence, that calls fewknots, as a shell reads it."""
    of_shell = [block for language, block in FENCED.findall(text) if language in ("", "sh")]
    lines = [line for block in of_shell for line in block.splitlines()]
    lines += re.findall(r"`(fewknots [^`\n]+)`", FENCED.sub("", text))
    calls = (line.removeprefix("$ ") for line in lines)
    return [shlex.split(call, comments=True)[1:] for call in calls if call.startswith("fewknots ")]


@pytest.fixture(scope="module")
def options():
    """The options of every command; of experiments under "reproduce" and their names."""
    from fewknots.cli import app, reproduce

    program = typer.main.get_command(app.app)
    found = {(word,): command for word, command in program.commands.items()}
    experiments = typer.main.get_command(reproduce.app)
    found |= {("reproduce", word): command for word, command in experiments.commands.items()}
    found |= {("reproduce",): experiments, (): program}
    return {
        words: {"--help", *(option for part in command.params for option in part.opts)}
        for words, command in found.items()
    }


def unknown(words, options):
    """What of a command line is no command or no option."""
    if words and not words[0].startswith("-") and (words[0],) not in options:
        return [] if words[0].isupper() else [words[0]]  # COMMAND stands for any
    names = [word for word in words[:2] if re.fullmatch(r"[a-z0-9-]+", word) and word[0] != "-"]
    while tuple(names) not in options:
        names.pop()
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    of_shell = {"--install-completion", "--show-completion"}
    return [word for word in given if word not in options[tuple(names)] | of_shell]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if shown(page.read_text("utf-8"))], ids=name
)
def test_they_exist(page, options):
    calls = shown(page.read_text("utf-8"))
    assert [(call, unknown(call, options)) for call in calls if unknown(call, options)] == []


def test_others_do_not(options):
    assert unknown(["fit", "x.csv", "--target", "y", "--inducing=3"], options) == []
    assert unknown(["fit", "x.csv", "--targets", "y"], options) == ["--targets"]
    assert unknown(["mend", "x.csv"], options) == ["mend"]
    assert unknown(["reproduce", "banana", "--quick", "--all"], options) == ["--all"]
