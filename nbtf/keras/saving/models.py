"""A whole model in a file: what it is made of as JSON, its weights as arrays. Nothing in it is executed."""

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
from nbtf._storage.limits import saving
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError, refusing
from nbtf.keras.allowance import allowing
from nbtf.keras.generation import check_ending
from nbtf.keras.random import SeedGenerator
from nbtf.keras.registry import custom_object_scope, deserialized, serialized
from nbtf.keras.saving import arrays
from nbtf.keras.saving.arrays import variables_of
from nbtf.keras.saving.latest import check_prefix, note_latest

METADATA, CONFIG, WEIGHTS = "metadata.json", "config.json", "model.weights.npz"
FORMAT = "nbtf-keras/1"


# ---- weights alone


def save_weights(model: Any, filepath: str | os.PathLike[str], overwrite: bool = True, **ignored: Any) -> None:
    """Writes the weights of a model or a layer (NumPy's `.npz`, whatever the ending).

    For Keras 2 (`TF_USE_LEGACY_KERAS=1`) any path will do, and one without an ending is noted as the last of its
    folder, for `tf.train.latest_checkpoint`.

    Args:
      model: a model or a layer.
      filepath: where to; it ends in `.weights.h5`.
      overwrite: whether a file that is there is replaced.

    Raises:
      FileExistsError: the file is there, and `overwrite` is False.
      ValueError: the path ends otherwise, or the model has no weights yet.
    """
    path = Path(os.fspath(filepath))
    check_ending(str(filepath))
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} is there already; overwrite=True replaces it")
    if not path.suffix:
        check_prefix(path)
    weights = _weights(model)
    if not weights:
        raise ValueError(
            f"{model} has no weights yet: it makes them when it is built. Call it on data once, or give it an Input."
        )
    arrays.write(path, {name: arrays.value_of(variable) for name, variable in weights.items()})
    if not path.suffix:
        note_latest(str(path), [str(path)])


def load_weights(model: Any, filepath: str | os.PathLike[str], skip_mismatch: bool = False, **ignored: Any) -> None:
    """Gives a model the weights of a file.

    Args:
      model: a model or a layer that is built.
      filepath: where from.
      skip_mismatch: whether weights that are missing or have another shape are left as they are.

    Raises:
      FileNotFoundError: there is no such file.
      DataLossError: the file is damaged, or holds no weights.
      ValueError: the weights do not belong to such a model.
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
        text = "none of them" if len(missing) == len(variables) else f"not {missing[0]!r}"
        raise ValueError(
            f"{source} has {len(saved)} weights, this model {len(variables)}, and {text} under the names wanted here. "
            "Was it saved from another model, or is this one not built yet? Call it on data once, or give it an Input."
        )
    fitting = {
        name: variable
        for name, variable in variables.items()
        if name in saved and (not skip_mismatch or tuple(variable.shape) == tuple(saved[name].shape))
    }
    for name, variable in fitting.items():
        if tuple(variable.shape) != tuple(saved[name].shape):
            raise ValueError(
                f"{source}: {name!r} has shape {tuple(saved[name].shape)}, the weight of the model "
                f"{tuple(variable.shape)}."
            )
        arrays.check_dtype(variable.dtype, saved[name], f"{source}: {name!r}")
    for name, variable in fitting.items():
        arrays.put(variable, saved[name], name)


# ---- whole models


def save_model(model: Any, filepath: str | os.PathLike[str], overwrite: bool = True, **ignored: Any) -> None:
    """Writes a model: configuration, weights, and what it was compiled with.

    Args:
      model: a model that is built.
      filepath: `name.keras`, a zip of JSON and NumPy's `.npz`; without an ending a folder with the same files.
      overwrite: whether what is there is replaced.

    Raises:
      FileExistsError: it is there, and `overwrite` is False.
      ValueError: an ending that means another format.
    """
    path = Path(os.fspath(filepath))
    if path.suffix not in ("", ".keras", ".h5", ".hdf5") or not os.fspath(filepath):
        raise ValueError(
            f"Invalid filepath extension for saving. Please add either a `.keras` extension, or none for a folder. "
            f"Received: filepath={filepath}."
        )
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} is there already; overwrite=True replaces it")
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
    """Returns where the layers of a model take their random numbers from, in order: dropout goes on where it was."""
    layers: list[Any] = model._flatten_layers() if hasattr(model, "_flatten_layers") else []
    return [
        attribute for layer in layers for attribute in layer.__dict__.values() if isinstance(attribute, SeedGenerator)
    ]


def go_on(model: Any, seeds: list[list[int]]) -> None:
    """Has random numbers of a model go on where those of the saved one were."""
    for generator, (seed, count) in zip(seeds_of(model), seeds, strict=False):
        generator.seed, generator._count = seed, count


def as_plain(value: Any) -> Any:
    """Returns what JSON cannot write as something that it can."""
    if hasattr(value, "get_config") or callable(value):
        return serialized(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "as_list"):
        return value.as_list()
    raise TypeError(f"{type(value).__name__} cannot be written into a model's file: {value!r}")


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
    """Makes a model from a file; in the scope of a strategy its weights are mirrored.

    A file from a stranger may be loaded: nothing in it is executed or imported. It names public classes of Keras,
    activations, losses and metrics, those of the program that `register_keras_serializable` has registered, and
    `custom_objects`. Classes are made by `from_config` of plain data. Weights for which the file has no values are
    not made.

    Args:
      filepath: what `save_model` wrote.
      custom_objects: classes and functions of yours by name.
      compile: whether it is compiled as it was.
      safe_mode: accepted, and always on.

    Raises:
      ValueError: there is no such file.
      DataLossError: it is none of ours, damaged, or names something else; a `ValueError` and a `TypeError`, too.
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
    """Returns the model of a document, with weights of its own."""
    from nbtf.keras.models import Model

    model = deserialized(document)
    if not isinstance(model, Model):
        raise ValueError(f"{document['class_name']!r:.60} is no model.")
    build = document.get("build_config")
    if build and not model.built:
        model.build(_shapes(build["input_shape"]))
    compiled = document.get("compile_config")
    if compile and compiled:
        model.compile_from_config(compiled)
    return model


def _fill(model: Any, saved: Mapping[str, Any], source: str) -> None:
    """Gives a model its values, those of optimizer and metrics as far as there are any."""
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
    """Returns shapes as tuples, as they were before JSON made lists of them."""
    if isinstance(value, dict):
        entries: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return {key: _shapes(entry) for key, entry in entries.items()}
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return (
            tuple(items)
            if all(length is None or isinstance(length, int) for length in items)
            else [_shapes(x) for x in items]
        )
    return value


def _is_model(path: Path) -> bool:
    """Tells whether a whole model is there, not weights alone."""
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
            raise  # as Keras, which opens such a file without looking first
        raise ValueError(
            f"File not found: filepath={path}. Please ensure the file is an accessible `.keras` zip file."
        ) from None
    except RefusedFileError as error:
        raise RefusedFileError(
            f"{path} is no model that nbtf has written: that is a zip (or a folder) with {', '.join(names)}. "
            f"Files of TensorFlow and HDF5 cannot be read. {error}"
        ) from None
