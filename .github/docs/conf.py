"""Sphinx's settings for the sources that `build.py` has collected, one language at a time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE)]

import nbtf  # noqa: E402

project = "nbtf"
author = "the nbtf authors"
project_copyright = "the nbtf authors. Apache License 2.0; text quoted from TensorFlow's guides CC BY 4.0"
version = release = nbtf.runtime.version
html_title = f"nbtf {version}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "cjk_search",
    "cross_references",
    "translations",
]
exclude_patterns = ["_templates", "locale"]
locale_dirs = ["locale"]
gettext_compact = False

# ---- pages

html_theme = "furo"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "languages.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_context = {"languages": {"en": "English", "ja": "日本語", "zh_CN": "简体中文"}}
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # browsers do not fetch it for pages opened from a folder
html_extra_path = ["extra"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# ---- Markdown and lessons: stored outputs are shown, nothing is run

nb_execution_mode = "off"
nb_ipywidgets_js = {}  # these would come from another host; no stored output needs them
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type"]

# ---- docstrings: single backticks are code, as in Markdown

default_role = "code"
smartquotes = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = True
toc_object_entries_show_parents = "hide"

if os.environ.get("NBTF_DOCS_TRY"):
    tags.add("try")  # noqa: F821  # Sphinx's own name in this file
