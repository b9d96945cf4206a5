"""A session for prompts and notebooks: the default one from its creation until it is closed."""

from __future__ import annotations

from typing import NoReturn

from nbtf._runtime.logger import get_logger
from nbtf.compat._v1._config.config_proto import ConfigProto
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._session.defaults import add_default_session, drop_default_session
from nbtf.compat._v1._session.session import Session

_ANOTHER_IS_ACTIVE = (
    "An interactive session is already active. This can cause out-of-memory errors or some other unexpected errors "
    "(due to the unpredictable timing of garbage collection) in some cases. You must explicitly call "
    "`InteractiveSession.close()` to release resources held by the other session(s). Please use `tf.Session()` if you "
    "intend to productionize."
)


class InteractiveSession(Session):
    """A session that `eval` and `run` use from its creation until it is closed.

    It places only what is fetched, and where it is given no settings the memory of GPUs grows.

    Args:
      target: empty: this process.
      graph: the graph; by default the default one. One that is given is the default graph until the session closes.
      config: settings; `graph_options.place_pruned_graph` is set in them.

    >>> import nbtf.compat.v1 as tf1
    >>> session = tf1.InteractiveSession(graph=tf1.Graph())
    >>> tf1.constant(5.0).eval()
    np.float32(5.0)
    >>> session.close()
    """

    def __init__(
        self, target: str | bytes | None = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        """Makes a session, and makes it the default one."""
        if config is None:
            config = ConfigProto(gpu_options={"allow_growth": True})
        if isinstance(config, ConfigProto):  # pyright: ignore[reportUnnecessaryIsInstance]  # else Session refuses it
            config.graph_options.place_pruned_graph = True
        super().__init__(target, graph, config)
        if process().sessions:
            get_logger().error(_ANOTHER_IS_ACTIVE)
        self._before = process().graph
        self._own_graph = graph
        add_default_session(self)
        if graph is not None:
            process().graph = graph

    def close(self) -> None:
        """Is no longer the default session, and refuses to run from now on; closing twice is fine."""
        super().close()
        drop_default_session(self)
        if self._own_graph is not None and process().graph is self._own_graph:
            process().graph = self._before

    def __enter__(self) -> NoReturn:
        raise TypeError("An InteractiveSession is the default session already; close it instead of using it in a with.")
