"""Saves a model in a file, as JSON and arrays, and loads it; executes no code from the file."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbtf._storage import files, folders, packing
from nbtf._storage.archives import member_names
from nbtf._storage.documents import as_document, parse_document
from nbtf._storage.latest import check_prefix, note_latest
from nbtf._storage.limits import saving
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError, refusing
from nbtf.keras.allowance import allowing
from nbtf.keras.generation import check_ending
from nbtf.keras.random import SeedGenerator
from nbtf.keras.registry import custom_object_scope, deserialized, serialized
from nbtf.keras.saving import arrays
from nbtf.keras.saving.arrays import variables_of
from nbtf.keras.type_guards import is_dict, is_list

METADATA, CONFIG, WEIGHTS = "metadata.json", "config.json", "model.weights.npz"
FORMAT = "nbtf-keras/1"


# ---- Weights only


def save_weights(model: Any, filepath: str | os.PathLike[str], overwrite: bool = True, **ignored: Any) -> None:
    """Saves the weights of a model or a layer (in NumPy's `.npz` format for any extension).

    For Keras 2 (`TF_USE_LEGACY_KERAS=1`) any path is accepted. A path without an extension is stored as the latest
    checkpoint of its folder, for `tf.train.latest_checkpoint`.

    Args:
      model: a model or a layer.
      filepath: path of the file; must end in `.weights.h5`.
      overwrite: whether to replace an existing file; true by default.

    Raises:
      FileExistsError: if the file exists and `overwrite` is False.
      ValueError: if the path has another extension, or if the model has no weights yet.
    """
    path = Path(os.fspath(filepath))
    check_ending(str(filepath))
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} already exists. Pass overwrite=True to replace it.")
    if not path.suffix:
        check_prefix(path)
    weights = _weights(model)
    if not weights:
        raise ValueError(f"{model} has no weights yet. To build it, call it on data once or give it an Input.")
    arrays.write(path, {name: arrays.value_of(variable) for name, variable in weights.items()})
    if not path.suffix:
        note_latest(str(path), [str(path)])


def load_weights(model: Any, filepath: str | os.PathLike[str], skip_mismatch: bool = False, **ignored: Any) -> None:
    """Loads the weights of a model from a file.

    Args:
      model: a built model or layer.
      filepath: path of the file.
      skip_mismatch: whether weights that are missing or have another shape stay unchanged; false by default.

    Raises:
      FileNotFoundError: if the file does not exist.
      DataLossError: if the file is damaged or contains no weights.
      ValueError: if the weights do not match the model.
    """
    path = Path(os.fspath(filepath))
    saved = arrays.read(io.BytesIO(_read(path)[WEIGHTS]), path) if _is_model(path) else arrays.read(path)
    saved = {name: array for name, array in saved.items() if not name.startswith(("optimizer/", "metrics/"))}
    _give(_weights(model), saved, skip_mismatch, str(filepath))


def _weights(model: Any) -> dict[str, Any]:
    return {
        name: variable
        for name, variable in variables_of(model).items()
        if not name.startswith(("optimizer/", "metrics/"))
    }


def _give(variables: Mapping[str, Any], saved: Mapping[str, Any], skip_mismatch: bool, source: str) -> None:
    missing = sorted(set(variables) - set(saved))
    if missing and not skip_mismatch:
        text = "none of the names match" if len(missing) == len(variables) else f"the file has no {missing[0]!r}"
        raise ValueError(
            f"{source} has {len(saved)} weights and this model has {len(variables)}, but {text}. Was it saved from "
            "another model, or is this model not built yet? To build it, call it on data once or give it an Input."
        )
    fitting = {
        name: variable
        for name, variable in variables.items()
        if name in saved and (not skip_mismatch or tuple(variable.shape) == tuple(saved[name].shape))
    }
    for name, variable in fitting.items():
        if tuple(variable.shape) != tuple(saved[name].shape):
            raise ValueError(
                f"{source}: {name!r} has shape {tuple(saved[name].shape)}, but the weight of the model has shape "
                f"{tuple(variable.shape)}."
            )
        arrays.check_dtype(variable.dtype, saved[name], f"{source}: {name!r}")
    for name, variable in fitting.items():
        arrays.put(variable, saved[name], name)


# ---- Whole models


def save_model(model: Any, filepath: str | os.PathLike[str], overwrite: bool = True, **ignored: Any) -> None:
    """Saves a model: its configuration, its weights and its `compile` arguments.

    Args:
      model: a built model.
      filepath: `name.keras`, a zip of JSON and NumPy's `.npz`; without an extension, a folder with the same files.
      overwrite: whether to replace an existing file; true by default.

    Raises:
      FileExistsError: if the file exists and `overwrite` is False.
      ValueError: if the extension belongs to another format.
    """
    path = Path(os.fspath(filepath))
    if path.suffix not in ("", ".keras", ".h5", ".hdf5") or not os.fspath(filepath):
        raise ValueError(
            f"Invalid filepath extension for saving. Please add either a `.keras` extension, or none for a folder. "
            f"Received: filepath={filepath}."
        )
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} already exists. Pass overwrite=True to replace it.")
    with saving(path):
        files_of_model = _serialize_model(model)
    if path.suffix:
        files.make_folder(path.parent)
        packing.write(path, files_of_model)
    else:
        folders.write(path, files_of_model)


def _serialize_model(model: Any) -> dict[str, bytes]:
    config = serialized(model)
    shape = getattr(model, "_build_shape", None)
    document = {
        **config,
        "build_config": {"input_shape": shape} if shape is not None else None,
        "compile_config": model.get_compile_config() if getattr(model, "compiled", False) else None,
        "seeds": [[generator.seed, generator._count] for generator in seeds_of(model)],
    }
    stream = io.BytesIO()
    arrays.write(stream, {name: arrays.value_of(variable) for name, variable in variables_of(model).items()})
    return {
        METADATA: as_document({"format": FORMAT, "keras_version": "3"}),
        CONFIG: as_document(document, _DOCUMENT, as_plain),
        WEIGHTS: stream.getvalue(),
    }


def seeds_of(model: Any) -> list[SeedGenerator]:
    """Returns the seed generators of a model's layers in order, so that random numbers can be continued."""
    layers: list[Any] = model._flatten_layers() if hasattr(model, "_flatten_layers") else []
    return [
        attribute for layer in layers for attribute in layer.__dict__.values() if isinstance(attribute, SeedGenerator)
    ]


def go_on(model: Any, seeds: list[list[int]]) -> None:
    """Sets the seed generators of a model to their saved states."""
    for generator, (seed, count) in zip(seeds_of(model), seeds, strict=False):
        generator.seed, generator._count = seed, count


def as_plain(value: Any) -> Any:
    """Returns a value in a form that JSON can represent."""
    if hasattr(value, "get_config") or callable(value):
        return serialized(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "as_list"):
        return value.as_list()
    raise TypeError(f"{type(value).__name__} cannot be saved in a model file: {value!r}")


_DOCUMENT = {
    "class_name": str,
    "config": {str: object},
    "build_config?": ({"input_shape": object}, None),
    "compile_config?": ({str: object}, None),
    "seeds?": [[int, int]],
}


def load_model(
    filepath: str | os.PathLike[str],
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
    **ignored: Any,
) -> Any:
    """Loads a model from a file; in the scope of a strategy its weights are mirrored.

    Files from untrusted sources can be loaded: nothing in them is executed or imported. A file may only name public
    Keras classes, activations, losses and metrics, objects registered with `register_keras_serializable`, and
    `custom_objects`. Objects are created by `from_config` from plain data. Weights without values in the file are not
    created.

    Args:
      filepath: path of a file written by `save_model`.
      custom_objects: your own classes and functions by name.
      compile: whether to compile the model as before; true by default.
      safe_mode: ignored; safe mode is always on.

    Raises:
      ValueError: if the file does not exist.
      DataLossError: if the file is damaged, has another format, or names other objects; the error is also a
        `ValueError` and a `TypeError`.
    """
    path = Path(os.fspath(filepath))
    contents = _read(path)
    parse_document(contents[METADATA], path, {"format": str})
    document: dict[str, Any] = parse_document(contents[CONFIG], path, _DOCUMENT)
    saved = arrays.read(io.BytesIO(contents[WEIGHTS]), path)
    with refusing(path, "cannot be loaded"), allowing(sum(array.nbytes for array in saved.values())):
        with custom_object_scope(custom_objects or {}):
            model = _model_of(document, compile)
        _fill(model, saved, str(filepath))
        go_on(model, document.get("seeds", []))
    return model


def _model_of(document: Mapping[str, Any], compile: bool) -> Any:
    """Returns the model that a document describes, with new weights."""
    model = deserialized(document)
    if not hasattr(model, "compile_from_config"):  # every model has it, and nothing else
        raise ValueError(f"{document['class_name']!r:.60} is not a model.")
    build = document.get("build_config")
    if build and not model.built:
        model.build(_shapes(build["input_shape"]))
    compiled = document.get("compile_config")
    if compile and compiled:
        model.compile_from_config(compiled)
    return model


def _fill(model: Any, saved: Mapping[str, Any], source: str) -> None:
    """Sets the saved values of a model, including those of optimizer and metrics if saved."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and any(name.startswith("optimizer/") for name in saved):
        optimizer.build(model.trainable_variables)
    present = _weights(model)
    _give(present, saved, False, source)
    for name, variable in variables_of(model).items():
        if name not in present and name in saved and tuple(variable.shape) == tuple(saved[name].shape):
            arrays.check_dtype(variable.dtype, saved[name], f"{source}: {name!r}")
            arrays.put(variable, saved[name], name)


def _shapes(value: Any) -> Any:
    """Returns shapes as tuples, which JSON had converted to lists."""
    if is_dict(value):
        return {key: _shapes(entry) for key, entry in value.items()}
    if is_list(value):
        is_shape = all(length is None or isinstance(length, int) for length in value)
        return tuple(value) if is_shape else [_shapes(item) for item in value]
    return value


def _is_model(path: Path) -> bool:
    """Returns whether the path contains a whole model, not only weights."""
    if path.is_dir():
        return folders.holds(path, METADATA)
    with open_bytes(path) as file:
        return zipfile.is_zipfile(file) and METADATA in member_names(file, path)


def _read(path: Path) -> dict[str, bytes]:
    names = (METADATA, CONFIG, WEIGHTS)
    try:
        return folders.read(path, names) if path.is_dir() else packing.read(path, names)
    except FileNotFoundError:
        if path.suffix in (".h5", ".hdf5"):
            raise  # as in Keras, which opens such a file without checking first
        raise ValueError(
            f"File not found: filepath={path}. Please ensure the file is an accessible `.keras` zip file."
        ) from None
    except RefusedFileError as error:
        raise RefusedFileError(
            f"{path} is not a model written by nbtf. Expected a zip file or a folder with {', '.join(names)}. "
            f"TensorFlow and HDF5 formats are not supported. {error}"
        ) from None
