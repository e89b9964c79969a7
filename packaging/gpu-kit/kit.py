"""The parts of run.sh: each measures with the program beside this file and adds rows to OUT/measured-gpu.md.

    python3 kit.py OUT begin PART...
    python3 kit.py OUT PART
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(os.environ.get("KIT_PROGRAM", HERE / "atelier")).resolve()
OUT = pathlib.Path(sys.argv[1])
TABLE = OUT / "measured-gpu.md"
SMALL = bool(os.environ.get("KIT_SMALL"))
MODELS = pathlib.Path(os.environ.get("KIT_MODELS", OUT / "models"))
SIZES = [64] if SMALL else [512, 1024]
STEPS = 2 if SMALL else 6
GIB = 1 << 30
# Bytes of each random model.
MODEL_SIZES = {"sd15": 2.2e9, "sdxl": 7e9, "zimage": 21e9, "flux": 33e9}
ENVIRONMENT = {**os.environ, "ATELIER_HOME": str(OUT / "home"), "ATELIER_BUILTIN": str(HERE / "builtin-model")}


def add(text):
    """A line of the report, on the disk before anything else happens."""
    with TABLE.open("a") as file:
        file.write(text + "\n")
    print(text, flush=True)


def row(what, figure, command=""):
    cells = (str(cell).replace("|", "/").replace("\n", " ") for cell in (what, figure, f"`{command}`" if command else ""))
    add("| " + " | ".join(cells) + " |")


def mib(size):
    return f"{size / 2**20:.0f} MiB"


class Run:
    """One call of `atelier --json`: its lines with the seconds at which they came."""

    def __init__(self, *words, watch=None):
        self.words = [str(word) for word in words]
        self.lines, self.log = [], OUT / "log.txt"
        begun = time.monotonic()
        with self.log.open("a") as log:
            log.write(f"\n$ atelier {' '.join(self.words)}\n")
            log.flush()
            self.process = subprocess.Popen(
                [PROGRAM, *self.words, "--json"], stdout=subprocess.PIPE, stderr=log, env=ENVIRONMENT, text=True
            )
            try:
                for text in self.process.stdout:
                    line = json.loads(text)
                    line["at"] = time.monotonic() - begun
                    self.lines.append(line)
                    if line["event"] in ("end", "measured"):
                        log.write(text)
                    if watch:
                        watch(self, line)
                self.code = self.process.wait()
            finally:
                if self.process.poll() is None:
                    self.process.kill()
                    self.process.wait()
        self.secs = time.monotonic() - begun

    @property
    def command(self):
        words = [word.replace(str(MODELS) + "/", "").replace(str(OUT) + "/", "") for word in self.words]
        return "atelier " + " ".join(f"'{word}'" if " " in word else word for word in words)

    def all(self, event):
        return [line for line in self.lines if line["event"] == event]

    @property
    def end(self):
        return self.all("end")[-1] if self.all("end") else {"outcome": f"none, exit code {self.code}"}

    @property
    def ok(self):
        return self.end["outcome"] == "done"

    @property
    def outcome(self):
        """`done`, or the sentence for a person."""
        end = self.end
        missing = end.get("out_of_memory")
        lack = f" ({missing['device']}, {missing['phase']}: {mib(missing['bytes_wanted'])} wanted)" if missing else ""
        return end["outcome"] if self.ok else f"{end['outcome']}: {end.get('message', '')} {end.get('hint', '')}{lack}".strip()

    @property
    def timings(self):
        return self.end.get("timings", {})

    def step_secs(self):
        """Median seconds of a step, without each picture's first: it compiles the device's programs."""
        times = {(line["picture"], line["done"]): line["step_secs"] for line in self.all("step") if line["done"] > 0}
        later = sorted(secs for (_, done), secs in times.items() if done > 1) or sorted(times.values())
        return later[len(later) // 2] if later else float("nan")


class Card:
    """Memory and load of an NVIDIA card while something runs; silent for others."""

    QUERY = ["nvidia-smi", "--query-gpu=memory.used,utilization.gpu", "--format=csv,noheader,nounits"]

    def __enter__(self):
        self.samples = []
        self.process = None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen([*self.QUERY, "-lms", "100"], stdout=subprocess.PIPE, text=True)
            self.thread = threading.Thread(target=self.read, daemon=True)
            self.thread.start()
        return self

    def read(self):
        for text in self.process.stdout:
            used, _, busy = text.strip().partition(", ")
            if used.isdigit():
                self.samples.append((int(used), int(busy) if busy.isdigit() else 0))

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.thread.join(timeout=2)

    @property
    def peak(self):
        return max(used for used, _ in self.samples) if self.samples else None

    @property
    def busy(self):
        at_work = [busy for _, busy in self.samples if busy > 0]
        return f"{sum(at_work) / len(at_work):.0f} % busy" if at_work else "-"


def used_mib():
    """MiB of the card in use, or None."""
    if not shutil.which("nvidia-smi"):
        return None
    text = subprocess.run(Card.QUERY, capture_output=True, text=True).stdout.split(",")[0].strip()
    return int(text) if text.isdigit() else None


def devices():
    output = subprocess.run([PROGRAM, "devices", "--json"], capture_output=True, text=True, env=ENVIRONMENT)
    if output.returncode != 0:
        sys.exit(f"atelier devices: {output.stderr}")
    return json.loads(output.stdout)


def device():
    """The graphics card that is measured."""
    wanted = os.environ.get("KIT_DEVICE", "").lower()
    cards = [it for it in devices()["devices"] if it["kind"] in ("gpu", "integrated_gpu") or it["name"].lower() == wanted]
    cards = [it for it in cards if not wanted or it["name"].lower() == wanted]
    if not cards:
        sys.exit("No graphics card is listed by `atelier devices`.")
    return cards[0]


def flags_file(name):
    return MODELS / f"{name}.flags"


def write_ahead(names):
    """Starts a writer for each of these models, if there is room for all."""
    MODELS.mkdir(parents=True, exist_ok=True)
    names = [name for name in names if not flags_file(name).exists()]
    if SMALL or sum(MODEL_SIZES[name] for name in names) > shutil.disk_usage(MODELS).free * 0.9:
        return
    for name in names:
        file = flags_file(name)
        begun = file.with_suffix(".begun")
        begun.touch()
        script = '"$0" "$1" "$2" > "$3" && mv "$3" "$4"; rm -f "$3"'
        subprocess.Popen(["sh", "-c", script, HERE / "make-model", name, MODELS / name, begun, file], start_new_session=True)


def model(name):
    """Flags of a random model. Without room for all, those before are deleted."""
    file = flags_file(name)
    begun = time.monotonic()
    while file.with_suffix(".begun").exists():
        time.sleep(0.1)
    if not file.exists():
        if MODEL_SIZES.get(name, 0) > shutil.disk_usage(MODELS).free * 0.9:
            shutil.rmtree(MODELS, ignore_errors=True)
        MODELS.mkdir(parents=True, exist_ok=True)
        made = subprocess.run([HERE / "make-model", name, MODELS / name], capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(made.stderr)
        file.write_text(made.stdout)
    if time.monotonic() - begun > 1:
        row(f"waited for random {name}", f"{time.monotonic() - begun:.0f} s")
    return file.read_text().split("\n")[:-1]


def generate(name, *words, size=None, steps=STEPS, watch=None):
    size = size or SIZES[0]
    shape = ["--cfg", "1", "--steps", steps, "-W", size, "-H", size, "-p", "a hill", "-o", OUT / "picture.png"]
    return Run("generate", *model(name), *shape, *words, watch=watch)


def begin():
    try:
        smi = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
        driver = subprocess.run(smi, capture_output=True, text=True).stdout.strip()
    except OSError:
        driver = "no nvidia-smi"
    uses = {"operations": "sd15 sdxl zimage", "units": "sd15", "caches": "zimage", "streaming": "sdxl", "switch": "sd15"}
    words = " ".join(f"{part} {uses.get(part, '')}" for part in sys.argv[3:])
    write_ahead([name for name in MODEL_SIZES if name in words])
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, env=ENVIRONMENT).stdout.strip()
    listed = devices()
    card, cpu = device(), [it for it in listed["devices"] if it["kind"] == "cpu"]
    add(f"# {card['description']}, {time.strftime('%Y-%m-%d %H:%M')}\n")
    add(f"- card: {card['name']}, {card['description']}, {mib(card['memory_total_bytes'])}, {mib(card['memory_free_bytes'])} free")
    add(f"- driver: {driver}")
    add(f"- versions: {version}; {' '.join(os.uname()[::2])}; Python {sys.version.split()[0]}")
    add(f"- processor: {cpu[0]['description'] if cpu else '-'}, {os.cpu_count()} cores, {listed.get('processor', {})}")
    add(f"- settings: {'small models' if SMALL else 'models of real size'}, weights are random\n")


def end(part, code, secs, limit):
    said = {"0": "finished", "124": f"stopped at its limit of {limit} s", "137": f"stopped at its limit of {limit} s"}
    row(f"part {part}", f"{said.get(code, f'ended with code {code}')} after {secs} s")


def main():
    import parts

    name = sys.argv[2]
    if name == "begin":
        return begin()
    if name == "end":
        return end(*sys.argv[3:7])
    add(f"\n## {name}\n\n| what | figure | command |\n|---|---|---|")
    return parts.run(name)


if __name__ == "__main__":
    # parts.py imports this file by its name.
    sys.modules["kit"] = sys.modules["__main__"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        # At once: run.sh waits no longer.
        os._exit(124)
