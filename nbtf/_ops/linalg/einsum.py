"""Tensor contractions: tensordot and einsum."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import broadcast_to, reshape
from nbtf._ops.arrays.shapes import joint_length, lengths_of, transpose
from nbtf._ops.attributes import as_ints
from nbtf._ops.linalg.products import MULTIPLIED, MatMul, matmul
from nbtf._ops.math.arithmetic import conj
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.lines import join
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import bracketed, broadcast_shapes
from nbtf._runtime.arguments import check_text
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, TensorLike, int32, int64
from nbtf.errors import InvalidArgumentError


def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = None) -> Tensor:
    """Returns the products of the elements of `a` and `b`, summed over pairs of axes.

    Args:
      a: a numeric tensor.
      b: a tensor of the same dtype.
      axes: number of last axes of `a` to pair with the first axes of `b`, or two lists of axes.

    Returns:
      A tensor with the remaining axes of `a`, then those of `b`.

    Raises:
      ValueError: if the axes cannot be paired.
      InvalidArgumentError: if paired axes differ in length.

    >>> tf.tensordot([[1.0, 2.0]], [[3.0], [4.0]], axes=1).numpy()
    array([[11.]], dtype=float32)
    >>> tf.tensordot([1.0, 2.0], [3.0, 4.0], axes=[[0], [0]]).numpy()
    np.float32(11.0)
    """
    first, second = MatMul.convert((a, b))
    summed_a, summed_b = _pairs(first, second, axes)
    left_matrix, left_a = _as_matrix(first, summed_a, False)
    right, left_b = _as_matrix(second, summed_b, True)
    product = matmul(left_matrix, right, name=name)
    shape = [*left_a, *left_b]
    return product if len(left_a) == len(left_b) == 1 else reshape(product, shape)


def _pairs(a: Tensor, b: Tensor, axes: Any) -> tuple[list[int], list[int]]:
    plain = axes.numpy() if isinstance(axes, Tensor) else axes
    if isinstance(plain, str | bytes):
        raise TypeError(f"`axes` must be integers. Received {axes}.")
    if hasattr(plain, "__index__") and not getattr(plain, "shape", ()):
        return _innermost(a, plain.__index__())
    if not hasattr(plain, "__len__") or len(plain) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    pair = [list(as_ints(side)) for side in plain]
    if len(pair[0]) != len(pair[1]):
        raise ValueError(f"Different number of contraction axes `a` and `b`, {len(pair[0])} != {len(pair[1])}.")
    rank_a, rank_b = len(a.shape), len(b.shape)
    return [i % max(rank_a, 1) for i in pair[0]], [i % max(rank_b, 1) for i in pair[1]]


def _innermost(a: Tensor, count: int) -> tuple[list[int], list[int]]:
    rank = len(a.shape)
    if count < 0:
        raise ValueError(f"`axes` must be at least 0. Received: {count}.")
    if count > rank:
        raise ValueError(
            f"`axes` must not be larger than the number of dimensions of tensor {a.numpy()}.  Received {count}, vs "
            f"tensor dimensions {rank}."
        )
    return list(range(rank - count, rank)), list(range(count))


def _as_matrix(tensor: Tensor, summed: list[int], summed_first: bool) -> tuple[Tensor, list[int]]:
    """Returns a matrix whose rows or columns are the summed axes, and the lengths of the other axes."""
    shape, static_shape = lengths_of(tensor), tensor.shape
    free = [i for i in range(len(shape)) if i not in summed]
    order = [*summed, *free] if summed_first else [*free, *summed]
    if order != list(range(len(shape))):
        tensor = transpose(tensor, order)
    lengths = [shape[i] for i in free]
    sizes = [joint_length([static_shape[i] for i in summed]), joint_length([static_shape[i] for i in free])]
    layout = sizes if summed_first else sizes[::-1]
    return (tensor if tensor.shape.as_list() == layout else reshape(tensor, layout)), lengths


def einsum(equation: str, *inputs: TensorLike, **kwargs: Any) -> Tensor:
    """Returns the product of tensors, summed over axes as described by an equation.

    The equation names the axes of each input with letters and, after `->`, those of the result. Axes with the same
    letter are paired; axes that the result does not name are summed. `...` stands for axes that broadcast.
    Without `->`, the result has the letters that occur once, in alphabetical order.

    Args:
      equation: the equation, such as `"ij,jk->ik"` for a matrix product.
      *inputs: the tensors that the equation names, of the same dtype; more than two are multiplied in pairs, the
        smallest result first.
      **kwargs: `name` and `optimize`, accepted and ignored.

    Returns:
      The result of the equation.

    Raises:
      ValueError: if the equation is invalid.
      InvalidArgumentError: if a tensor does not fit the equation.

    >>> tf.einsum("ij,kj->ik", [[1.0, 2.0]], [[3.0, 4.0]]).numpy()
    array([[11.]], dtype=float32)
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        strange = ", ".join(kwargs)
        raise TypeError(f"Invalid keyword arguments for einsum: {strange}. Valid arguments: name, optimize, greedy.")
    terms, result = _read(equation, len(inputs))
    (tensors,) = Einsum.convert((list(inputs),))
    while len(tensors) > 2:
        chosen, second = _cheapest_pair(terms, tensors)
        other_terms = [term for i, term in enumerate(terms) if i not in (chosen, second)]
        pair_result = _result_letters(terms[chosen] + terms[second], [*other_terms, result])
        pair = Einsum(
            [tensors[chosen], tensors[second]], equation=f"{terms[chosen]},{terms[second]}->{pair_result}", name=name
        )
        tensors = [*(tensor for i, tensor in enumerate(tensors) if i not in (chosen, second)), pair]
        terms = [*other_terms, pair_result]
    return Einsum(tensors, equation=f"{','.join(terms)}->{result}", name=name)


