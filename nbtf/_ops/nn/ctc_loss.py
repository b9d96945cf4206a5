"""The loss of connectionist temporal classification, for labels without times: ctc_loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.shapes import transpose
from nbtf._ops.math.arithmetic import cast, multiply, subtract
from nbtf._ops.math.comparison import less, where
from nbtf._ops.nn.ctc_paths import LOG_OF_NOTHING, Labels, Rules, losses_and_gradients
from nbtf._ops.op import Gradients, op
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike, bfloat16, float16, float32, float64, int32
from nbtf.errors import InvalidArgumentError


def check_batch(inputs: Spec, sequence_length: Spec) -> None:
    """Raises TensorFlow's error unless there are logits of three axes, and a vector of lengths."""
    if len(inputs.shape) != 3:
        raise InvalidArgumentError("inputs is not a 3-Tensor")
    if len(sequence_length.shape) != 1:
        raise InvalidArgumentError("sequence_length is not a vector")


def _specs(inputs: Spec, *operands: Spec, **attrs: Any) -> list[Spec]:
    check_batch(inputs, operands[-1])
    return [Spec((inputs.shape[1],), inputs.dtype), inputs]


def _partly(inputs: Any, *operands: Any, **attrs: Any) -> list[Any]:
    return [(None,), (None, None, None) if inputs.shape is None else inputs.shape]


def check_lengths(lengths: Sequence[int], batch: int, steps: int, error: type[Exception]) -> None:
    """Raises TensorFlow's error unless there is one length for each row, and none exceeds the number of steps."""
    if len(lengths) != batch:
        text = "len(sequence_length) != batch_size.  "
        raise error(f"{text}len(sequence_length):  {len(lengths)} batch_size: {batch}")
    for row, length in enumerate(lengths):
        if length > steps:
            raise error(f"sequence_length({row}) <= {steps}")


@op(
    "T int64 int32 int32 -> T T",
    T=frozenset({float32, float64}),
    cpu_only=True,
    infer=_specs,
    partly=_partly,
)
def CTCLoss(
    xp: Any,
    inputs: Any,
    labels_indices: Any,
    labels_values: Any,
    sequence_length: Any,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> Any:
    steps, batch, classes = inputs.shape
    lengths = sequence_length.tolist()
    check_lengths(lengths, batch, steps, InvalidArgumentError)
    rows = _rows(labels_indices.tolist(), labels_values.tolist(), batch)
    rows = [_without_blanks(row, labels, classes) for row, labels in enumerate(rows)]
    if preprocess_collapse_repeated:
        rows = [[label for at, label in enumerate(row) if not at or label != row[at - 1]] for row in rows]
    is_left_out = [len(row) > length for row, length in zip(rows, lengths, strict=True)]
    for row, (labels, length) in enumerate(zip(rows, lengths, strict=True)):
        if is_left_out[row] and not ignore_longer_outputs_than_inputs:
            raise InvalidArgumentError(
                f"Not enough time for target transition sequence (required: {len(labels)}, available: {length}){row}"
                "You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs"
            )
    numbers = xp.full((batch, max([0, *map(len, rows)])), classes - 1, xp.int64)
    for row, labels in enumerate(rows):
        numbers[row, : len(labels)] = labels
    rules = Rules(classes - 1, ctc_merge_repeated, -xp.inf)
    padded = Labels(numbers, xp.array([len(row) for row in rows], xp.int64))
    losses, gradients = losses_and_gradients(xp, inputs, padded, sequence_length, rules)
    left_out = xp.array(is_left_out, bool)
    return xp.where(left_out, losses.dtype.type(0), losses), xp.where(
        left_out[:, None], gradients.dtype.type(0), gradients
    )


def _rows(indices: Sequence[Sequence[int]], values: Sequence[int], batch: int) -> list[list[int]]:
    """Returns the labels of each row."""
    rows: list[list[int]] = [[] for _ in range(batch)]
    if len(indices) != len(values):
        text = "labels_indices and labels_values must contain the same number of rows, but saw shapes: "
        raise InvalidArgumentError(f"{text}[{len(indices)},2] vs. [{len(values)}]")
    longest = max([index[1] for index in indices], default=0) + 1
    for at, (index, label) in enumerate(zip(indices, values, strict=True)):
        if not 0 <= index[0] < batch:
            bounds = f"indices[{at}] = [{index[0]},{index[1]}] is out of bounds: need 0 <= index < [{batch},{longest}]"
            raise InvalidArgumentError(f"label SparseTensor is not valid: {bounds}")
        rows[index[0]].append(label)
    for row, labels in enumerate(rows):
        if not labels:
            raise InvalidArgumentError(f"Labels length is zero in batch {row}")
    return rows


def _without_blanks(row: int, labels: list[int], classes: int) -> list[int]:
    """Returns the labels before the first that is not a class; only such labels may follow it."""
    text = ",".join(map(str, labels))
    if min(labels, default=0) < 0:
        raise InvalidArgumentError(f"All labels must be nonnegative integers, batch: {row} labels: {text}")
    count = next((at for at, label in enumerate(labels) if label >= classes - 1), len(labels))
    if any([label < classes - 1 for label in labels[count:]]):
        raise InvalidArgumentError(
            "Saw a non-null label (index >= num_classes - 1) following a null label, "
            f"batch: {row} num_classes: {classes} labels: {text} labels seen so far: "
            f"{','.join(map(str, labels[:count]))}"
        )
    return labels[:count]


@op("T int32 int32 int32 -> T T", T=frozenset({float32}), infer=_specs, partly=_partly)
def CTCLossV2(xp: Any, inputs: Any, labels: Any, label_length: Any, sequence_length: Any) -> Any:
    return losses_and_gradients(
        xp, inputs, Labels(labels, label_length), sequence_length, Rules(0, True, LOG_OF_NOTHING)
    )


@CTCLoss.gradient_keeping("inputs", "outputs")
@CTCLossV2.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor | None, grad_of_gradient: Tensor | None) -> Gradients:
    if grad_of_gradient is not None:
        raise LookupError(
            "Gradient explicitly disabled. Reason: the op computes its gradient together with the loss, so ctc_loss "
            "cannot be differentiated twice."
        )
    if grad is None:
        return [None, None, None, None]
    return [multiply(reshape(grad, [1, -1, 1]), call.outputs[1]), None, None, None]


