"""What anywidget asks of Colab when it shows a widget. Source: googlecolab/colabtools, `google/colab/output`."""

from types import SimpleNamespace

_widgets = SimpleNamespace(_installed_url=None)


def enable_custom_widget_manager(version: str = "") -> None:
    """Has pages load widgets that are not ipywidgets' own."""
    _widgets._installed_url = f"https://ssl.gstatic.com/colaboratory-static/widgets/colab-cdn-widget-manager/{version}"
