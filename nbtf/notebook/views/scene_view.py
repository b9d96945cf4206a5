"""Shows a scene in a notebook: as a picture that becomes interactive when it is seen and the kernel answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakKeyDictionary
from zlib import crc32

from nbtf._garbage import collector_paused
from nbtf.notebook import catalogue
from nbtf.notebook.session import Session
from nbtf.notebook.stills import esm
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.svg import to_html, to_svg
from nbtf.notebook.views.audience import outputs_stand_alone
from nbtf.notebook.views.base_widget import Widget, traitlets
from nbtf.notebook.views.page import Scene
from nbtf.notebook.views.recording_answers import program_data

LOADER = "recording_loader"


class SceneView(Widget):
    """A picture whose page asks the kernel for the views' program and their data."""

    program: Any = traitlets.Unicode().tag(sync=True)
    """The name of the program that draws it, which a page loads once."""
    still: Any = traitlets.Unicode().tag(sync=True)
    """The address of the picture, for pages that have no other copy of it."""
    about: Any = traitlets.Unicode().tag(sync=True)
    """The picture's description as text."""

    def __init__(self, answer: Callable[[dict[str, Any]], Scene], picture: Picture) -> None:
        """Shows a picture.

        Args:
          answer: returns the answer to a page's question; see `RecordingAnswers.answer`.
          picture: what a saved notebook stores.
        """
        self._answer = answer
        self._picture = picture
        loader = esm.joined(esm.in_order(LOADER, LOADER))
        self._esm = f"{loader}\nexport default {{ initialize: awaken, render: renderStill }};\n"
        script = program_data(catalogue.ENGLISH)["script"]
        name = uuid4().hex
        program = f"{crc32(script.encode()):08x}"
        super().__init__(model_id=name, ident=name, program=program, about=picture.title, still=self._address())
        self.receive(self._answer_page)

    def _address(self) -> str:
        """Returns the picture as an address, for outputs that are separate documents without another copy of it."""
        return f"data:image/svg+xml,{quote(to_svg(self._picture))}" if outputs_stand_alone() else ""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Returns the picture, named so that a page can find it; the widget itself if the page cannot."""
        with collector_paused():  # a large recording has just been read: first show its picture
            picture = bundle_of(self._picture, self.ident) | {"text/plain": repr(self)}
        if not outputs_stand_alone():
            return picture, {}
        inherited: Any = super()
        data, metadata = inherited._repr_mimebundle_(**kwargs)
        return data | picture, metadata

    def _answer_page(self, _: Any, content: Any, __: Any) -> None:
        """Answers a page's question, which may arrive late or on another thread."""
        match content:
            case {"kind": "ask", "number": int(number)}:
                self.post_answer(number, lambda: self._answer(content))
            case _:
                pass


class FileView(SceneView):
    """Shows a file that a user brought, such as a memory snapshot."""

    def __init__(self, scene: Callable[[], Scene], picture: Picture, text: str) -> None:
        """Shows a picture of the file.

        Args:
          scene: returns the data of the views.
          picture: the picture.
          text: what front ends without pictures show.
        """
        self._scene, self._text = scene, text
        super().__init__(self._answer_about_file, picture)

    def __repr__(self) -> str:
        """Returns the figures of the file."""
        return self._text

    def _answer_about_file(self, question: dict[str, Any]) -> Scene:
        match question:
            case {"what": "program", "language": str(language)}:
                return program_data(language)
            case {"what": "scene"}:
                return self._scene()
            case _:
                raise ValueError(f"Unknown question {question!r}. Expected a program or a scene.")


MOST_FILES = 8
"""Number of files per session that the kernel answers for, because each keeps its history in memory."""

_FILES: WeakKeyDictionary[Session, list[FileView]] = WeakKeyDictionary()


def view_of_scene(session: Session, scene: Callable[[], Scene], picture: Picture, text: str) -> FileView:
    """Returns a view of a file, for which the kernel answers until the session has shown some others."""
    views = _FILES.setdefault(session, [])
    views.append(FileView(scene, picture, text))
    while len(views) > MOST_FILES:
        views.pop(0).close()
    return views[-1]


def bundle_of(picture: Picture, name: str) -> dict[str, str]:
    """Returns a still picture for front ends; its HTML has a name by which the page's program finds it."""
    named = to_html(picture).replace("<img ", f"<img data-nbtf-recording='{name}' ", 1)
    return {"image/svg+xml": to_svg(picture), "text/html": named}
