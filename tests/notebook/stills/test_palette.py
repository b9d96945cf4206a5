"""Can every kind of sight tell the fills apart, and read what is written on them?"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from nbtf._own_files import own_text
from nbtf.notebook.stills.palette import FILLS, TOKENS, Colour

SIGHTS = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What is seen of linear red, green and blue. Source: Machado, Oliveira and Fernandes, 2009, severity 1."""

OK_LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566]]
OK_LMS += [[0.0883024619, 0.2817188376, 0.6299787005]]
OK_LAB = [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099]]
OK_LAB += [[0.0259040371, 0.7827717662, -0.808675766]]
"""From linear light to OKLab. Source: Ottosson, 2020."""


def linear(colour: str) -> np.ndarray:
    """Red, green and blue of a colour such as `#3b6fd9`, as light."""
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(light: np.ndarray) -> np.ndarray:
    """A colour where distances are those that are seen, x 100."""
    return 100 * np.array(OK_LAB) @ np.cbrt(np.array(OK_LMS) @ np.clip(light, 0, 1))


def contrast(first: str, second: str) -> float:
    """How much two colours differ in brightness, as WCAG counts it."""
    bright, dark = sorted([float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour)) for colour in (first, second)])[
        ::-1
    ]
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_every_sight_tells_all_fills_apart(sight: str, scheme: str) -> None:
    fills = {name: getattr(colour, scheme) for name, colour in FILLS.items() if name != "cpyf"}  # copies have arrows
    seen = {name: oklab(np.array(SIGHTS[sight]) @ linear(colour)) for name, colour in fills.items()}
    distances = {(a, b): float(np.linalg.norm(seen[a] - seen[b])) for a, b in combinations(seen, 2)}

    assert 28 == len(distances)
    assert min(distances.values()) >= 9, min(distances, key=lambda pair: distances[pair])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fills_stand_out_and_texts_on_them_can_be_read(scheme: str) -> None:
    colours = {name: getattr(colour, scheme) for name, colour in TOKENS.items()}
    edges = {name: colours["cpy" if name == "cpyf" else name] for name in FILLS}  # a copy has an outline

    assert min(contrast(edge, colours["paper"]) for edge in edges.values()) >= 3
    assert min(contrast(colours[f"on-{name}"], colours[name]) for name in FILLS) >= 4.5
    assert min(contrast(colours[name], colours["paper"]) for name in ("ink", "soft", "hot", "ok", "focus")) >= 4.5


PROPERTIES = {"forward": "fwd", "backward": "bwd", "update": "upd", "input": "py", "copying": "mov", "products": "wgt"}
"""The fills that have a property of the same colour in the style sheet of views."""


@pytest.mark.parametrize("name", PROPERTIES)
def test_style_sheet_of_views_has_the_colours_of_pictures(name: str) -> None:
    written = re.findall(rf"--nbtf-{name}: (#\w+);", own_text("nbtf.notebook", "static/frame.css"))

    assert FILLS[PROPERTIES[name]] == Colour(*written)