def _read(equation: str, count: int) -> tuple[list[str], str]:
    """Returns the letters of the inputs and of the result."""
    plain = check_text(equation, "equation").replace(" ", "")
    match = re.fullmatch(r"([a-zA-Z.,]*)(?:->([a-zA-Z.]*))?", plain)
    if match is None:
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    terms = match[1].split(",")
    if len(terms) != count:
        raise ValueError(f'Got {count} inputs for equation "{equation}", expecting {len(terms)}')
    letters = [letter for term in terms for letter in term.replace("...", "")]
    result = match[2]
    if result is None:
        result = "..." * ("..." in match[1]) + "".join(c for c in sorted(set(letters)) if letters.count(c) == 1)
    labels = result.replace("...", "")
    for letter in labels:
        if letter not in letters:
            raise ValueError(f"Output subscripts contain the label {letter} not present in the input subscripts.")
    if len(set(labels)) < len(labels):
        raise ValueError(f"Output subscripts contain a label appearing more than once: {equation}")
    return terms, result


def _result_letters(letters: str, other_terms: Sequence[str]) -> str:
    """Returns the letters of a pair that are needed afterwards."""
    needed = "".join(other_terms)
    dots = "..." if "..." in letters else ""
    return dots + "".join(dict.fromkeys(c for c in letters if c != "." and c in needed))


def _cheapest_pair(terms: Sequence[str], tensors: Sequence[Tensor]) -> tuple[int, int]:
    """Returns the pair whose product has the fewest elements."""
    lengths: dict[str, Any] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        if "..." not in term:
            lengths.update(zip(term, tensor.shape.as_list(), strict=False))
    pairs = [(i, j) for j in range(len(terms)) for i in range(j)]
    return min(pairs, key=lambda pair: math.prod(lengths.get(c, 1) for c in {*terms[pair[0]], *terms[pair[1]]}))


