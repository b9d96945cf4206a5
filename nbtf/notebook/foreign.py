"""What of CuPy and PyTorch is on a card: which arrays, by which names, and what their pools keep beside them?"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from nbtf import runtime
from nbtf.notebook.garbage import Piece
from nbtf.notebook.holders import Holders
from nbtf.notebook.libraries import Arrays, pools

Row = dict[str, Any]

FEW = 10
"""Arrays of one list that are told one by one; of more, all together are one row."""


def array_rows(holders: Holders, kinds: Sequence[Arrays], cards: Collection[int], ours: Collection[range]) -> list[Row]:
    """Returns rows for the arrays of other libraries.

    Args:
      holders: a search that was told of `kinds`.
      kinds: what the libraries' arrays are.
      cards: the numbers of the cards that are asked for, as CUDA has them.
      ours: addresses that belong to nbtf's tensors; arrays there only look at them.
    """
    groups: dict[Any, list[Row]] = {}
    names = {f"cuda:{number}" for number in cards}
    for piece in [one for one in holders.largest_first if one[0] in names]:
        if not any(piece[2] in place for place in ours):
            row = _row(holders, kinds, piece)
            groups.setdefault((piece[0], *(row["patterns"] or piece)), []).append(row)
    rows = [row for group in groups.values() for row in (group if len(group) <= FEW else [_together(group)])]
    return rows + [row for kind in kinds for row in _gradients(holders, kind, names)]


def pool_rows(cards: Collection[int], rows: Sequence[Row]) -> list[Row]:
    """Returns rows for what is in the libraries' pools beside the arrays that have rows."""
    found: list[Row] = []
    for number in sorted(cards):
        device = f"cuda:{number}"
        for pool in pools(number):
            named = sum([row["nbytes"] for row in rows if (row["device"], row["library"]) == (device, pool.library)])
            unnamed, kept = pool.in_use - named, pool.taken - pool.in_use
            base = {"device": device, "library": pool.library, "frees": None}
            if unnamed > 0:
                found.append(base | {"holder": f"{pool.library}: arrays that no name leads to", "nbytes": unnamed})
            if kept > 0:
                told = {"holder": f"{pool.library}: kept for later arrays", "nbytes": kept, "frees": [pool.returns]}
                found.append(base | told)
    return found


def _row(holders: Holders, kinds: Sequence[Arrays], piece: Piece) -> Row:
    first = holders.things(piece)[0]
    kind = next(one for one in kinds if issubclass(type(first), one.kind))
    held = holders.of(piece)
    places = [] if held is None else [*held.names, *held.views]
    names = _best([tidy(place.text) for place in places])
    return {
        "device": piece[0],
        "library": kind.library,
        "holder": ", ".join(names[:FEW]) or "something without a name",
        "names": names,
        "nbytes": holders.nbytes(piece),
        "tensor": f"{kind.described(first)} ({kind.library})",
        "patterns": _best([tidy(place.kind) for place in places]),
        "frees": None,
    }


def _together(group: list[Row]) -> Row:
    first = group[0]
    holder = f"{', '.join(first['patterns'])} ({len(group):,} pieces)"
    return first | {"holder": holder, "nbytes": sum([row["nbytes"] for row in group])}


def _gradients(holders: Holders, kind: Arrays, names: Collection[str]) -> list[Row]:
    """Returns rows for the gradients of arrays that were found: the library keeps them where Python cannot see."""
    found: dict[Piece, Row] = {}
    for piece in [one for one in holders.largest_first if one[0] in names]:
        for thing in holders.things(piece):
            gradient = kind.gradient(thing) if issubclass(type(thing), kind.kind) else None
            held = None if gradient is None else kind.held(gradient)
            if held is None or (held.device, held.region, held.offset) in holders.by_piece:
                continue
            row, key = _row(holders, [kind], piece), (held.device, held.region, held.offset)
            name = f"{row['names'][0]}.grad" if row["names"] else "a gradient"
            tensor = f"{kind.described(gradient)} ({kind.library})"
            found[key] = row | {"holder": name, "names": [name], "nbytes": held.nbytes, "tensor": tensor}
    return list(found.values())


def _best(names: list[str]) -> list[str]:
    """Returns names without those that say least, where there are others."""
    names = list(dict.fromkeys(names))
    return [name for name in names if "<" not in name] or names[:1]


def tidy(name: str) -> str:
    """Returns a name as its user writes it: PyTorch keeps the parts of a module in dictionaries.

    >>> tidy("model._modules['seq']._modules['0']._parameters['weight']")
    'model.seq[0].weight'
    """
    name = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", name)
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^\W\d]\w*)'\]", r".\1", name)


def addresses(device: str) -> list[range]:
    """Returns where on its card the tensors of a GPU are, where its allocator tells addresses."""
    try:
        pieces = runtime.memory_pieces(device)
    except ValueError:  # it has not started
        return []
    return [range(piece.offset, piece.offset + piece.nbytes) for piece, _ in pieces]
