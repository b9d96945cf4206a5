"""What does a CI server read? JUnit XML: a suite for each notebook, and a case for each cell, named by the cell's id.

The number of the cell and its first line of code are properties, so that a change of the code keeps the case's history.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from nbtf.cli.checking.text import summary, title
from nbtf.cli.checking.verdicts import CellVerdict, NotebookVerdict, State

_NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain. Source: Extensible Markup Language 1.0, section 2.2."""


def junit(verdicts: Sequence[NotebookVerdict]) -> bytes:
    """Returns the report.

    Args:
      verdicts: the notebooks' verdicts, in order.
    """
    root = ElementTree.Element("testsuites", name="nbtf notebooks check")
    for verdict in verdicts:
        suite = ElementTree.SubElement(root, "testsuite", name=str(verdict.path))
        cases = [_case(suite, verdict, cell) for cell in verdict.cells]
        if verdict.skipped and not cases:
            cases.append(ElementTree.SubElement(suite, "testcase", name="notebook", classname=str(verdict.path)))
            ElementTree.SubElement(cases[0], "skipped", message=_text(verdict.skipped))
        if verdict.problems:
            case = ElementTree.SubElement(suite, "testcase", name="notebook", classname=str(verdict.path))
            tag = "error" if verdict.unusable else "failure"
            _add(case, tag, verdict.problems[0].splitlines()[0], "\n".join(verdict.problems))
        counted = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")}
        suite.attrib.update(
            tests=str(len(cases) + bool(verdict.problems)),
            failures=str(counted["failure"]),
            errors=str(counted["error"]),
            skipped=str(counted["skipped"]),
            time=f"{verdict.seconds:.3f}",
        )
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _case(suite: ElementTree.Element, verdict: NotebookVerdict, cell: CellVerdict) -> ElementTree.Element:
    name = _text(cell.name or f"cell {cell.number}")
    attributes = {"name": name, "classname": _text(str(verdict.path)), "time": f"{cell.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    properties = ElementTree.SubElement(case, "properties")
    for key, value in (("cell", str(cell.number)), ("code", _text(cell.first_line))):
        ElementTree.SubElement(properties, "property", name=key, value=value)
    if cell.state is State.NOT_RUN:
        ElementTree.SubElement(case, "skipped", message=cell.reason)
    elif cell.state is State.SKIPPED:
        reason = verdict.skipped or (summary(verdict) if verdict.missing else "marked to be skipped")
        ElementTree.SubElement(case, "skipped", message=_text(reason))
    elif cell.state.is_wrong:
        _add(case, "failure", title(cell), "\n".join(cell.lines))
    return case


def _add(case: ElementTree.Element, tag: str, message: str, text: str) -> None:
    ElementTree.SubElement(case, tag, message=_text(message)).text = _text(text)


def _text(text: str) -> str:
    return _NO_CHARACTER.sub(lambda match: ascii(match[0])[1:-1], text)
