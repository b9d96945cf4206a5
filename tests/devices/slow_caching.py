"""A plain copy of the caching allocator's default rules: lists that are searched from the beginning each time."""

from __future__ import annotations

from typing import Any

MIB = 1 << 20


class SlowCaching:
    """Segments are lists of [size, name or None]. No settings, one stream, a card of `total` bytes."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.segments: list[tuple[bool, int, list[list[Any]]]] = []
        self.made = 0

    @property
    def reserved(self) -> int:
        return sum(piece[0] for _, _, pieces in self.segments for piece in pieces)

    @property
    def allocated(self) -> int:
        return sum(piece[0] for _, _, pieces in self.segments for piece in pieces if piece[1] is not None)

    def allocate(self, nbytes: int, name: object) -> tuple[int, int, int] | None:
        """Returns the segment's number, the offset in it and the size; None when the card has not enough."""
        size = -(-nbytes // 512) * 512
        small = size <= MIB
        segment = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        found = self._search(small, size)
        if found is None:
            if self.reserved + segment > self.total:
                self.empty_cache()
            if self.reserved + segment > self.total:
                return None
            self.segments.append((small, self.made, [[segment, None]]))
            self.made += 1
            found = len(self.segments) - 1, 0
        _, number, pieces = self.segments[found[0]]
        piece = pieces[found[1]]
        rest = piece[0] - size
        if rest >= 512 if small else rest > MIB:
            piece[0] = size
            pieces.insert(found[1] + 1, [rest, None])
        piece[1] = name
        return number, sum(before[0] for before in pieces[: found[1]]), piece[0]

    def _search(self, small: bool, size: int) -> tuple[int, int] | None:
        fitting = [
            (piece[0], at, index)
            for at, (is_small, _, pieces) in enumerate(self.segments)
            for index, piece in enumerate(pieces)
            if is_small == small and piece[1] is None and piece[0] >= size
        ]
        return min(fitting)[1:] if fitting else None

    def free(self, name: object) -> None:
        for _, _, pieces in self.segments:
            for piece in pieces:
                if piece[1] == name:
                    piece[1] = None
            at = 0
            while at + 1 < len(pieces):
                if pieces[at][1] is None and pieces[at + 1][1] is None:
                    pieces[at][0] += pieces.pop(at + 1)[0]
                else:
                    at += 1

    def empty_cache(self) -> None:
        self.segments = [entry for entry in self.segments if any(piece[1] is not None for piece in entry[2])]
