"""Turns code that the reference documents, such as `tf.runtime.recording` or `nbtf run`, into links."""

from __future__ import annotations

import re
import sys
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

import nbtf

NAMES = ("runtime", "config", "notebook")

sys.modules["tf"] = nbtf  # the name under which programs import it and pages document it
sys.modules.update({f"tf.{name}": getattr(nbtf, name) for name in NAMES})


def public_target(name: str, environment: BuildEnvironment) -> str:
    """Returns the documented name of what Python calls `nbtf._runtime.recorder.Recorder`; empty if there is none."""
    objects = environment.domains.python_domain.objects
    last = name.removeprefix("nbtf.").rpartition(".")[2]
    candidates = (name, name.replace("nbtf.", "tf.", 1), *(f"tf.{namespace}.{last}" for namespace in NAMES))
    return next((candidate for candidate in candidates if candidate in objects), "")


def resolve(app: Sphinx, environment: BuildEnvironment, node: pending_xref, text: nodes.TextElement) -> Any:
    """Links a type in a signature to its page; other types, such as Python's own, stay text without a warning."""
    if node["refdomain"] != "py":
        return None
    target = public_target(node["reftarget"], environment)
    if not target:
        return text
    return environment.domains.python_domain.resolve_xref(
        environment, node["refdoc"], app.builder, "obj", target, node, text
    )


def label_of(code: str) -> str:
    """Returns the label of a command, a magic or a variable in the reference; empty for other code.

    `nbtf notebooks check FOLDER` has the label `nbtf-notebooks-check`, `%gpu_memory --who` has `line-gpu_memory`.
    """
    if command := re.match(r"nbtf (?:notebooks )?[a-z]+(?![\w.])", code):
        return command[0].replace(" ", "-")
    if magic := re.match(r"(%%?)(\w+)", code):
        return f"{'line' if magic[1] == '%' else 'cell'}-{magic[2]}"
    variable = re.match(r"NBTF_[A-Z_]+", code)
    return variable[0].lower() if variable else ""


class LinkedNames(SphinxPostTransform):
    """Links each piece of documented code, except in titles and on the page that documents it."""

    default_priority = 5

    def run(self, **options: Any) -> None:
        """Links the code of a page."""
        for text in list(self.document.findall(nodes.Text)):
            if text.astext() == " -- ":  # Sphinx's separator between an argument and its description
                text.parent.replace(text, nodes.Text(" – "))
        for literal in list(self.document.findall(nodes.literal)):
            if not isinstance(literal.parent, nodes.reference | nodes.title | pending_xref):
                literal.replace_self(self.linked(literal))

    def linked(self, literal: nodes.literal) -> nodes.Element:
        """Returns a piece of code with its link, or unchanged if the reference does not document it."""
        page, domains = self.env.docname, self.env.domains
        name = literal.astext().partition("(")[0]
        if name.startswith("tf.") and name in domains.python_domain.objects:
            return pending_xref("", literal.deepcopy(), refdomain="py", reftype="obj", reftarget=name, refdoc=page)
        target, anchor = domains.standard_domain.anonlabels.get(label_of(literal.astext()), (page, ""))
        return literal if target == page else make_refnode(self.app.builder, page, target, anchor, literal.deepcopy())


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers both with Sphinx."""
    app.connect("missing-reference", resolve)
    app.add_post_transform(LinkedNames)
    return {"parallel_read_safe": True}
