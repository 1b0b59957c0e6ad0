"""Settings of the documentation site: `make docs` builds it into docs/_build/html, warnings count as errors."""

from __future__ import annotations

import re
from typing import Any

import prophecy

project = "prophecy"
author = "the prophecy authors"
copyright = "2026, the prophecy authors"
release = version = prophecy.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
exclude_patterns = ["_build"]

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

# Docstrings are prose: one name or formula between single backticks is code.
default_role = "literal"
autosummary_generate = False
autodoc_mock_imports = ["statsforecast", "pyspark"]  # each is large, or needs other versions, and is installed apart
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    name: name for name in ("ArrayLike", "Array", "NDArray", "Tensor", "Season", "Bounds", "Moments")
}
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "prophecy"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
# Pages must read the same without a network: no fonts, scripts or badges from elsewhere.
html_use_opensearch = ""

_ITEM = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.*)")


def plain_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Make a docstring written as prose valid reStructuredText.

    Lines `name: text`, our way of describing arguments and fields, become definition items; indented paragraphs become
    code; magnitudes |x| and names ending in an underscore are kept from being read as references.
    """
    out: list[str] = []
    example = item = False
    for line in lines:
        found = _ITEM.match(line)
        if not line.strip():
            example = item = False
            out.append("")
        elif line.lstrip().startswith(">>>") or example:
            example = True
            out.append(line)
        elif found:
            names = ", ".join(f"``{part}``" for part in found[1].split(", "))
            out += ["", names, "    " + _escaped(found[2])]
            item = True
        elif item and (line.startswith(" ") or not line[0].isupper()):
            out.append("    " + _escaped(line.strip()))
        elif line.startswith("    ") and out and not out[-1].strip():
            out += ["::", "", line]
        elif line.startswith("    "):
            out.append(line)
        else:
            out += ["", _escaped(line)] if item else [_escaped(line)]
            item = False
    lines[:] = out


def _escaped(line: str) -> str:
    pieces = re.split(r"(`[^`]*`)", line)
    for at in range(0, len(pieces), 2):
        text = re.sub(r"([\\*|])", r"\\\1", pieces[at])
        pieces[at] = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", text)
    return "".join(pieces)


def plain_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Names of type aliases as they stand in the code."""
    alias = re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)")
    return signature and alias.sub(r"\1", signature), returns and alias.sub(r"\1", returns)


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("autodoc-process-docstring", plain_docstring)
