"""The site: `make docs` builds it from these pages, the docstrings and the programs in examples/.

Everything is on this machine: no page of another site is read, no font or script of one is used.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # the gallery's times are those of two cores

from fewknots import __version__ as release

project = "fewknots"
author = "the fewknots authors"
project_copyright = author
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_pages",
    "forge_links",
    "gallery",
    "house_docstrings",
]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# --- pages ----------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nitpicky = False

# --- docstrings -----------------------------------------------------------------------------------
default_role = "code"  # `name` in a docstring is code, as in Markdown
autosummary_generate = False
autodoc_typehints = "none"  # the docstrings say types in words
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_use_ivar = True

# --- gallery --------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",  # all of them run
    "ignore_pattern": r"(__init__|style)\.py$",
    "within_subsection_order": "gallery.ReadingOrder",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
}

# --- how it looks ---------------------------------------------------------------------------------
html_theme = "furo"
html_title = f"fewknots {release}"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
highlight_language = "text"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5d8a", "color-brand-content": "#0b5d8a"},
    "dark_css_variables": {"color-brand-primary": "#7cc4ee", "color-brand-content": "#7cc4ee"},
}
