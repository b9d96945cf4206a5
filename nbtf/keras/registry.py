"""Finds objects by name and converts them to plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from nbtf._runtime.changes import Change, block
from nbtf.keras import catalogue
from nbtf.keras.border import advised
from nbtf.keras.type_guards import is_dict, is_list

T = TypeVar("T")

_CUSTOM: dict[str, Any] = {}


def get_custom_objects() -> dict[str, Any]:
    """Returns the global dictionary of registered classes and functions."""
    return _CUSTOM


@block
def custom_object_scope(custom_objects: Mapping[str, Any]) -> Change[None]:
    """Registers classes and functions by name within a block."""
    outer = dict(_CUSTOM)
    return Change("tf.keras.utils.custom_object_scope", _register_only, outer, {**outer, **custom_objects}, None)


def _register_only(objects: Mapping[str, Any]) -> None:
    _CUSTOM.update(objects)  # comes first, so that an interrupt does not lose the previous entries
    for name in [*_CUSTOM]:
        if name not in objects:
            del _CUSTOM[name]


CustomObjectScope = custom_object_scope


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[T], T]:
    """Registers a class or a function, so that models that use it can be loaded.

    Args:
      package: prefix of the registered name; `Custom` by default.
      name: name to register; by default the name of the class or function.

    >>> @tf.keras.utils.register_keras_serializable()
    ... def double(x):
    ...     return 2 * x
    >>> tf.keras.utils.get_registered_name(double)
    'Custom>double'
    """

    def register(class_or_function: T) -> T:
        _CUSTOM[f"{package}>{name or getattr(class_or_function, '__name__', '')}"] = class_or_function
        return class_or_function

    return register


def get_registered_name(obj: Any) -> str:
    """Returns the name under which an object was registered, or its own name if it was not registered."""
    return next((name for name, registered in _CUSTOM.items() if registered is obj), getattr(obj, "__name__", str(obj)))


def get_registered_object(name: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the object registered under a name, or None."""
    objects = {**_CUSTOM, **(custom_objects or {})}
    return objects.get(name) or next(
        (registered for key, registered in objects.items() if key.rpartition(">")[2] == name), None
    )


def serialized(obj: Any) -> Any:
    """Returns an object as plain data: its class, its module and its config."""
    if obj is None or isinstance(obj, str | int | float | bool):
        return obj
    if is_list(obj):
        return [serialized(item) for item in obj]
    if is_dict(obj):
        return {key: serialized(entry) for key, entry in obj.items()}
    if hasattr(obj, "get_config"):
        object_class: Any = type(obj)  # pyright: ignore[reportUnknownVariableType]
        module, is_ours = _public_module(object_class)
        registered = get_registered_name(object_class)
        return {
            "module": module,
            "class_name": object_class.__name__,
            "config": obj.get_config(),
            "registered_name": None if is_ours else registered,
        }
    if callable(obj):
        module, is_ours = _public_module(obj)
        name = getattr(obj, "__name__", "")
        if is_ours:
            return name
        return {"module": module, "class_name": "function", "config": name, "registered_name": get_registered_name(obj)}
    return obj


def _public_module(obj: Any) -> tuple[str, bool]:
    """Returns the module in which an object is found, and whether the object belongs to nbtf."""
    module: str = getattr(obj, "__module__", "") or ""
    is_ours = module.startswith("nbtf.keras.")
    depth = 4 if module.endswith(".schedules") else 3  # `schedules` is the only public module nested one level deeper
    return (".".join(module.split(".")[1:depth]) if is_ours else module), is_ours


