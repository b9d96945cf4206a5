"""The memory of other libraries' pools that no array's row covers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from nbtf import runtime
from nbtf.notebook.holders.containers import Row
from nbtf.notebook.holders.garbage import Piece


def pool_rows(cards: Collection[int], rows: Sequence[Row], listed: Mapping[Piece, int], complete: bool) -> list[Row]:
    """Returns rows for the contents of the libraries' pools that no array's row covers.

    Args:
      cards: CUDA numbers of the cards.
      rows: the rows of the arrays.
      listed: the pieces in these rows, with their sizes.
      complete: whether the search for arrays had time to finish.
    """
    devices = {f"cuda:{number}" for number in cards}
    pools = [(library, pool) for library in runtime.frameworks() for pool in library.pools() if pool.device in devices]
    result: list[Row] = []
    for library, pool in sorted(pools, key=lambda pair: pair[1].device):
        sizes, releasable = library.blocks(pool)
        rounding = sum(
            [
                sizes[address] - nbytes
                for (device, _, address), nbytes in listed.items()
                if device == pool.device and address in sizes
            ]
        )
        of_pool = [row["nbytes"] for row in rows if (row["device"], row["library"]) == (pool.device, library.name)]
        nameless = f"arrays {'without a name' if complete else 'not found in time'}"
        releases = None if pool.returns is None else [pool.returns]
        for holder, nbytes, frees in (
            (nameless, pool.in_use - sum(of_pool) - rounding, None),
            ("arrays' sizes rounded up to blocks", rounding, None),
            ("kept for later arrays", releasable, releases),
            ("unused parts of segments in use", pool.reserved - pool.in_use - releasable, None),
        ):
            if nbytes > 0:
                row = {"device": pool.device, "library": library.name, "holder": f"{library.name}: {holder}"}
                result.append(row | {"nbytes": nbytes, "frees": frees})
    return result


def addresses(device: str) -> list[range]:
    """Returns the address ranges of a GPU's tensors on its card, if its allocator reports addresses."""
    try:
        pieces = runtime.memory_pieces(device)
    except ValueError:  # the device has not started
        return []
    return [range(piece.offset, piece.offset + piece.nbytes) for piece, _ in pieces]
