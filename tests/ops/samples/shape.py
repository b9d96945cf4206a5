"""What shapes, joining, padding and identities are tried on."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

X = np.arange(6, dtype=np.float32).reshape(2, 3)
N = np.arange(6, dtype=np.int32).reshape(2, 3)
B = np.array([[True], [False]])
T = np.array([b"a", b"b", b"c"], object)
Z = np.array([[1 + 2j, 3 - 1j]], np.complex64)
CUBE = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
EMPTY = np.zeros((0, 2), np.float32)

SHAPES = [
    Sample("Shape", tf.shape, [X], np.array([2, 3], np.int32)),
    Sample("Shape", tf.shape, [T, tf.int64], np.array([3])),
    Sample("Shape", tf.shape, [np.float32(1)], np.zeros(0, np.int32)),
    Sample("Size", tf.raw_ops.Size, [X], np.int32(6), {"out_type": tf.int32}),
    Sample("Size", tf.raw_ops.Size, [EMPTY], np.int64(0), {"out_type": tf.int64}),
    Sample("Rank", tf.raw_ops.Rank, [CUBE], np.int32(3)),
    Sample("Transpose", tf.transpose, [X], X.T, differentiable=[0]),
    Sample("Transpose", tf.transpose, [CUBE, [1, -1, 0]], CUBE.transpose(1, 2, 0), differentiable=[0]),
    Sample("Transpose", tf.transpose, [T], T),
    Sample("ConjugateTranspose", tf.transpose, [Z], Z.T.conj(), {"conjugate": True}, differentiable=[0]),
    Sample("ConjugateTranspose", tf.transpose, [Z, [0, 1], True], Z.conj()),
    Sample("ExpandDims", tf.expand_dims, [X, 0], X[None], differentiable=[0]),
    Sample("ExpandDims", tf.expand_dims, [N, -1], N[..., None]),
    Sample("ExpandDims", tf.expand_dims, [CUBE, -3], CUBE[:, None], differentiable=[0]),
    Sample("ExpandDims", tf.expand_dims, [np.int64(3), [0]], np.array([3])),
    Sample("Squeeze", tf.squeeze, [X[None, :, None]], X, differentiable=[0]),
    Sample("Squeeze", tf.squeeze, [N[None, :, None], -2], N[None]),
    Sample("Squeeze", tf.squeeze, [B[None], [0, 2]], B[:, 0]),
    Sample("Squeeze", tf.squeeze, [B[None], []], B[:, 0]),
]

IDENTITIES = [
    Sample("Identity", tf.identity, [X], X, differentiable=[0]),
    Sample("Identity", tf.identity, [T], T),
    Sample("Identity", tf.identity_n, [[N, B]], [N, B]),
    Sample("StopGradient", tf.stop_gradient, [X], X),
    Sample("EnsureShape", tf.ensure_shape, [X, [None, 3]], X, differentiable=[0]),
    Sample("EnsureShape", tf.ensure_shape, [T, None], T),
]

JOINING = [
    Sample("ConcatV2", tf.concat, [[X, X[:1]], 0], np.concatenate([X, X[:1]]), differentiable=[0]),
    Sample("ConcatV2", tf.concat, [[N, N[:, :1], N], -1], np.concatenate([N, N[:, :1], N], 1)),
    Sample("ConcatV2", tf.concat, [[T, T[:1]], 0], np.array([*T, T[0]], object)),
    Sample("ConcatV2", tf.concat, [[EMPTY, EMPTY], 0], EMPTY),
    Sample("Pack", tf.stack, [[X, X + 1]], np.stack([X, X + 1]), differentiable=[0]),
    Sample("Pack", tf.stack, [[N, N], -1], np.stack([N, N], -1)),
    Sample("Pack", tf.stack, [[X, X, X], 1], np.stack([X, X, X], 1), differentiable=[0]),
    Sample("Pack", tf.stack, [[T, T]], np.stack([T, T])),
    Sample("Unpack", tf.unstack, [X], [X[0], X[1]], differentiable=[0]),
    Sample("Unpack", tf.unstack, [N, None, -1], [N[:, 0], N[:, 1], N[:, 2]]),
    Sample("Unpack", tf.unstack, [T], [b"a", b"b", b"c"]),
    Sample("Split", tf.split, [X, 3, 1], [X[:, :1], X[:, 1:2], X[:, 2:]], differentiable=[0]),
    Sample("Split", tf.split, [T, 1], [T]),
    Sample("SplitV", tf.split, [X, [1, -1], -1], [X[:, :1], X[:, 1:]], differentiable=[0]),
    Sample("SplitV", tf.split, [N, [0, 2]], [N[:0], N]),
]

EXTENT = [
    Sample("Slice", tf.slice, [X, [0, 1], [2, -1]], X[:, 1:], differentiable=[0]),
    Sample("Slice", tf.slice, [CUBE, [1, 0, 2], [1, 3, 1]], CUBE[1:, :, 2:3], differentiable=[0]),
    Sample("Slice", tf.slice, [T, [1], [0]], T[:0]),
    Sample("Pad", tf.pad, [X, [[1, 0], [0, 2]]], np.pad(X, [[1, 0], [0, 2]]), differentiable=[0]),
    Sample("Pad", tf.pad, [T[:1], [[1, 1]]], np.array([b"", b"a", b""], object)),
    Sample(
        "PadV2", tf.pad, [X, [[0, 0], [1, 1]]], np.pad(X, [[0, 0], [1, 1]], constant_values=7.0), {"constant_values": 7}
    ),
    Sample(
        "PadV2",
        tf.pad,
        [CUBE[0, 0], [[1, 2]], "CONSTANT", 0.5],
        np.pad(CUBE[0, 0], [[1, 2]], constant_values=0.5),
        differentiable=[0],
    ),
    Sample(
        "MirrorPad",
        tf.pad,
        [X, [[1, 1], [2, 0]], "REFLECT"],
        np.pad(X, [[1, 1], [2, 0]], "reflect"),
        differentiable=[0],
    ),
    Sample(
        "MirrorPad",
        tf.pad,
        [X, [[0, 2], [3, 1]], "SYMMETRIC"],
        np.pad(X, [[0, 2], [3, 1]], "symmetric"),
        differentiable=[0],
    ),
    Sample("MirrorPad", tf.pad, [T, [[2, 1]], "reflect"], np.array([b"c", b"b", b"a", b"b", b"c", b"b"], object)),
    Sample(
        "MirrorPadGrad",
        tf.raw_ops.MirrorPadGrad,
        [np.arange(7, dtype=np.float32)],
        np.array([3.0, 9.0, 9.0]),
        {"paddings": [[2, 2]], "mode": "SYMMETRIC"},
        differentiable=[0],
    ),
    Sample("Tile", tf.tile, [X, [2, 3]], np.tile(X, [2, 3]), differentiable=[0]),
    Sample("Tile", tf.tile, [T, [2]], np.tile(T, [2])),
    Sample("Tile", tf.tile, [N, [0, 1]], N[:0]),
    Sample("ReverseV2", tf.reverse, [X, [1]], X[:, ::-1], differentiable=[0]),
    Sample("ReverseV2", tf.reverse, [CUBE, [0, -1]], CUBE[::-1, :, ::-1], differentiable=[0]),
    Sample("ReverseV2", tf.reverse, [T, [0]], T[::-1]),
    Sample("Roll", tf.roll, [X, 1, 1], np.roll(X, 1, 1), differentiable=[0]),
    Sample("Roll", tf.roll, [CUBE, [1, -2], [0, 2]], np.roll(CUBE, [1, -2], [0, 2]), differentiable=[0]),
    Sample("Roll", tf.roll, [T, -4, -1], np.roll(T, -4)),
]

SAMPLES = [*SHAPES, *IDENTITIES, *JOINING, *EXTENT]
