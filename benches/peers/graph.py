"""ONNX graphs for timing: the rows of `cargo xtask bench -- --cpu` with random weights, in f32, or with products and convolutions of eight
bits (weights by output channel, activations as a whole). OpenVINO and ONNX Runtime read the same files.
"""

import pathlib
import re

import numpy
import onnx
from onnx import TensorProto, helper

from stable_diffusion_graph import unet, vae_decoder

OPSET = 23  # the first with Attention
IR = 11
NOISE = numpy.random.default_rng(0).standard_normal(1 << 20, dtype=numpy.float32)


class Graph:
    """Nodes that are added in order; weights lie in a file of their own, for a graph has at most 2 GB."""

    def __init__(self, data: pathlib.Path, int8: bool):
        self.data, self.int8 = data, int8
        self.nodes, self.inputs, self.weights, self.contents = [], [], [], []
        self.size = 0

    def input(self, name: str, *shape: int) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes):
        names = [f"{kind}{len(self.nodes)}.{output}" for output in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values: numpy.ndarray) -> str:
        """A small one, which the graph itself holds: shapes must be known while it is read."""
        return self.node("Constant", value=onnx.numpy_helper.from_array(values))

    def weight(self, *shape: int, scale: float = 1.0, kind=numpy.float32) -> str:
        name = f"weight{len(self.weights)}"
        count = int(numpy.prod(shape))
        tensor = TensorProto(name=name, dims=shape, data_type=helper.np_dtype_to_tensor_dtype(numpy.dtype(kind)))
        tensor.data_location = TensorProto.EXTERNAL
        length = count * numpy.dtype(kind).itemsize
        for key, value in (("location", self.data.name), ("offset", self.size), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        self.contents.append((count, scale, kind))
        self.size += -(-length // 64) * 64
        return name

    def matrix(self, *shape: int, axis: int, depth: int) -> str:
        """Weights of a product or a convolution, whose outputs are along `axis`."""
        if not self.int8:
            return self.weight(*shape, scale=depth**-0.5)
        scales = self.constant(numpy.full(shape[axis], depth**-0.5 / 40, numpy.float32))
        return self.node("DequantizeLinear", self.weight(*shape, scale=40.0, kind=numpy.int8), scales, axis=axis)

    def rounded(self, x: str) -> str:
        """Activations in eight bits where the graph has them."""
        if not self.int8:
            return x
        scale, zero = self.constant(numpy.array(8 / 255, numpy.float32)), self.constant(numpy.array(128, numpy.uint8))
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, scale, zero), scale, zero)

    def linear(self, x: str, inward: int, outward: int, bias: bool = True) -> str:
        y = self.node("MatMul", self.rounded(x), self.matrix(inward, outward, axis=1, depth=inward))
        return self.node("Add", y, self.weight(outward, scale=0.1)) if bias else y

    def convolution(self, x: str, inward: int, outward: int, side: int = 3, stride: int = 1, bias: bool = True) -> str:
        weights = self.matrix(outward, inward, side, side, axis=0, depth=inward * side * side)
        biases = [self.weight(outward, scale=0.1)] if bias else []
        return self.node("Conv", self.rounded(x), weights, *biases, pads=[side // 2] * 4, strides=[stride] * 2)

    def save(self, path: pathlib.Path, result: str):
        """Writes it, and its weights where no earlier run did."""
        output = helper.make_empty_tensor_value_info(result)
        output.type.tensor_type.elem_type = TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, "row", self.inputs, [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR), path)
        if self.data.exists() and self.data.stat().st_size == self.size:
            return
        part = self.data.with_suffix(".part")
        with part.open("wb") as file:
            for count, scale, kind in self.contents:
                # The same noise again and again: the time depends on no value.
                file.write((numpy.resize(NOISE, count) * scale).clip(-127, 127).astype(kind).tobytes())
                file.write(bytes(-file.tell() % 64))
        part.replace(self.data)


def make(row: str, folder: pathlib.Path, int8: bool) -> pathlib.Path | None:
    """The file of a row's graph; `None` where there is none."""
    kind, *rest = row.split()
    numbers = [int(number) for number in re.findall(r"\d+", row.partition(" ")[2])]
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", row) + ("-int8" if int8 else "")
    # A model has the same weights in every size.
    shared = re.sub(r"-\d+(?=(-int8)?$)", "", name) if kind == "sd15" else name
    graph = Graph(folder / f"{shared}.weights", int8)
    if kind == "product":
        features, tokens, depth = numbers
        result = graph.linear(graph.input("x", tokens, depth), depth, features, bias=False)
    elif kind == "convolution":
        size, _, inward, outward = numbers
        result = graph.convolution(graph.input("x", 1, inward, size, size), inward, outward, bias=False)
    elif kind == "attention" and not int8:
        size, tokens, heads = numbers
        result = graph.node("Attention", *(graph.input(name, 1, heads, tokens, size) for name in "qkv"))
    elif kind == "sd15":
        result = (unet if rest[0] == "step" else vae_decoder)(graph, numbers[0] // 8)
    else:
        return None
    path = folder / f"{name}.onnx"
    graph.save(path, result)
    return path