def deserialized(
    config: Any, custom_objects: Mapping[str, Any] | None = None, namespace: Mapping[str, Any] | None = None
) -> Any:
    """Creates an object from the result of `serialized`.

    Imports nothing. Calls only `from_config` of public Keras classes, of registered classes and of classes in
    `custom_objects`.

    Args:
      config: plain data.
      custom_objects: classes and functions by name, searched first.
      namespace: public names of the calling module, searched next.

    Raises:
      TypeError: if the class or function is not found in any of these.
    """
    if not is_dict(config) or "class_name" not in config:
        return config
    for entry, classes in _TYPES.items():
        if not isinstance(config.get(entry), classes):
            raise TypeError(f"{entry!r} in the config of an object is {config.get(entry)!r:.60}; expected a name.")
    if config["class_name"] == "function":
        return _find_function(config, custom_objects, namespace)
    arguments: Any = config.get("config") or {}
    if not isinstance(arguments, dict):
        raise TypeError(f"The config of {config['class_name']!r} is {arguments!r:.60}; expected a dictionary.")
    return _find_class(config, custom_objects, namespace).from_config({**arguments})


_TYPES: Mapping[str, Any] = {"class_name": str, "registered_name": str | None, "module": str | None}


def _find_class(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None, namespace: Any) -> Any:
    name: str = config["class_name"]
    custom = _custom(config, name, custom_objects)
    if custom is not None:
        if not isinstance(custom, type) or not hasattr(custom, "from_config"):
            raise TypeError(f"{name!r} means {custom!r} here, which is not a class with a method `from_config`.")
        return custom
    public = catalogue.public_classes(namespace or {}).get(name) or catalogue.class_of(config.get("module") or "", name)
    return _locate(public, name)


def _find_function(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None, namespace: Any) -> Any:
    name: Any = config.get("config")
    if not isinstance(name, str):
        raise TypeError(f"The name of a function is {name!r:.60}; expected a string.")
    custom = _custom(config, name, custom_objects)
    if custom is not None:
        return custom
    public = catalogue.public_functions(namespace or {}).get(name)
    module: str = config.get("module") or ""
    if module.startswith("nbtf._ops."):  # for `tf.nn.relu` Keras loads its own activation of that name
        module = "keras.activations"
    return _locate(public or catalogue.function_of(module, name), name)


def _custom(config: Mapping[str, Any], name: str, custom_objects: Mapping[str, Any] | None) -> Any:
    names = filter(None, (config.get("registered_name"), name))
    return next(
        (
            value
            for registered_name in names
            if (value := get_registered_object(registered_name, custom_objects)) is not None
        ),
        None,
    )


def _locate(public: Any, name: str) -> Any:
    """Returns the object that was found under a name, and raises an error if none was found."""
    if public is not None:
        return public
    if name == "<lambda>":
        raise TypeError(
            "Cannot load a lambda: it has no name to be found by, and files contain no code. Define it with `def`, or "
            "pass it as custom_objects={'<lambda>': ...}."
        )
    error = TypeError(
        f"Could not locate '{name:.80}'. Make sure custom classes and functions are decorated with "
        f"`@keras.saving.register_keras_serializable()`, or given in `custom_objects`: "
        f"custom_objects={{{name[:80]!r}: ...}}."
    )
    raise advised(error, name)


def look_up(identifier: Any, namespace: Mapping[str, Any], noun: str) -> Any:
    """Returns the class or function for a name, a config or an object, as `get` of every module does.

    Args:
      identifier: None, a name, a config, a class or an object.
      namespace: classes and functions of the module by name.
      noun: kind of object, for the error message.

    Raises:
      ValueError: if the name does not exist, or if a dictionary is not a config.
      TypeError: if a config names a class that does not exist.
    """
    if identifier is None:
        return None
    if is_dict(identifier):
        if "class_name" not in identifier:
            raise ValueError(f"Unknown `config` as a `dict`, config={identifier}")
        return deserialized(identifier, namespace=namespace)
    value = identifier
    if isinstance(identifier, str):
        value = get_registered_object(identifier)
        value = namespace.get(identifier) if value is None else value
    if isinstance(value, type):
        value = value()
    if value is None or not callable(value):
        raise advised(ValueError(f"Could not interpret {noun} identifier: {identifier}"), identifier)
    return value