@op("T* -> T", T=MULTIPLIED, cpu_only=frozenset({int32, int64}))
def Einsum(xp: Any, inputs: list[Any], equation: str) -> Any:
    terms, result = _labels(equation, [array.shape for array in inputs])
    simple = [_one_each(xp, array, term) for array, term in zip(inputs, terms, strict=True)]
    arrays = [array for array, _ in simple]
    unique = list(dict.fromkeys(result))
    if len(arrays) == 1:
        array, labels = _summed(xp, *simple[0], unique)
        output = _in_order(array, labels, unique)
    else:
        first, second = (_summed(xp, *simple[i], [*simple[1 - i][1], *unique]) for i in (0, 1))
        output = _multiplied(xp, first, second, unique)
    return output if unique == result else _on_diagonals(xp, output, unique, result)


def _labels(equation: str, shapes: Sequence[tuple[int | None, ...]]) -> tuple[list[list[str]], list[str]]:
    """Returns one label per axis; the axes of `...` are numbered from the end, where they are aligned."""
    inputs, _, right = equation.partition("->")
    terms: list[list[str]] = []
    widest = 0
    for number, (term, shape) in enumerate(zip(inputs.split(","), shapes, strict=True)):
        letters = len(term.replace("...", ""))
        dots = len(shape) - letters
        if dots < 0 or ("..." not in term and dots):
            raise InvalidArgumentError(f"Expected input {number} to have rank {letters} but got: {len(shape)}")
        widest = max(widest, dots)
        terms.append(_spelled_out(term, dots))
    if widest and "..." not in right:
        text = f"Output contains {widest} broadcasting dimension(s) but no ellipsis (...) was found in the output "
        raise InvalidArgumentError(text + "subscripts.")
    return terms, _spelled_out(right, widest)


def _spelled_out(term: str, dots: int) -> list[str]:
    head, ellipsis, tail = term.partition("...")
    return [*head, *(f".{i}" for i in range(dots, 0, -1) if ellipsis), *tail]


