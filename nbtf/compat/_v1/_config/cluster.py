"""Cluster configuration: accepted without effect, because a session uses only one process."""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.messages.field_types import BOOL, INT32, INT64, STRING
from nbtf._storage.messages.message import Fields, Message

# Field numbers and types. Source: core/protobuf/cluster.proto, tsl/protobuf/rpc_options.proto and
# coordination_config.proto of TensorFlow 2.21.


class JobDef(Message):
    """A job and the addresses of its tasks."""

    FIELDS: ClassVar[Fields] = {"name": (1, STRING), "tasks": (2, {INT32: STRING})}


class ClusterDef(Message):
    """The jobs of a cluster."""

    FIELDS: ClassVar[Fields] = {"job": (1, [JobDef])}


class RPCOptions(Message):
    """How processes communicate."""

    FIELDS: ClassVar[Fields] = {
        "use_rpc_for_inprocess_master": (1, BOOL),
        "compression_algorithm": (2, STRING),
        "compression_level": (3, INT32),
        "cache_rpc_response": (4, BOOL),
        "disable_session_connection_sharing": (5, BOOL),
        "num_channels_per_target": (6, INT32),
    }


class CoordinatedJob(Message):
    """A job and its number of tasks."""

    FIELDS: ClassVar[Fields] = {"name": (1, STRING), "num_tasks": (2, INT32)}


class CoordinationServiceConfig(Message):
    """How processes find each other."""

    FIELDS: ClassVar[Fields] = {
        "service_type": (1, STRING),
        "service_leader": (2, STRING),
        "enable_health_check": (3, BOOL),
        "cluster_register_timeout_in_ms": (4, INT64),
        "heartbeat_timeout_in_ms": (5, INT64),
        "shutdown_barrier_timeout_in_ms": (7, INT64),
        "agent_destruction_without_shutdown": (8, BOOL),
        "recoverable_jobs": (9, [STRING]),
        "coordinated_job_list": (10, [CoordinatedJob]),
        "allow_new_incarnation_to_reconnect": (11, BOOL),
        "force_disable": (12, BOOL),
        "poll_for_error_from_service_at_startup": (13, BOOL),
        "cluster_register_with_barrier": (14, BOOL),
    }
