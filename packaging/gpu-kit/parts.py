"""What is measured, part by part."""

import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from kit import ENVIRONMENT, GIB, HERE, OUT, PROGRAM, SIZES, SMALL, STEPS, Card, Run, device, devices, generate, mib, model, row, used_mib
from picture import difference, write_square

DEVICE = device()
NAME = DEVICE["name"]
# Mesa's software device of Debian 12 ends the program while it compiles the decoder's programs.
PLACE = f"all={NAME},vae=cpu" if SMALL else NAME
PROMPT = ["-p", "a lake below mountains, evening", "--seed", "7", *(["-W", "64", "-H", "64"] if SMALL else [])]
BUILTIN = [*PROMPT, *(["--steps", "3"] if SMALL else [])]


def timings(run):
    return ", ".join(f"{name.removesuffix('_secs')} {secs:.2f}" for name, secs in run.timings.items()) + " s" if run.ok else run.outcome


def works():
    """It works at all, and makes the processor's pictures."""
    row("devices", ", ".join(it["name"] for it in devices()["devices"]), "atelier devices")

    def builtin(backend, name):
        run = Run("generate", *BUILTIN, "--backend", backend, "-o", OUT / f"{name}.png")
        row(f"built-in model, {backend}", timings(run), run.command)
        return run

    builtin("cpu", "cpu")
    places = {"card": PLACE, "text encoder": f"te={NAME},diffusion=cpu,vae=cpu", "diffusion": f"te=cpu,diffusion={NAME},vae=cpu",
              "vae": f"te=cpu,diffusion=cpu,vae={NAME}"}
    for what, backend in places.items():
        if builtin(backend, what.replace(" ", "-")).ok:
            mean, largest = difference(OUT / "cpu.png", OUT / f"{what.replace(' ', '-')}.png")
            row(f"{what} on {NAME} against the processor", f"mean {mean:.3f}, largest {largest} of 255")

    again = Run("generate", *BUILTIN, "--backend", PLACE, "-o", OUT / "again.png")
    if again.ok:
        row("the same picture twice", f"largest difference {difference(OUT / 'card.png', OUT / 'again.png')[1]} of 255")

    previews = Run("generate", *BUILTIN, "--backend", PLACE, "--preview", OUT / "previews", "-o", OUT / "p.png")
    row("previews", f"{len(previews.all('preview'))} in {len(previews.all('step'))} lines of steps; {timings(previews)}", previews.command)

    asked = []

    def cancel(run, line):
        if line["event"] == "step" and line["done"] >= 1 and not asked:
            asked.append(line["at"])
            run.process.send_signal(signal.SIGINT)

    stopped = Run("generate", *PROMPT, "--steps", 30, "--backend", PLACE, "-o", OUT / "c.png", watch=cancel)
    if asked and stopped.all("end"):
        row("cancel", f"{stopped.end['outcome']} after {stopped.end['at'] - asked[0]:.3f} s; a step takes {stopped.step_secs():.3f} s")

    def kill(run, line):
        if line["event"] == "step" and line["done"] >= 1:
            run.process.kill()

    before = used_mib()
    Run("generate", *PROMPT, "--steps", 30, "--backend", PLACE, "-o", OUT / "k.png", watch=kill)
    run = Run("generate", *BUILTIN, "--backend", PLACE, "-o", OUT / "k.png")
    row("killed in a step", f"then {run.outcome}; card before {before}, after {used_mib()} MiB")

    memory = []

    def resident(run, line):
        if line["event"] == "picture":
            text = pathlib.Path(f"/proc/{run.process.pid}/status").read_text()
            memory.append((int(text.split("VmRSS:")[1].split()[0]) // 1024, used_mib()))

    many = Run("generate", *BUILTIN, "-b", 4 if SMALL else 20, "--backend", PLACE, "-o", OUT / "many.png", watch=resident)
    if len(memory) > 1:
        row(f"{len(memory)} pictures in a row: RAM, card in MiB", f"first {memory[0]}, second {memory[1]}, last {memory[-1]}", many.command)
    row("the whole row", timings(many))


def memory(name):
    """Predicted against measured, what the device takes for itself, and running out."""
    name = "tiny" if SMALL else name
    runs = [compare(name, size) for size in SIZES]
    size = SIZES[-1]
    budget = f"{max(most(runs[-1]) / 2 / GIB, 0.01):.2f}"
    run = generate(name, "--backend", PLACE, "--max-vram", budget, "--stream-layers", size=size, steps=2)
    row("a budget of half of it, streamed", f"{timings(run)}; step {run.step_secs():.3f} s", run.command)
    stored = next((OUT / "home").rglob("measured.json"), None)
    if stored:
        overhead = json.loads(stored.read_text()).get("slack", {}).get(NAME, {}).get("samples", [])
        row("what the device takes for itself, as Atelier learned it", ", ".join(mib(it) for it in overhead) or "-")
    hog(name, size)
    run = generate(name, "--backend", PLACE, size=size, steps=1)
    row("the next picture", run.outcome)
    compare(name, SIZES[0], "--no-diffusion-fa")


def compare(name, size, *extra):
    """Two pictures: the first one begins before all weights are there."""
    before = used_mib()
    with Card() as card:
        run = generate(name, "--backend", PLACE, "-b", 2, *extra, size=size, steps=2)
    row(f"{name} {size}", f"{timings(run)}; step {run.step_secs():.3f} s", run.command)
    on_card, predictions = 0, predicted([*generate_words(name, size), "--backend", PLACE, *extra])
    for peak in (it for line in run.all("measured") for it in line["peaks"] if it["device"] == NAME):
        wanted, measured = predictions.get(peak["phase"], 0), peak["bytes"]
        error = f"{(wanted / measured - 1) * 100:+.2f} %" if measured else "-"
        row(f"{name} {size} {peak['phase']}", f"measured {mib(measured)}, predicted {mib(wanted)}, error {error}")
        on_card = max(on_card, measured)
    if card.peak and before is not None:
        taken = card.peak - before
        row(f"{name} {size}: the driver's view", f"{taken} MiB at most, {taken - on_card / 2**20:.0f} MiB of it in no buffer; "
            f"before {before}, after {used_mib()} MiB")
    return run


def most(run):
    """The most bytes in buffers on the card."""
    return max((it["bytes"] for line in run.all("measured") for it in line["peaks"] if it["device"] == NAME), default=GIB)


def generate_words(name, size):
    return [*model(name), "-W", str(size), "-H", str(size)]


def plan(words):
    """What `atelier plan` foretells of the placement that is asked for; None where it fails, which is told."""
    output = subprocess.run([PROGRAM, "plan", *words, "-p", "a hill", "--json"], capture_output=True, text=True, env=ENVIRONMENT)
    if not output.stdout:
        return row("prediction", output.stderr)
    return json.loads(output.stdout)["requested"]


def predicted(words):
    """Bytes in buffers on the card that each phase is predicted to need."""
    on_card = [it for it in (plan(words) or {"devices": []})["devices"] if it["name"] == NAME]
    # What the device takes for itself is in no buffer.
    return {phase["phase"]: phase["total_bytes"] - phase["overhead_bytes"] for it in on_card for phase in it["phases"]}


HOG = """
import sys, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(max(free - int(sys.argv[1]), 1), dtype=torch.uint8, device="cuda")
held.fill_(1)
torch.cuda.synchronize()
print("held", flush=True)
sys.stdin.read()
"""


def hog(name, size):
    """Another process holds all memory but 1 GiB."""
    process = subprocess.Popen([sys.executable, "-c", HOG, str(GIB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        if process.stdout.readline().strip() != "held":
            return row("another process holds the memory", "left out: no PyTorch with CUDA here")
        run = generate(name, "--backend", PLACE, size=size, steps=1)
        row("another process holds all but 1 GiB", run.outcome, run.command)
        remedy = generate(name, "--backend", PLACE, "--max-vram", "0.75", "--stream-layers", "--vae-tiling", size=size, steps=1)
        row("the same with a budget of 0.75 GiB, streamed and in tiles", remedy.outcome, remedy.command)
    finally:
        process.kill()
        process.wait()


def speed(name):
    """Seconds a step: resident, streamed, from RAM; against PyTorch and against what was foretold."""
    name = "tiny" if SMALL else name
    measured = (OUT / f"rates-{NAME}.json").exists()
    for line in [] if measured else Run("devices", "--measure").all("rates"):
        for it in line["devices"]:
            row(f"devices --measure: {it['device']}", it.get("error") or f"{it['samples']} samples, {it['unsteady_samples']} unsteady, {it['secs']:.1f} s")
            (OUT / f"rates-{it['device']}.json").write_text(json.dumps(it))
    resident = {size: in_memory(name, size) for size in SIZES}
    if name in ("tiny", "sd15"):
        output = subprocess.run([sys.executable, HERE / "unet.py", *map(str, [32] if SMALL else SIZES)], capture_output=True, text=True)
        for line in output.stdout.splitlines():
            row(*line.split("\t"))
        if output.returncode != 0:
            row("PyTorch", f"left out: {(output.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    for size, (step_secs, needed) in reversed(resident.items()):
        budget = lambda share: ["--max-vram", f"{max(needed * share / GIB, 0.01):.2f}", "--stream-layers", "--offload-to-cpu"]
        ways = {"weights in RAM": ["--offload-to-cpu"], "streamed at a half": budget(1 / 2), "streamed at a quarter": budget(1 / 4)}
        for what, words in ways.items():
            with Card() as card:
                run = generate(name, "--backend", PLACE, *words, size=size, steps=STEPS if SMALL else 8)
            ratio = f"{run.step_secs() / step_secs:.2f} of resident; " if run.ok and step_secs > 0 else ""
            row(f"{name} {size} {what}", f"step {run.step_secs():.4f} s, {ratio}{timings(run)}; {card.busy}", run.command)


def in_memory(name, size):
    """Seconds of a step with everything on the device, beside what was foretold."""
    steps = STEPS if SMALL else 20
    foretold = plan([*generate_words(name, size), "--cfg", "1", "--steps", str(steps), "--backend", PLACE])
    with Card() as card:
        run = generate(name, "--backend", PLACE, "-b", 2, size=size, steps=steps)
    phases = sum(run.timings.get(it, 0) for it in ("load_secs", "encode_secs", "denoise_secs", "decode_secs"))
    row(f"{name} {size} resident", f"step {run.step_secs():.4f} s; {timings(run)}; {card.busy}", run.command)
    # Without rates there are no seconds.
    if foretold and (time_ := foretold["time"]):
        row("foretold", f"step {time_['step_secs']:.4f} s, load {time_['load_secs']:.2f}, encode {time_['encode_secs']:.2f}, "
            f"decode {time_['decode_secs']:.3f}, both pictures {time_['total_secs'] + time_['next_picture_secs']:.2f} s")
    if run.ok:
        row("outside all phases, for both pictures", f"{run.timings['total_secs'] - phases:.3f} s")
    return run.step_secs(), most(run)


TINY_MODELS = ["tiny", "tiny-q8", "tiny-lora", "tiny-q8-lora", "tiny-upscaler", "sd15-control", "family-zimage-gguf", "family-zimage-vae",
               "family-sd15", "family-sdxl", "family-sd3", "family-ovis", "reading-sd15", "reading-sdxl", "reading-sd3", "reading-flux"]
TYPES = ["f32", "f16", "bf16", "q8_0", "q6_K", "q5_1", "q5_0", "q5_K", "q4_1", "q4_0", "q4_K", "q3_K", "q2_K", "iq4_nl", "iq4_xs", "mxfp4"]
SAMPLERS = ["euler_a", "heun", "dpm++2m", "lcm"]


def likeness():
    """Every kind of setting, number type and model on the card beside the same on the processor."""
    start, mask, half = OUT / "start.png", OUT / "mask.png", OUT / "half.png"
    side = 64 if SMALL else 256
    Run("generate", *BUILTIN, "--backend", "cpu", "-o", start)
    write_square(mask, side)
    write_square(half, side // 2)
    settings = {
        "start picture": ["-i", start, "--strength", "0.6"], "mask": ["-i", start, "--mask", mask],
        "outpaint": ["-i", start, "--outpaint", "right=64"], "hires": ["--hires", "1.5"],
        "latent hires": ["--hires", "1.5", "--hires-upscaler", "Latent (bicubic)"], "seamless": ["--circular"], "decoded in tiles": ["--vae-tiling"],
        "guidance": ["--cfg-scale", "4", "-n", "fog"], "no flash attention": ["--no-diffusion-fa"], "blended noise": ["--blend-seed", "9", "--blend", "0.4"],
        "easycache": ["--cache-mode", "easycache"], "spectrum": ["--cache-mode", "spectrum"], "dbcache": ["--cache-mode", "dbcache"],
        **{it: ["--sampling-method", it] for it in SAMPLERS},
        **{it: ["--type", it] for it in TYPES},
    }
    cases = {f"built-in, {what}": [*BUILTIN, *map(str, words)] for what, words in settings.items()}
    small = ["-p", "a hill", "--seed", "3", "-W", "64", "-H", "64", "--steps", "2"]
    for name in TINY_MODELS:
        control = ["--control-image", str(half)] if "control" in name else []
        cases[name] = [*model(name), *small, *control]
    cases["tiny, LoRA at run time"] = [*model("tiny-lora"), *small, "--lora-apply-mode", "at_runtime"]
    cases["tiny, streamed"] = [*model("tiny"), *small, "--max-vram", "0.005", "--stream-layers"]
    # The card's picture is compared by itself; those of the processor are made by all cores.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        begun = {what: [pool.submit(Run, "generate", *words, "--backend", place, "-o", OUT / f"like-{n}-{side_}.png")
                        for side_, place in (("cpu", "cpu"), ("card", PLACE))] for n, (what, words) in enumerate(cases.items())}
        for n, (what, pair) in enumerate(begun.items()):
            cpu, card = (it.result() for it in pair)
            notes = " ".join(card.end.get("notes", []))
            if cpu.ok and card.ok:
                try:
                    mean, largest = difference(OUT / f"like-{n}-cpu.png", OUT / f"like-{n}-card.png")
                    row(what, f"mean {mean:.3f}, largest {largest} of 255 {notes}")
                except (OSError, ValueError) as error:
                    row(what, f"not compared: {error} {notes}")
            else:
                row(what, f"processor: {cpu.outcome}; card: {card.outcome}", card.command)


def operations():
    """Where the card's time goes: seconds by operation, as ggml's Vulkan logs them, one by one and so slower than together."""
    for name, size in [("tiny", 64)] if SMALL else [("sd15", 512), ("sd15", 1024), ("sdxl", 1024), ("zimage", 1024)]:
        # The first picture compiles shaders.
        generate(name, "--backend", PLACE, size=size, steps=1)
        ENVIRONMENT["GGML_VK_PERF_LOGGER"] = "1"
        log = OUT / "log.txt"
        at = log.stat().st_size
        run = generate(name, "--backend", PLACE, size=size, steps=2)
        del ENVIRONMENT["GGML_VK_PERF_LOGGER"]
        graphs = []
        for line in log.read_bytes()[at:].decode(errors="replace").splitlines():
            if line.startswith("Vulkan Timings:"):
                graphs.append(collections.Counter())
            elif " us = " in line and graphs and ": " in line:
                what, _, rest = line.partition(": ")
                graphs[-1][what] += float(rest.split(" us = ")[1].split(" us")[0])
        (OUT / f"operations-{name}-{size}.json").write_text(json.dumps(graphs))
        row(f"{name} {size}", f"{len(graphs)} graphs; {timings(run)}")
        # Of the largest graphs: a step is there twice, the decoder once.
        for graph in sorted(graphs, key=lambda it: -it.total())[:3]:
            most_ = ", ".join(f"{what} {us / 1000:.2f}" for what, us in graph.most_common(9))
            row(f"{name} {size}, a graph of {graph.total() / 1000:.1f} ms", most_)


def units():
    """What the card's matrix units give: the same without them."""
    name = "tiny" if SMALL else "sd15"
    for what, variables in {"all": [], "without NV_coopmat2": ["GGML_VK_DISABLE_COOPMAT2"],
                            "without matrix units": ["GGML_VK_DISABLE_COOPMAT2", "GGML_VK_DISABLE_COOPMAT"]}.items():
        ENVIRONMENT.update(dict.fromkeys(variables, "1"))
        generate(name, "--backend", PLACE, size=SIZES[-1], steps=1)
        run = generate(name, "--backend", PLACE, size=SIZES[-1], steps=STEPS)
        for it in variables:
            del ENVIRONMENT[it]
        row(f"{name} {SIZES[-1]}, {what}", f"step {run.step_secs():.4f} s; {timings(run)}")


def caches():
    """Seconds of denoising with each step cache."""
    name = "tiny" if SMALL else "zimage"
    for cache in ["", "easycache", "ucache", "dbcache", "taylorseer", "cache-dit", "spectrum"]:
        run = generate(name, "--backend", PLACE, *(["--cache-mode", cache] if cache else []), size=SIZES[-1], steps=STEPS if SMALL else 20)
        row(f"{name} {SIZES[-1]}, {cache or 'no cache'}", timings(run), run.command)


def streaming():
    """What a half of the memory costs by module, and what of it hides behind computing."""
    name = "tiny" if SMALL else "sdxl"
    for size in SIZES:
        run = generate(name, "--backend", PLACE, size=size, steps=4)
        resident, needed = run.step_secs(), most(run)
        for share in (0.75, 0.5, 0.25):
            budget = f"{max(needed * share / GIB, 0.01):.2f}"
            run = generate(name, "--backend", PLACE, "--max-vram", budget, "--stream-layers", size=size, steps=6)
            copies = [it for line in run.all("measured") for it in line["copies"]]
            profile = "; ".join(f"{it['module']} {it['bytes'] / GIB:.1f} GiB in {it['count']}, waited {it['waited_secs']:.2f}, hidden {it['hidden_secs']:.2f} s"
                                for it in copies)
            row(f"{name} {size} in {budget} GiB", f"step {run.step_secs():.4f} s, {run.step_secs() / resident:.2f} of resident; {timings(run)}; {profile}", run.command)


def switch():
    """Two models in one process, three pictures of each, in the order in which the queue takes them."""
    models = {"built-in": [], "tiny" if SMALL else "sd15": model("tiny" if SMALL else "sd15")}
    order = [*models] * 3
    ids = {}
    for name in order:
        words = [PROGRAM, "queue", "add", *models[name], "-p", "a hill", "--steps", "2", "--backend", PLACE, "--json"]
        added = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT)
        for text in added.stdout.splitlines():
            ids[json.loads(text)["id"]] = name
        if added.returncode != 0:
            row(f"queue add {name}", added.stderr.strip())

    def watch(run, line):
        if line["event"] == "ended":
            row(ids.get(line["id"], "?"), f"{line['state']} in {line['secs']:.3f} s {line['reason'] or ''}; card {used_mib()} MiB")

    Run("queue", "run", watch=watch)
    row("after the program's end", f"card {used_mib()} MiB")


def breaks():
    """Killed in every phase, taken cards, large decodes, formats."""
    name = "tiny" if SMALL else "sd15"
    before = used_mib()
    for phase in ("loading", "encoding", "denoising", "decoding"):
        killed = []

        def kill(run, line, phase=phase, killed=killed):
            if line["event"] == "phase" and line["phase"] == phase and not killed:
                killed.append(True)
                run.process.kill()

        generate(name, "--backend", PLACE, watch=kill)
        run = generate(name, "--backend", PLACE, steps=1)
        row(f"killed while {phase}" if killed else f"no phase {phase} was seen", f"then {run.outcome}; card before {before}, after {used_mib()} MiB")

    words = [PROGRAM, "generate", *generate_words(name, SIZES[0]), "-p", "a hill", "--cfg", "1", "--steps", str(STEPS), "--backend", PLACE]
    begun = time.monotonic()
    both = [subprocess.Popen([*words, "-o", OUT / f"both{n}.png"], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for n in (1, 2)]
    row("two programs on one card", f"exit codes {[it.wait() for it in both]} after {time.monotonic() - begun:.1f} s")

    big = 256 if SMALL else 2048
    for what, extra in {"without tiles": [], "in tiles": ["--vae-tiling"]}.items():
        with Card() as card:
            run = generate(name, "--backend", PLACE, *extra, size=big, steps=1)
        row(f"{big} x {big} {what}", f"{run.outcome}; {timings(run)}; {card.peak or '-'} MiB at most", run.command)
    if SMALL or not os.environ.get("KIT_DEVICE"):
        run = generate("tiny-q8", "--backend", PLACE, size=64, steps=2)
        row("Q8_0", run.outcome, run.command)
    row("other quantisations", "left out: nothing here writes them")


def training():
    """Goes on with the built-in model for the minutes of KIT_MINUTES."""
    minutes = os.environ.get("KIT_MINUTES", "9")
    words = [sys.executable, HERE / "tools" / "builtin-model" / "session.py", OUT / "training", OUT / "weights", "--minutes", minutes, "--",
             "--share", "256x256=0.65", "--share", "128x128=0.05", "--share", "other=0.15", "--share", "large=0.15",
             "--batch-tokens", "131072", "--cool", "0", "--average", "0.999"]
    run = subprocess.run(words, env={**os.environ, "CARGO_HOME": str(HERE / "cargo")})
    row("training of the built-in model", f"exit code {run.returncode}, weights in {OUT / 'weights'}", f"session.py --minutes {minutes}")


def run(name):
    if name.startswith("memory-"):
        return memory(name.removeprefix("memory-"))
    if name.startswith("speed-"):
        return speed(name.removeprefix("speed-"))
    part = {"works": works, "switch": switch, "breaks": breaks, "training": training, "likeness": likeness, "operations": operations,
            "units": units, "caches": caches, "streaming": streaming}.get(name)
    if part is None:
        sys.exit(f"There is no part called {name}.")
    return part()
