"""An ONNX graph, written like arithmetic.

An ONNX graph is a list of operations. `Graph` keeps this list, and a `Tensor` is the name of a
result in it: adding two tensors appends an Add to the list and returns a tensor for its result. So
formulas look the same here as in the rest of the package. Numbers and NumPy arrays in a formula are
stored in the graph, in the dtype of the other operand.

onnxruntime has every operation used here in float32 and float64, and all of them are in ONNX's
operator set 17, of 2022.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPERATORS = 17  # the version of ONNX's operator set
ML_OPERATORS = 3  # the version of its set for machine learning, for text columns
_IR_VERSION = 8  # the version of the file format that belongs to operator set 17
OUTPUTS = ("probabilities", "label")
_LARGEST_FILE = 2**31 - 1  # of a protocol buffer


class Graph:
    """Inputs, stored arrays and operations, in order."""

    def __init__(self) -> None:
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._arrays: list[onnx.TensorProto] = []
        self._nodes: list[onnx.NodeProto] = []
        self._numbers: dict[tuple[str, float], Tensor] = {}
        self._domains = {"": OPERATORS}
        self._names: set[str] = set()  # of inputs, which the user chose, and of all tensors

    def input(self, name: str, dtype: Any, *shape: str | int) -> "Tensor":
        """Add an input of the graph; a dimension given as a text is free."""
        dtype = np.dtype(dtype)
        if name in ("", *OUTPUTS) or name in self._names:
            raise ValueError(
                f"an input of the graph cannot be called {name!r}: its outputs are called "
                f"{' and '.join(OUTPUTS)}. Rename that column and fit again."
            )
        self._names.add(name)
        self._inputs.append(helper.make_tensor_value_info(name, element_type(dtype), shape))
        return Tensor(self, name, dtype)

    def output(self, name: str, tensor: "Tensor", *shape: str | int) -> None:
        """Add an output of the graph."""
        self._nodes.append(helper.make_node("Identity", [tensor.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, element_type(tensor.dtype), shape))

    def array(self, array: Any, dtype: Any = None) -> "Tensor":
        """An array stored in the graph."""
        array = np.asarray(array, dtype)
        if array.dtype.kind == "U":
            array = array.astype(object)  # ONNX's texts have no length
        name = self._new_name("array")
        self._arrays.append(numpy_helper.from_array(array, name))
        return Tensor(self, name, array.dtype)

    def number(self, value: float, dtype: np.dtype) -> "Tensor":
        """A number stored in the graph, only once if it is used several times."""
        key = (dtype.str, float(value))
        if key not in self._numbers:
            self._numbers[key] = self.array(value, dtype)
        return self._numbers[key]

    def apply(
        self, operator: str, *inputs: "Tensor", dtype: Any = None, domain: str = "", **options: Any
    ) -> "Tensor":
        """The result of one operation; its dtype is that of the first input unless given."""
        options |= {"count": 1, "dtype": dtype, "domain": domain}
        return self.apply_split(operator, *inputs, **options)[0]

    def apply_split(
        self,
        operator: str,
        *inputs: "Tensor",
        count: int,
        dtype: Any = None,
        domain: str = "",
        **options: Any,
    ) -> "list[Tensor]":
        """The results of an operation with several results."""
        if domain:
            self._domains[domain] = ML_OPERATORS
        names = [self._new_name(operator) for _ in range(count)]
        node = helper.make_node(operator, [t.name for t in inputs], names, domain=domain, **options)
        self._nodes.append(node)
        kind = inputs[0].dtype if dtype is None else np.dtype(dtype)
        return [Tensor(self, name, kind) for name in names]

    def _new_name(self, kind: str) -> str:
        number = len(self._names)
        while (name := f"{kind}_{number}") in self._names:  # a column may have this name
            number += 1
        self._names.add(name)
        return name

    def content(self, name: str, producer: tuple[str, str], metadata: dict[str, str]) -> bytes:
        """The content of the ONNX file."""
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._arrays)
        domains = [
            helper.make_opsetid(domain, version) for domain, version in self._domains.items()
        ]
        model = helper.make_model(
            graph,
            opset_imports=domains,
            ir_version=_IR_VERSION,
            producer_name=producer[0],
            producer_version=producer[1],
        )
        helper.set_model_props(model, metadata)
        if model.ByteSize() > _LARGEST_FILE:
            raise ValueError(
                f"the model would take {model.ByteSize() / 2**30:.1f} GiB, and an ONNX file holds "
                "2 at most. Use fewer inducing points, or dtype='float32'."
            )
        return model.SerializeToString()


class Tensor:
    """A value in a graph: arithmetic on it adds operations to the graph."""

    def __init__(self, graph: Graph, name: str, dtype: np.dtype) -> None:
        self.graph: Graph = graph
        self.name: str = name
        self.dtype: np.dtype = dtype

    def _with(self, operator: str, other: Any, dtype: Any = None) -> "Tensor":
        return self.graph.apply(operator, self, self._operand(other), dtype=dtype)

    def _operand(self, other: Any) -> "Tensor":
        if isinstance(other, Tensor):
            return other
        if np.ndim(other) == 0:
            return self.graph.number(float(other), self.dtype)
        return self.graph.array(other, self.dtype)

    def __add__(self, other: Any) -> "Tensor":
        return self._with("Add", other)

    def __sub__(self, other: Any) -> "Tensor":
        return self._with("Sub", other)

    def __mul__(self, other: Any) -> "Tensor":
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> "Tensor":
        return self._with("Div", other)

    def __matmul__(self, other: Any) -> "Tensor":
        return self._with("MatMul", other)

    def __gt__(self, other: Any) -> "Tensor":
        return self._with("Greater", other, np.bool_)

    def __le__(self, other: Any) -> "Tensor":
        return self._with("LessOrEqual", other, np.bool_)

    def __radd__(self, other: float) -> "Tensor":
        return self + other

    def __rmul__(self, other: float) -> "Tensor":
        return self * other

    def __rsub__(self, other: float) -> "Tensor":
        return self._operand(other) - self

    def __rtruediv__(self, other: float) -> "Tensor":
        return self._operand(other) / self

    def __neg__(self) -> "Tensor":
        return self.graph.apply("Neg", self)

    def maximum(self, other: Any) -> "Tensor":
        return self._with("Max", other)

    def minimum(self, other: Any) -> "Tensor":
        return self._with("Min", other)

    def cast(self, dtype: Any) -> "Tensor":
        """The same values in another dtype."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        return self.graph.apply("Cast", self, dtype=dtype, to=element_type(dtype))

    def transposed(self) -> "Tensor":
        return self.graph.apply("Transpose", self, perm=[1, 0])

    def sum(self, axis: int, keep: bool = True) -> "Tensor":
        """The sum over one axis, which is kept with length 1, or dropped."""
        axes = self.graph.array([axis], np.int64)
        return self.graph.apply("ReduceSum", self, axes, keepdims=int(keep))

    def mean(self, axis: int) -> "Tensor":
        """The mean over one axis, which is kept with length 1."""
        return self.graph.apply("ReduceMean", self, axes=[axis], keepdims=1)

    def largest(self, axis: int | None = None) -> "Tensor":
        """The largest of all values, a scalar, or along an axis, which is kept with length 1."""
        if axis is None:
            return self.graph.apply("ReduceMax", self, keepdims=0)
        return self.graph.apply("ReduceMax", self, axes=[axis], keepdims=1)

    def unsqueezed(self, axis: int) -> "Tensor":
        """The same values with one more axis, of length 1."""
        return self.graph.apply("Unsqueeze", self, self.graph.array([axis], np.int64))

    def applied(self, operator: str) -> "Tensor":
        """The result of an elementwise operation, given by its ONNX name: "Exp", "Sqrt"."""
        return self.graph.apply(operator, self)

    def beside(self, other: "Tensor") -> "Tensor":
        """The columns of both, side by side."""
        return side_by_side(self, other)

    def take_columns(self, numbers: "tuple[int, ...]") -> "Tensor":
        """Some of the columns, in this order."""
        return self.graph.apply("Gather", self, self.graph.array(numbers, np.int64), axis=1)

    def columns(self, count: int) -> "list[Tensor]":
        """The columns one by one, each with a second axis of length 1."""
        return self.graph.apply_split("Split", self, count=count, axis=1)


