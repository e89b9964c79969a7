"""How `cargo xtask bench -- --cpu` measures a peer: as the kernels' own program does."""

import pathlib
import re
import time
from collections.abc import Callable


def best(work: Callable[[], object], threads: int, at_least: int = 2, seconds: float = 1.0) -> float:
    """Seconds of the quickest of several calls: CPU time of one thread, else the time that passes."""
    clock = time.process_time if threads == 1 else time.perf_counter
    quickest, spent, calls = float("inf"), 0.0, 0
    work()
    while calls < at_least or (spent < seconds and calls < 40):
        start = clock()
        work()
        took = clock() - start
        quickest, spent, calls = min(quickest, took), spent + took, calls + 1
    return quickest


def tell(row: str, value: float):
    """Writes a row as the benchmark reads it; after a part of a model also the most memory of this process, in bytes, where Linux tells."""
    print(f"{row}\t{value}", flush=True)
    status = pathlib.Path("/proc/self/status")
    if row.startswith(("builtin", "sd15")) and status.exists():
        kilobytes = re.search(r"VmHWM:\s*(\d+)", status.read_text()).group(1)
        print(f"{row} peak\t{1024 * int(kilobytes)}", flush=True)