def ctc_loss(
    labels: Any,
    logits: TensorLike,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the negative logarithm of the probability that logits spell the labels, with blanks and repetitions.

    TensorFlow computes the loss of dense labels with many small ops; nbtf runs one op, `CTCLossV2`, on every device.

    Args:
      labels: class numbers of shape `[batch, longest]`, or a sparse int32 tensor of that shape.
      logits: floats of shape `[steps, batch, classes]`.
      label_length: the number of labels of each row; ignored for sparse labels.
      logit_length: the number of steps of each row.
      logits_time_major: False if the shape of the logits is `[batch, steps, classes]`; True by default.
      unique: accepted; it does not change the loss.
      blank_index: the class of the blank, counted from the end if negative; 0 by default, for dense labels only.

    Returns:
      The loss of each row. It is about 707 or more where a row has too few steps for its dense labels.

    Raises:
      ValueError: if the labels are sparse and `blank_index` is missing.
      InvalidArgumentError: if a row has too few steps for its sparse labels.

    >>> tf.nn.ctc_loss([[1]], tf.zeros([2, 1, 3]), [1], [2]).numpy()
    array([1.0986123], dtype=float32)
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError("Argument `blank_index` must be provided when `labels` is a `SparseTensor`.")
        scores = as_tensor(logits)
        blank = _positive(blank_index, scores)
        last = concat([scores[:, :, :blank], scores[:, :, blank + 1 :], scores[:, :, blank : blank + 1]], 2)
        numbers = where(less(labels.values, blank), labels.values, subtract(labels.values, 1))
        moved = SparseTensor(labels.indices, numbers, labels.dense_shape)
        return loss_of_sparse_labels(moved, last, logit_length, time_major=logits_time_major, name=name)
    scores, numbers = as_tensor(logits), as_tensor(labels)
    label_lengths, lengths = (cast(as_tensor(value), int32) for value in (label_length, logit_length))
    if scores.dtype is float64:
        text = "cannot compute Mul as input #1(zero-based) was expected to be a double tensor but is a float tensor"
        raise InvalidArgumentError(f"{text}: dense labels need float32 logits. [Op:Mul] name: ")
    precise = cast(scores, float32)
    if not logits_time_major:
        precise = transpose(precise, [1, 0, 2])
    if blank_index:
        blank = _positive(blank_index, precise)
        precise = concat([precise[:, :, blank : blank + 1], precise[:, :, :blank], precise[:, :, blank + 1 :]], 2)
        numbers = where(less(numbers, blank), numbers + 1, numbers)
    return cast(CTCLossV2(precise, cast(numbers, int32), label_lengths, lengths, name=name)[0], scores.dtype)


def _positive(blank: int, logits: Tensor) -> Any:
    """Returns the class of the blank, counted from the start."""
    return blank if blank >= 0 else blank + logits.shape[2]


def loss_of_sparse_labels(
    labels: Any,
    logits: TensorLike,
    lengths: Any,
    collapses: bool = False,
    merges: bool = True,
    ignores_longer: bool = False,
    time_major: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns the loss of sparse labels; the last class is the blank. See `tf.compat.v1.nn.ctc_loss`."""
    scores, own_lengths = as_tensor(logits), cast(as_tensor(lengths), int32)
    precise = cast(scores, float32) if scores.dtype in (float16, bfloat16) else scores
    if not time_major:
        precise = transpose(precise, [1, 0, 2])
    numbers = as_tensor(labels.values, int32)
    losses = CTCLoss(
        precise,
        labels.indices,
        numbers,
        own_lengths,
        preprocess_collapse_repeated=collapses,
        ctc_merge_repeated=merges,
        ignore_longer_outputs_than_inputs=ignores_longer,
        name=name,
    )[0]
    return cast(losses, scores.dtype)
