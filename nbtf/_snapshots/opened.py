"""What can a user ask about a memory snapshot that was read from a file?"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from nbtf._counts import counted
from nbtf._locks import computed_once
from nbtf._snapshots.account import DeviceAccount, Failure, Holes, MemoryLevel, devices_of
from nbtf._snapshots.beginning import beginning_of, unknowns_of
from nbtf._snapshots.holders import MemoryHolder, holders_at
from nbtf._snapshots.lines import Origins
from nbtf._snapshots.snapshot import MemorySnapshot, Segment
from nbtf._snapshots.summary import summary_of

if TYPE_CHECKING:
    from nbtf._runtime.what_ifs import WhatIf
    from nbtf._snapshots.events import DeviceEvents


class OpenedSnapshot(MemorySnapshot):
    """A memory snapshot of PyTorch that was read from a file, measured on real cards; see `tf.runtime.read_snapshot`.

    Every figure is in bytes. A device is the number of a card. A state is a moment of a device's history: state 0 is
    before its first event, and state `i + 1` is after event `i`.

    >>> import json, pathlib, tempfile
    >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
    >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
    >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
    >>> _ = file.write_text(json.dumps([segment]))
    >>> snapshot = tf.runtime.read_snapshot(file)
    >>> snapshot
    <snapshot.json: 1 device, 0 events>
    """

    @classmethod
    def of(cls, snapshot: MemorySnapshot) -> OpenedSnapshot:
        """Returns a snapshot with the same content.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> tf.runtime.OpenedSnapshot.of(snapshot).end() == snapshot.end()
        True
        """
        return cls(**{each.name: getattr(snapshot, each.name) for each in fields(snapshot)})

    @computed_once
    def _accounts(self) -> dict[int, DeviceAccount]:
        return {}

    @computed_once
    def _origins(self) -> Origins:
        return Origins(self)

    @computed_once
    def devices(self) -> Sequence[int]:
        """The numbers of the devices in the file."""
        return tuple(devices_of(self))

    def account(self, device: int | None = None) -> DeviceAccount:
        """Returns the memory of a device state by state: its levels, by stream too, its pieces and its holes.

        Args:
          device: number of the device; None means the only one, or the one whose peak is highest.

        Raises:
          ValueError: if the file does not contain the device.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> account = snapshot.account()
        >>> account.allocated.tolist(), account.reserved.tolist()
        ([1024], [2097152])
        """
        if device is None:
            device = max(self.devices, key=lambda each: (self.account(each).peak.allocated, -each), default=None)
        if device is None or device not in self.devices:
            names = ", ".join(str(each) for each in self.devices)
            raise ValueError(f"{self.source} has no device {device}. Its devices: {names or 'none'}.")
        if device not in self._accounts:
            self._accounts[device] = DeviceAccount(self, device)
        return self._accounts[device]

    def peak(self, device: int | None = None) -> MemoryLevel:
        """Returns the levels at the first state with the most memory allocated; see `account` for `device`.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> snapshot.peak()
        MemoryLevel(state=0, allocated=1024, active=1024, requested=1000, reserved=2097152)
        """
        return self.account(device).peak

    def peak_reserved(self, device: int | None = None) -> MemoryLevel:
        """Returns the levels at the first state with the most memory reserved; see `account` for `device`.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> snapshot.peak_reserved().reserved
        2097152
        """
        return self.account(device).peak_reserved

    def end(self, device: int | None = None) -> MemoryLevel:
        """Returns the levels at the end, which are those of the file's segments; see `account` for `device`.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> snapshot.end().allocated
        1024
        """
        return self.account(device).end

    def holders(self, device: int | None = None, by: str = "line", at: str | int = "peak") -> list[MemoryHolder]:
        """Returns what holds memory, the largest first; the bytes add up to the memory allocated, exactly.

        Args:
          device: see `account`.
          by: `line` for the user's lines, `module` for nested modules of PyTorch, or `phase` of training.
          at: `peak`, `end`, `beginning`, or the number of a state.

        Raises:
          ValueError: if an argument has another value, or the file does not contain the device.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> [(holder.name, holder.nbytes, holder.pieces) for holder in snapshot.holders()]
        [('allocated before the history', 1024, 1)]
        """
        account = self.account(device)
        return holders_at(account, self._origins, self._state(account, at), by)

    def holes(self, device: int | None = None, at: str | int = "peak") -> Holes:
        """Returns the free blocks within segments; see `holders` for the arguments.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> snapshot.holes().size.tolist()
        [2096128]
        """
        account = self.account(device)
        return account.holes(self._state(account, at))

    def failures(self, device: int | None = None) -> Sequence[Failure]:
        """Returns the requests that failed because memory was short; see `account` for `device`.

        >>> import json, pathlib, tempfile
        >>> event = {"action": "oom", "size": 9 << 20, "device_free": 8 << 20}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": []}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps({"segments": [segment], "device_traces": [[event]]}))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> [failure] = snapshot.failures()
        >>> failure.requested >> 20, failure.free_on_card >> 20, failure.largest_hole >> 20, failure.fits_if_contiguous
        (9, 8, 2, True)
        """
        return self.account(device).failures

    def beginning(self, device: int | None = None) -> tuple[Segment, ...]:
        """Returns the segments and blocks before the first event; see `account` for `device`.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> [(block.size, block.state) for block in snapshot.beginning()[0].blocks]
        [(1024, 'active_allocated'), (2096128, 'inactive')]
        """
        return beginning_of(self.account(device))

    def unknowns(self, device: int | None = None) -> list[str]:
        """Returns sentences about facts that the file lacks about a device; see `account` for `device`.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> snapshot.unknowns()
        ['The file has no history of this device, only its memory at one moment.']
        """
        return unknowns_of(self.account(device))

    def what_if(
        self,
        settings: str | None = None,
        card: int | str | None = None,
        without: str | None = None,
        *,
        device: int | None = None,
    ) -> WhatIf:
        """Returns what the program would need with other settings, on another card or without a line.

        Args:
          settings: settings for PyTorch's allocator, as in `PYTORCH_ALLOC_CONF`; None for the recorded ones.
          card: `"24GiB"`, a number of bytes or the name of a card; None for the recorded one, which is unlimited if the
            file does not show its size.
          without: a line whose allocations are left out, such as `"train.py:41"`.
          device: number of the device; None means the one with the highest peak.

        Raises:
          ValueError: if the device has no history or a contradictory one, or an argument is not valid.

        >>> import json, pathlib, tempfile
        >>> mib = 1 << 20
        >>> block = {"address": 4096, "size": mib, "requested_size": mib, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 * mib, "blocks": [block], "segment_type": "small"}
        >>> history = [("segment_alloc", 2 * mib), ("alloc", mib)]
        >>> events = [{"action": action, "addr": 4096, "size": size, "stream": 0} for action, size in history]
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps({"segments": [segment], "device_traces": [events]}))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> result = snapshot.what_if("roundup_power2_divisions:4", card="4GiB")
        >>> result.settings, result.card >> 30, result.peak_allocated >> 20, result.peak_reserved >> 20
        ('roundup_power2_divisions:4', 4, 1, 2)
        """
        from nbtf._snapshots.what_if import what_if  # imported late: summaries do not need replays

        return what_if(self, device, settings, card, without)

    def usual_settings(self, device: int | None = None, card: int | str | None = None) -> list[WhatIf]:
        """Returns what the program needs as recorded, and with five other settings; see `what_if`.

        If the history begins late, the second result has the recorded settings and a beginning like the others'.

        >>> import json, pathlib, tempfile
        >>> mib = 1 << 20
        >>> block = {"address": 4096, "size": mib, "requested_size": mib, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 * mib, "blocks": [block], "segment_type": "small"}
        >>> history = [("segment_alloc", 2 * mib), ("alloc", mib)]
        >>> events = [{"action": action, "addr": 4096, "size": size, "stream": 0} for action, size in history]
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps({"segments": [segment], "device_traces": [events]}))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> [(result.settings, result.peak_reserved >> 20) for result in snapshot.usual_settings()[:3]]
        [('', 2), ('expandable_segments:True', 2), ('max_split_size_mb:128', 2)]
        """
        from nbtf._snapshots.what_if import usual_settings  # imported late: summaries do not need replays

        return usual_settings(self, device, card)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Saves the snapshot as one HTML file, the page of `nbtf view`: it opens without a kernel or a network.

        Its texts are in the language that `NBTF_LANG` requests, otherwise in English.

        Args:
          path: the file; an existing one is replaced once the new one is complete.

        Raises:
          ValueError: if the snapshot contains no memory of a device.
          OSError: if the file cannot be written.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "snapshot.json").write_text(json.dumps([segment]))
        >>> tf.runtime.read_snapshot(folder / "snapshot.json").to_html(folder / "page.html")
        >>> (folder / "page.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        sys.modules["nbtf"]._save_opened_page(self, path)  # an indirect call: files must not import the views

    def events(self, device: int | None = None, first: int | None = None, last: int | None = None) -> DeviceEvents:
        """Returns events of a device as events of nbtf, from number `first` up to `last`; see `account` for `device`.

        Raises:
          ValueError: if the history has no such events.

        >>> import json, pathlib, tempfile
        >>> event = {"action": "oom", "size": 9 << 20, "device_free": 8 << 20}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": []}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps({"segments": [segment], "device_traces": [[event]]}))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> part = snapshot.events()
        >>> [event.nbytes for event in part.events if isinstance(event, tf.runtime.Refused)], part.limit >> 20
        ([9437184], 10)
        """
        from nbtf._snapshots.events import events_of  # imported late: summaries do not need events

        return events_of(self.account(device), self._origins, first, last)

    @property
    def summary(self) -> str:
        """The most important figures as text, for one screen.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> print(snapshot.summary.splitlines()[1])
        GPU:0: 0 events, 0 allocations
        """
        return "\n".join(self.summary_of(self.devices))

    def summary_of(self, devices: Sequence[int]) -> list[str]:
        """Returns the lines of the summary for some devices.

        >>> import json, pathlib, tempfile
        >>> block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
        >>> segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "snapshot.json")
        >>> _ = file.write_text(json.dumps([segment]))
        >>> snapshot = tf.runtime.read_snapshot(file)
        >>> snapshot.summary_of([0])[0]
        'snapshot.json: memory snapshot of PyTorch (JSON), measured'
        """
        lines = [f"{self.source}: memory snapshot of PyTorch ({self.form}), measured"]
        for device in devices:
            lines += summary_of(self.account(device), self.holders(device))
        return lines

    def __str__(self) -> str:
        """Returns the summary."""
        return self.summary

    def __repr__(self) -> str:
        """Returns the file's name, its devices and the number of events."""
        events = sum([len(trace) for trace in self.traces])
        return f"<{self.source}: {counted(len(self.devices), 'device')}, {counted(events, 'event')}>"

    @staticmethod
    def _state(account: DeviceAccount, at: str | int) -> int:
        names = {"peak": account.peak.state, "end": account.states - 1, "beginning": 0}
        state = names.get(at, -1) if isinstance(at, str) else at
        if not 0 <= state < account.states:
            raise ValueError(
                f"at={at!r} is not a state. Use 'peak', 'end', 'beginning' or a number below {account.states}."
            )
        return state
