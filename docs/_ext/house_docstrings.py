"""Docstrings as they are written here, made to reStructuredText.

They are plain text for `help()`: `name` is code, an indented block is an equation, a line
"name : words" describes an argument, and *, | and a trailing _ are letters like others. The name of
a page, docs/tables.md, becomes a link to it.
"""

import re

CODE = re.compile(r"(`+[^`]*`+)")
SPECIAL = re.compile(r"[*|\\]|(?<=\w)_(?!\w)")
PAGE = re.compile(r"\bdocs/([\w/-]+)\.md")
ARGUMENT = re.compile(r"([\w*]+(?:, [\w*]+)*) : (.*)")


def as_restructured_text(lines: list[str]) -> list[str]:
    """The same docstring with the marks that reStructuredText needs."""
    # From the first of NumPy's headings on, napoleon reads it.
    ruled = (number for number, line in enumerate(lines) if re.fullmatch("-{3,}", line))
    heading = next(ruled, len(lines) + 1) - 1
    lines, rest = lines[:heading], lines[heading:]
    found: list[str] = []
    in_argument = in_block = False
    for number, line in enumerate(lines):
        indented = line.startswith("    ")
        after_blank = number > 0 and not lines[number - 1].strip()
        if not line.strip():
            in_argument = False
        elif line.startswith("|") or (indented and not in_argument):
            if after_blank and not in_block:
                found += ["::", ""]
            in_block = True
            found.append(f"    {line}")
            continue
        elif match := ARGUMENT.fullmatch(line):
            in_argument, in_block = True, False
            line = f":param {match[1]}: {escaped(match[2])}"
        else:
            in_block = False
            line = escaped(line)
        found.append(line)
    return found + rest


def escaped(line: str) -> str:
    """What is outside `...` without marks of its own."""
    parts = CODE.split(line)
    parts[::2] = [SPECIAL.sub(lambda mark: f"\\{mark[0]}", part) for part in parts[::2]]
    return "".join(parts)


def _process(app, what, name, obj, options, lines):
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in as_restructured_text(lines)]


def _skip(app, what, name, obj, skip, options):
    """Methods that scikit-learn documents are left to its pages."""
    home = getattr(obj, "__module__", None) or ""
    return True if home.startswith("sklearn.") else None


def setup(app):
    app.connect("autodoc-process-docstring", _process, priority=100)  # before napoleon
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