def _one_each(xp: Any, array: Any, labels: list[str]) -> tuple[Any, list[str]]:
    """Returns an array with each label once, taking the diagonal of repeated ones."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if array.shape[first] != array.shape[second]:
                raise ValueError("axes with the same letter differ in length")
            array = xp.diagonal(array, 0, first, second)
            labels = [c for i, c in enumerate(labels) if i not in (first, second)] + [label]
    return array, labels


def _summed(xp: Any, array: Any, labels: list[str], needed: Sequence[str]) -> tuple[Any, list[str]]:
    """Sums the axes whose label appears nowhere else."""
    gone = tuple(i for i, label in enumerate(labels) if label not in needed)
    if not gone:
        return array, labels
    return join(xp, xp.add, array, gone, array.dtype), [label for label in labels if label in needed]


def _in_order(array: Any, labels: list[str], order: list[str]) -> Any:
    return array.transpose([labels.index(label) for label in order])


def _multiplied(xp: Any, first: tuple[Any, list[str]], second: tuple[Any, list[str]], order: list[str]) -> Any:
    """Multiplies two arrays as batches of matrices, which is much faster than multiplying elements."""
    (a, in_a), (b, in_b) = first, second
    both = [label for label in in_a if label in in_b]
    batch = [label for label in order if label in both or label[0] == "."]  # broadcast axes are batch axes too
    inner = [label for label in both if label not in order]
    rows = [label for label in in_a if label not in both and label not in batch]
    columns = [label for label in in_b if label not in both and label not in batch]
    left_matrix, lengths_a = _stacked(a, in_a, batch, rows, inner)
    right, lengths_b = _stacked(b, in_b, batch, inner, columns)
    product = xp.matmul(left_matrix, right)
    lengths = [*(lengths_a[c] for c in rows), *(lengths_b[c] for c in columns)]
    product = product.reshape((*product.shape[:-2], *lengths))
    return _in_order(product, [*batch, *rows, *columns], order)


def _stacked(
    array: Any, labels: list[str], batch: list[str], rows: list[str], columns: list[str]
) -> tuple[Any, dict[str, int]]:
    """Returns an array reshaped to matrices, and the lengths of its axes."""
    lengths = dict(zip(labels, array.shape, strict=True))
    present = [label for label in batch if label in lengths]
    array = _in_order(array, labels, [*present, *rows, *columns])
    sizes = [math.prod(lengths[c] for c in letters) for letters in (rows, columns)]
    return array.reshape((*(lengths.get(c, 1) for c in batch), *sizes)), lengths


def _on_diagonals(xp: Any, array: Any, labels: list[str], order: list[str]) -> Any:
    """Returns an array with some labels repeated: zero where axes of the same label have different positions."""
    lengths = dict(zip(labels, array.shape, strict=True))
    shape = tuple(lengths[label] for label in order)
    once = [lengths[label] if order.index(label) == i else 1 for i, label in enumerate(order)]
    spread = _in_order(array, labels, list(dict.fromkeys(order))).reshape(once)
    grids = [xp.arange(n).reshape(-1, *(1,) * (len(shape) - 1 - i)) for i, n in enumerate(shape)]
    for i, label in enumerate(order):
        spread = xp.where(grids[i] == grids[order.index(label)], spread, xp.zeros((), array.dtype))
    return spread


@Einsum.infer
def _(inputs: Sequence[Spec], equation: str) -> Spec:
    terms, result = _labels(equation, [spec.shape for spec in inputs])
    lengths: dict[str, int | None] = {}
    for spec, term in zip(inputs, terms, strict=True):
        for axis, (label, length) in enumerate(zip(term, spec.shape, strict=True)):
            present = lengths.get(label)
            if label[0] == ".":
                lengths[label] = broadcast_shapes((present,), (length,))[0] if label in lengths else length
            elif present is not None and length is not None and present != length:
                text = f"Expected dimension {present} at axis {axis} of the input shaped {bracketed(spec.shape)} but "
                raise InvalidArgumentError(f"{text}got dimension {length}")
            else:
                lengths[label] = length if present is None else present
    return Spec(tuple(lengths[label] for label in result), inputs[0].dtype)


@Einsum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    inputs: list[Tensor] = list(call.inputs[0])
    inputs_text, _, right = call.attrs["equation"].partition("->")
    terms = inputs_text.split(",")
    grads: Any = []
    for number, tensor in enumerate(inputs):
        other_numbers = [i for i in range(len(inputs)) if i != number]
        values = [inputs[i] if tensor._dtype not in COMPLEXES else conj(inputs[i]) for i in other_numbers]
        grads.append(_back(grad, right, values, [terms[i] for i in other_numbers], tensor, terms[number]))
    return [grads]


def _back(grad: Tensor, right: str, other_inputs: list[Tensor], terms: list[str], like: Tensor, term: str) -> Tensor:
    """Returns the gradient of one input: the result's gradient times the other input, over the axes of `term`."""
    sources = right + "".join(terms)
    letters = dict.fromkeys(term.replace("...", ""))
    present = "".join(letter for letter in letters if letter in sources)
    dots = "..." if "..." in sources else ""
    back = Einsum([grad, *other_inputs], equation=f"{','.join([right, *terms])}->{dots}{present}")
    shape: list[Any] = like.shape.as_list()
    labels = _spelled_out(term, len(shape) - len(term.replace("...", "")))
    back = _unstretched(back, [n for n, label in zip(shape, labels, strict=True) if label[0] == "."], len(present))
    missing = "".join(letter for letter in letters if letter not in sources)
    if missing:  # repeat along the summed axes
        lengths: list[Any] = back.shape.as_list()
        unit_axes = reshape(back, [1] * len(missing) + lengths)
        back = broadcast_to(unit_axes, [shape[labels.index(letter)] for letter in missing] + lengths)
    back_labels = missing + ("..." if "..." in term else "") + present
    return back if back_labels == term else Einsum([back], equation=f"{back_labels}->{term}")


def _unstretched(back: Tensor, shape: list[int], letters: int) -> Tensor:
    """Sums the axes of `...` that an input lacks or has with length 1."""
    extra = len(back.shape) - letters - len(shape)
    if extra:
        back = reduce_sum(back, list(range(extra)))
    stretched = [i for i, n in enumerate(shape) if n == 1 and back.shape[i] != 1]
    return reduce_sum(back, stretched, True) if stretched else back
