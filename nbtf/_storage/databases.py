"""How is an SQLite database from an untrusted source opened? As a copy in memory that can only be read."""

from __future__ import annotations

import sqlite3

_STEPS = 200
"""Instructions of SQLite for each byte of the file, and 10 million more; reading a row takes about 30."""

_FREE_STEPS = 10_000_000
_STEPS_BETWEEN_CALLS = 100_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 1,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 1,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 10,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def open_copy(content: bytes) -> sqlite3.Connection:
    """Returns a connection to a copy in memory that permits reading only.

    It runs no function, view or trigger of the database, and stops after a number of steps that depends on its size.

    Args:
      content: the database. Changes that are only in its write-ahead log are not in it.

    Raises:
      sqlite3.Error: if it is damaged.
    """
    if content[18:20] == b"\2\2":  # write-ahead logging needs a file of its own; the pages are the same without it
        content = content[:18] + b"\1\1" + content[20:]
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(content)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        connection.execute("PRAGMA query_only=ON")
        for limit, value in {**_LIMITS, sqlite3.SQLITE_LIMIT_LENGTH: max(len(content), 1000)}.items():
            connection.setlimit(limit, value)
        steps = [0]

        def count() -> int:
            steps[0] += _STEPS_BETWEEN_CALLS
            return int(steps[0] > _FREE_STEPS + _STEPS * len(content))

        connection.set_progress_handler(count, _STEPS_BETWEEN_CALLS)
        connection.set_authorizer(_permit)
    except BaseException:
        connection.close()
        raise
    return connection


def _permit(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    """Permits statements that read columns; no function, no attached file, no view, no trigger."""
    is_reading = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) and trigger is None
    is_listing = action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo"
    return sqlite3.SQLITE_OK if is_reading or is_listing else sqlite3.SQLITE_DENY
