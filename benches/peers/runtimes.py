"""OpenVINO's and ONNX Runtime's side of `cargo xtask bench -- --cpu`: the rows that are named, as graphs that are made here.

`runtimes.py openvino|onnxruntime f32|bf16|int8 THREADS ROW...` writes a line `ROW<tab>VALUE` for each: GFLOP/s of a product or
convolution, milliseconds of attention, seconds of a part of a model. No line where runtime or processor lack that arithmetic. Graphs and
their weights (6 GB with those of the models) stay in the folder ATELIER_GRAPHS.
"""

import os
import pathlib
import re
import sys

import numpy

from graph import make
from timing import best, tell


def openvino_runner(path: pathlib.Path, precision: str, threads: int):
    """One call of a graph; `None` where OpenVINO would compute in another precision on this processor."""
    import openvino

    wanted = "bf16" if precision == "bf16" else "f32"
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": wanted, "ENABLE_CPU_PINNING": False}
    model = openvino.Core().compile_model(path, "CPU", settings)
    if model.get_property("INFERENCE_PRECISION_HINT").to_string() != wanted:
        return None
    request = model.create_infer_request()
    for port in model.inputs:
        request.set_tensor(port, openvino.Tensor(noise(tuple(port.shape))))

    def run():
        # Does not copy the results, as `infer` would.
        request.start_async()
        request.wait()

    return run


def onnxruntime_runner(path: pathlib.Path, threads: int):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for port in session.get_inputs():
        binding.bind_cpu_input(port.name, noise(port.shape))
    for port in session.get_outputs():
        binding.bind_output(port.name)
    return lambda: session.run_with_iobinding(binding)


def noise(shape) -> numpy.ndarray:
    return numpy.random.standard_normal(shape).astype(numpy.float32)


def in_unit(row: str, seconds: float) -> float:
    """What the table says of a row that took so long."""
    numbers = [int(number) for number in re.findall(r"\d+", row)]
    if row.startswith("product"):
        return 2e-9 * numpy.prod(numbers) / seconds
    if row.startswith("convolution"):
        return 2e-9 * numpy.prod(numbers) * 9 / seconds
    return 1e3 * seconds if row.startswith("attention") else seconds


def main():
    runtime, precision, threads, *rows = sys.argv[1:]
    folder = pathlib.Path(os.environ["ATELIER_GRAPHS"])
    for row in rows:
        path = make(row, folder, precision == "int8")
        if path is None:
            continue
        is_openvino = runtime == "openvino"
        run = openvino_runner(path, precision, int(threads)) if is_openvino else onnxruntime_runner(path, int(threads))
        if run is not None:
            tell(row, in_unit(row, best(run, int(threads))))


main()
