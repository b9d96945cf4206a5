"""Which names of a page are links? Those in code that the reference has, as `tf.runtime.recording` or `nbtf run`."""

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

sys.modules["tf"] = nbtf  # as everybody imports it, and as it stands on the pages
sys.modules.update({f"tf.{name}": getattr(nbtf, name) for name in NAMES})


def public_target(name: str, environment: BuildEnvironment) -> str:
    """Returns under which name a page has what Python calls `nbtf._runtime.recorder.Recorder`; empty if none has."""
    objects = environment.domains.python_domain.objects
    last = name.removeprefix("nbtf.").rpartition(".")[2]
    candidates = (name, name.replace("nbtf.", "tf.", 1), *(f"tf.{namespace}.{last}" for namespace in NAMES))
    return next((candidate for candidate in candidates if candidate in objects), "")


def resolve(app: Sphinx, environment: BuildEnvironment, node: pending_xref, text: nodes.TextElement) -> Any:
    """Links a type of a signature to its page; others, such as Python's own, stay text without a warning."""
    if node["refdomain"] != "py":
        return None
    target = public_target(node["reftarget"], environment)
    if not target:
        return text
    return environment.domains.python_domain.resolve_xref(
        environment, node["refdoc"], app.builder, "obj", target, node, text
    )


def label_of(code: str) -> str:
    """Returns the label under which the reference has a command, a magic or a variable; empty for other code.

    `nbtf notebooks check FOLDER` has `nbtf-notebooks-check`, `%gpu_memory --who` has `line-gpu_memory`.
    """
    if command := re.match(r"nbtf (?:notebooks )?[a-z]+(?![\w.])", code):
        return command[0].replace(" ", "-")
    if magic := re.match(r"(%%?)(\w+)", code):
        return f"{'line' if magic[1] == '%' else 'cell'}-{magic[2]}"
    variable = re.match(r"NBTF_[A-Z_]+", code)
    return variable[0].lower() if variable else ""


class LinkedNames(SphinxPostTransform):
    """Makes a link of each piece of code that is in the reference, but for titles, and those of its own page."""

    default_priority = 5

    def run(self, **options: Any) -> None:
        """Looks at a page."""
        for text in list(self.document.findall(nodes.Text)):
            if text.astext() == " -- ":  # as Sphinx writes it between an argument and what is said of it
                text.parent.replace(text, nodes.Text(" – "))
        for literal in list(self.document.findall(nodes.literal)):
            if not isinstance(literal.parent, nodes.reference | nodes.title | pending_xref):
                literal.replace_self(self.linked(literal))

    def linked(self, literal: nodes.literal) -> nodes.Element:
        """Returns a piece of code with its link; itself where the reference does not have it."""
        page, domains = self.env.docname, self.env.domains
        name = literal.astext().partition("(")[0]
        if name.startswith("tf.") and name in domains.python_domain.objects:
            return pending_xref("", literal.deepcopy(), refdomain="py", reftype="obj", reftarget=name, refdoc=page)
        target, anchor = domains.standard_domain.anonlabels.get(label_of(literal.astext()), (page, ""))
        return literal if target == page else make_refnode(self.app.builder, page, target, anchor, literal.deepcopy())


def setup(app: Sphinx) -> dict[str, Any]:
    """Adds both to Sphinx."""
    app.connect("missing-reference", resolve)
    app.add_post_transform(LinkedNames)
    return {"parallel_read_safe": True}
