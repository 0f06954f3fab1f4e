"""``from_keras``: networks of HGQ2 and QKeras, written as QONNX and read from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import ModelError

from ...entry import from_qonnx
from ...inputs import InputType
from . import hgq2, qkeras


def from_keras(model: Any, *, input_type: InputType | None = None, **options: Any) -> Any:
    """Compile a network of QKeras's layers on Keras 2, or of HGQ2's on Keras 3.

    QKeras and TensorFlow are not needed: a model is asked for its configuration and its weights, and a file
    is read as it is.

    Args:
        model: the path of a file that Keras 2 wrote (``.h5``, ``.keras``, or the ``.json`` of a
            configuration beside an ``.h5`` of weights with the same name); a model of QKeras; or a built
            ``keras.Model`` of HGQ2, after ``hgq.utils.trace_minmax`` where its quantisers wrap.
        input_type: the type of the inputs. Where it is left out, it is float32, or, where the first
            quantiser of HGQ2 wraps, the fixed point that this quantiser gives.
        options: all other keyword arguments of :func:`from_qonnx`.

    Raises:
        ToolMissingError: a package is not installed: of the extra ``qkeras`` for files, of ``keras`` for
            models of HGQ2.
        ModelError: an object that is no built model, a file that is none of Keras 2, or a network without
            a quantiser.
        UnsupportedOperatorError: a layer or a quantiser that is not supported.
    """
    if _of_keras_3(model):
        written = hgq2.exported(model)
        return from_qonnx(written.model(), input_type=input_type or written.port, **options)
    return from_qonnx(exported(model).model(), input_type=input_type, **options)


def exported(model: Any) -> qkeras.QWriter:
    """A model of Keras 2, or a file of it, as the nodes of a QONNX graph.

    Raises:
        ToolMissingError: h5py is not installed, and the model is a file.
        ModelError: neither a model nor a file of one, or one without a quantiser.
        UnsupportedOperatorError: a layer or a quantiser that is not supported.
    """
    if isinstance(model, (str, Path)):
        return qkeras.written(qkeras.opened(Path(model)))
    if all(callable(getattr(model, part, None)) for part in ("get_config", "get_weights")):
        return qkeras.written(qkeras.taken(model))
    raise ModelError(
        f"A {type(model).__name__} is no Keras model.",
        help="give a model of QKeras, the path of a file that Keras 2 wrote, or a keras.Sequential or "
        "keras.Model of HGQ2's layers on Keras 3.",
    )


def _of_keras_3(model: Any) -> bool:
    """Whether an object derives from the ``Model`` of Keras 3; Keras 2 has it in another module."""
    bases = type(model).__mro__
    return any(base.__module__.startswith("keras.src.models") for base in bases)