def _elementwise(operator: str) -> Callable[[Tensor], Tensor]:
    return lambda x: x.applied(operator)


exp, log, sqrt, absolute, sign = map(_elementwise, ("Exp", "Log", "Sqrt", "Abs", "Sign"))
sin, cos = map(_elementwise, ("Sin", "Cos"))


def square(x: Tensor) -> Tensor:
    """x²."""
    return x * x


def horner(coefficients: Sequence[float], x: Tensor) -> Tensor:
    """c₀ + c₁x + c₂x² + ..., of degree two at least."""
    total = x * coefficients[-1] + coefficients[-2]
    for coefficient in reversed(coefficients[:-2]):
        total = total * x + coefficient
    return total


def where(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """`yes` where the condition holds, else `no`."""
    return condition.graph.apply("Where", condition, yes, no, dtype=yes.dtype)


def joined(*parts: Tensor, axis: int) -> Tensor:
    """Arrays joined along an axis."""
    return parts[0].graph.apply("Concat", *parts, axis=axis)


def side_by_side(*columns: Tensor) -> Tensor:
    """Columns joined to a matrix."""
    return joined(*columns, axis=1)


def element_type(dtype: np.dtype) -> int:
    """ONNX's number for a dtype."""
    if dtype.kind == "O":
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(dtype)
