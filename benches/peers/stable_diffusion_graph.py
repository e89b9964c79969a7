"""SD1.5's UNet and the decoder of its VAE as ONNX: `stable_diffusion.py` without PyTorch, node by node."""

import numpy

HEADS = 8
CONTEXT = 768
TIME = 1280
BASE = 320


def silu(graph, x):
    return graph.node("Mul", x, graph.node("Sigmoid", x))


def reshape(graph, x, *shape: int):
    return graph.node("Reshape", x, graph.constant(numpy.array(shape, numpy.int64)))


def group_norm(graph, x, width: int, eps: float = 1e-5):
    return graph.node("GroupNormalization", x, graph.weight(width), graph.weight(width), num_groups=32, epsilon=eps)


def layer_norm(graph, x, width: int):
    return graph.node("LayerNormalization", x, graph.weight(width), graph.weight(width), axis=-1)


def attend(graph, q, k, v, heads: int):
    return graph.node("Attention", q, k, v, q_num_heads=heads, kv_num_heads=heads)


def residual(graph, x, inward: int, outward: int, time=None, eps: float = 1e-5):
    y = graph.convolution(silu(graph, group_norm(graph, x, inward, eps)), inward, outward)
    if time is not None:
        y = graph.node("Add", y, reshape(graph, graph.linear(time, TIME, outward), 1, outward, 1, 1))
    y = graph.convolution(silu(graph, group_norm(graph, y, outward, eps)), outward, outward)
    return graph.node("Add", y, x if inward == outward else graph.convolution(x, inward, outward, side=1))


def cross_attention(graph, x, context, width: int, inward: int):
    q = graph.linear(x, width, width, bias=False)
    k, v = (graph.linear(context, inward, width, bias=False) for _ in range(2))
    return graph.linear(attend(graph, q, k, v, HEADS), width, width)


def transformer(graph, x, context, width: int, side: int):
    y = graph.convolution(group_norm(graph, x, width, 1e-6), width, width, side=1)
    y = graph.node("Transpose", reshape(graph, y, 1, width, side * side), perm=[0, 2, 1])
    z = layer_norm(graph, y, width)
    y = graph.node("Add", y, cross_attention(graph, z, z, width, width))
    y = graph.node("Add", y, cross_attention(graph, layer_norm(graph, y, width), context, width, CONTEXT))
    z = graph.linear(layer_norm(graph, y, width), width, 8 * width)
    value, gate = graph.node("Split", z, outputs=2, axis=-1, num_outputs=2)
    y = graph.node("Add", y, graph.linear(graph.node("Mul", value, graph.node("Gelu", gate)), 4 * width, width))
    y = reshape(graph, graph.node("Transpose", y, perm=[0, 2, 1]), 1, width, side, side)
    return graph.node("Add", x, graph.convolution(y, width, width, side=1))


def up(graph, x, width: int):
    scales = graph.constant(numpy.array([1, 1, 2, 2], numpy.float32))
    x = graph.node("Resize", x, "", scales, mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    return graph.convolution(x, width, width)


def unet(graph, side: int, multiples=(1, 2, 4, 4)):
    x, context = graph.input("x", 1, 4, side, side), graph.input("context", 1, 77, CONTEXT)
    time = graph.linear(silu(graph, graph.linear(graph.input("time", 1, BASE), BASE, TIME)), TIME, TIME)
    time = silu(graph, time)
    last = len(multiples) - 1
    width = BASE
    x = graph.convolution(x, 4, width)
    kept = [(x, width)]
    for level, multiple in enumerate(multiples):
        for _ in range(2):
            x = residual(graph, x, width, BASE * multiple, time)
            width = BASE * multiple
            if level < last:
                x = transformer(graph, x, context, width, side)
            kept.append((x, width))
        if level < last:
            x = graph.convolution(x, width, width, stride=2)
            side //= 2
            kept.append((x, width))
    x = residual(graph, x, width, width, time)
    x = transformer(graph, x, context, width, side)
    x = residual(graph, x, width, width, time)
    for level, multiple in reversed(list(enumerate(multiples))):
        for block in range(3):
            other, channels = kept.pop()
            x = residual(graph, graph.node("Concat", x, other, axis=1), width + channels, BASE * multiple, time)
            width = BASE * multiple
            if level < last:
                x = transformer(graph, x, context, width, side)
            if level > 0 and block == 2:
                x = up(graph, x, width)
                side *= 2
    return graph.convolution(silu(graph, group_norm(graph, x, width)), width, 4)


def vae_attention(graph, x, width: int, side: int):
    y = group_norm(graph, x, width, 1e-6)
    parts = (reshape(graph, graph.convolution(y, width, width, side=1), 1, width, side * side) for _ in range(3))
    q, k, v = (graph.node("Transpose", part, perm=[0, 2, 1]) for part in parts)
    y = graph.node("Transpose", attend(graph, q, k, v, 1), perm=[0, 2, 1])
    return graph.node("Add", x, graph.convolution(reshape(graph, y, 1, width, side, side), width, width, side=1))


def vae_decoder(graph, side: int):
    """Latents [1, 4, side, side] to pictures [1, 3, 8 * side, 8 * side]."""
    width = 512
    x = graph.convolution(graph.input("x", 1, 4, side, side), 4, 4, side=1)
    x = graph.convolution(x, 4, width)
    x = residual(graph, x, width, width, eps=1e-6)
    x = vae_attention(graph, x, width, side)
    x = residual(graph, x, width, width, eps=1e-6)
    for level, wanted in enumerate((512, 512, 256, 128)):
        for _ in range(3):
            x = residual(graph, x, width, wanted, eps=1e-6)
            width = wanted
        if level < 3:
            x = up(graph, x, width)
    return graph.convolution(silu(graph, group_norm(graph, x, width, 1e-6)), width, 3)
