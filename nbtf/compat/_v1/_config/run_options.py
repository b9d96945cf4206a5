"""What one run of a session can be told, and what it can tell of itself."""

from __future__ import annotations

from nbtf.compat._v1._config.config_proto import SessionMetadata
from nbtf.compat._v1._config.field_types import BOOL, INT32, INT64, Enum
from nbtf.compat._v1._config.messages import Message

# Numbers and kinds of the fields. Source: core/protobuf/config.proto of TensorFlow 2.21.


class RunOptions(Message):
    """The settings of one run. All of it is accepted and changes nothing."""

    TraceLevel = Enum(NO_TRACE=0, SOFTWARE_TRACE=1, HARDWARE_TRACE=2, FULL_TRACE=3)

    class Experimental(Message):
        """What is there for trial."""

        class RunHandlerPoolOptions(Message):
            """How urgent a run is."""

            FIELDS = {"priority": (1, INT64)}  # noqa: RUF012  # a table, never changed

        FIELDS = {  # noqa: RUF012
            "collective_graph_key": (1, INT64),
            "use_run_handler_pool": (2, BOOL),
            "run_handler_pool_options": (3, RunHandlerPoolOptions),
        }

    FIELDS = {  # noqa: RUF012
        "trace_level": (1, TraceLevel),
        "timeout_in_ms": (2, INT64),
        "inter_op_thread_pool": (3, INT32),
        "output_partition_graphs": (5, BOOL),
        "report_tensor_allocations_upon_oom": (7, BOOL),
        "experimental": (8, Experimental),
    }


class RunMetadata(Message):
    """What one run tells of itself: nothing; recordings and views show where nodes ran."""

    FIELDS = {"session_metadata": (5, SessionMetadata)}  # noqa: RUF012
