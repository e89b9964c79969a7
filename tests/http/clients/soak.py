"""A long day of a server in a few minutes: `cargo xtask test --soak` runs it.

Usage: soak.py PROGRAM [--minutes N] [--figures]. Ten people with a token each ask `PROGRAM serve` for small pictures of the built-in
model by every interface, cancel and hang up; in the middle the server is killed and started again. What was accepted must be made
exactly once, or still wait; memory and open files must not grow. `--figures` then measures requests a second, and what the server
adds to a picture. Linux only: it reads /proc. Exits with 1 where something failed.
"""

import argparse
import base64
import collections
import http.client
import itertools
import json
import os
import pathlib
import random
import selectors
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

NAMES = ["Anna", "Ben", "Carla", "David", "Elif", "Finn", "Greta", "Hugo", "Ida", "Jon"]
HOST = "127.0.0.1"
SIDE = 64
# A picture that cannot end before somebody stops it.
LONG_STEPS = 150
# Jobs of eight pictures of which one may let fewer wait.
MOST_JOBS = 6
# The seeds of a wish are its number and the ones behind it, so that a picture tells whose it is.
SEEDS_OF_WISH = 10
SEEDS_OF_PERSON = 10_000_000
POLL_SECS = 0.05
SAMPLE_SECS = 0.5
START_SECS = 60
ANSWER_SECS = 300
# The server closes a connection that is idle for ten seconds.
IDLE_SECS = 5
# What memory and open files may grow between the second and the last tenth.
GROWTH_FACTOR, GROWTH_BYTES, GROWTH_FILES = 1.2, 50e6, 10
GOAL_MS = 20
# What the program answers to its parent after Ctrl-C.
EXIT_CANCELLED = 130


class Gone(Exception):
    """The connection broke before the answer was there."""


def until(what, is_so, within):
    """Asks again and again until it is true, and returns that."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if answer := is_so():
            return answer
        time.sleep(POLL_SECS)
    raise TimeoutError(f"{what} did not come within {within} s")


class Server:
    """The program, which can be killed and started again in the same home and at the same port."""

    def __init__(self, program, home, people):
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port = probe.getsockname()[1]
        self.program, self.home = program, pathlib.Path(home)
        self.environment = {**os.environ, "ATELIER_HOME": str(home)}
        self.command = [program, "serve", "--port", str(self.port), "--threads", "1", "--require-token"]
        for name in people:
            self.command += ["--person", name]
        self.log = open(self.home / "log", "ab")
        # Lives that ended; while it is down the next one has not begun.
        self.lives, self.is_down = 0, True

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=self.log)
        until("the server", self.is_up, START_SECS)
        self.is_down = False

    def is_up(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended with {self.process.returncode}: {(self.home / 'log').read_text()[-1000:]}")
        try:
            return Connection(self, None).ask("GET", "/healthz")[0] == 200
        except Gone:
            return False

    def kill(self):
        self.is_down = True
        self.lives += 1
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(START_SECS)

    def tokens(self):
        kept = json.loads(next(self.home.rglob("serve-tokens.json")).read_text())
        return {name: token["token"] if isinstance(token, dict) else token for name, token in kept.items()}

    def queue(self):
        """The jobs as the command line lists them: all that are open, and the last that ended."""
        told = subprocess.run([self.program, "queue", "list", "--json"], env=self.environment, capture_output=True, text=True, check=True)
        return [job for job in map(json.loads, told.stdout.splitlines()) if job["event"] == "job"]

    def open_jobs(self):
        return [job for job in self.queue() if job["state"] in ("waiting", "running", "held")]


class Connection:
    """A connection that is kept open, and opened again where it broke."""

    def __init__(self, server, token):
        self.server, self.headers = server, {"Authorization": f"Bearer {token}"} if token else {}
        self.connection, self.used = None, 0.0

    def send(self, method, path, body=None):
        if time.monotonic() - self.used > IDLE_SECS:
            self.close()
        if self.connection is None:
            self.connection = http.client.HTTPConnection(HOST, self.server.port, timeout=ANSWER_SECS)
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body).encode(), self.headers)
        except OSError as error:
            self.close()
            raise Gone(str(error)) from error
        self.used = time.monotonic()

    def ask(self, method, path, body=None):
        """Status, headers and body of the answer."""
        self.send(method, path, body)
        try:
            answer = self.connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Gone(str(error)) from error
        self.used = time.monotonic()
        is_json = (answer.headers.get("content-type") or "").startswith("application/json")
        return answer.status, answer.headers, json.loads(data) if is_json else data

    def events(self, path):
        """The data of the last event of a job."""
        self.send("GET", path)
        try:
            answer = self.connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Gone(str(error)) from error
        finally:
            self.close()
        return answer.status, data.decode().rpartition("event: end\ndata: ")[2].strip()

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Wish:
    """Pictures that somebody asked for, and what is known of them."""

    def __init__(self, seed, count):
        self.seed, self.count = seed, count
        # "accepted": made once, or waiting; "unsure" (cut or stopped): at most once; "refused": never.
        self.fate = "unsure"


class Person(threading.Thread):
    """Somebody who asks for one thing after the other, in an order of their own."""

    def __init__(self, number, name, token, server, end):
        super().__init__(name=name, daemon=True)
        self.server, self.end, self.token = server, end, token
        self.http = Connection(server, token)
        self.random = random.Random(number)
        self.seeds = itertools.count((number + 1) * SEEDS_OF_PERSON, SEEDS_OF_WISH)
        self.wishes, self.faults, self.times = [], [], collections.defaultdict(list)
        self.counts = collections.Counter()

    def run(self):
        routes = {
            self.txt2img: 4, self.openai: 4, self.watch_job: 4, self.leave_job: 3, self.cancel_job: 1, self.hang_up: 1, self.too_many: 1,
            self.progress: 6, self.options: 4, self.lists: 4, self.pictures: 2,
        }
        while not self.end.is_set():
            route = self.random.choices(list(routes), routes.values())[0]
            self.once(route)
        self.http.close()

    def once(self, route):
        lives, began, name = self.server.lives, time.monotonic(), route.__name__
        try:
            route()
            self.times[name].append(time.monotonic() - began)
        except Gone as error:
            self.counts["broken connections"] += 1
            if lives == self.server.lives and not self.server.is_down:
                self.faults.append(f"{name}: the connection broke while the server ran: {error}")
            until("the server", lambda: not self.server.is_down, 2 * START_SECS)
        except Exception as error:  # Whatever else happens is a fault of the server.
            self.faults.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")

    def wish(self, count=1):
        wish = Wish(next(self.seeds), count)
        self.wishes.append(wish)
        return wish

    def expect(self, status, answer):
        assert answer[0] == status, f"answered {answer[0]} {str(answer[2])[:200]}"
        return answer[2]

    def make(self, path, body, wish, status=200):
        """Asks for pictures; `None` where too many wait already."""
        answer = self.http.ask("POST", path, body)
        if answer[0] == 429:
            wish.fate = "refused"
            assert int(answer[1]["retry-after"]) > 0
            self.counts["refused with 429"] += 1
            return None
        told = self.expect(status, answer)
        wish.fate = "accepted"
        return told

    def waiting(self):
        jobs = self.expect(200, self.http.ask("GET", "/sdcpp/v1/jobs"))
        return sum(job["status"] in ("queued", "generating") for job in jobs)

    def txt2img(self):
        wish = self.wish()
        told = self.make("/sdapi/v1/txt2img", self.body_of(wish, steps=self.random.choice([1, 2]), batch_size=1), wish)
        if told is not None:
            info = json.loads(told["info"])
            assert info["all_seeds"] == [wish.seed], info["all_seeds"]
            assert [size_of(base64.b64decode(it)) for it in told["images"]] == [(SIDE, SIDE)]

    def openai(self):
        wish = self.wish(self.random.choice([1, 2]))
        body = {"prompt": f"wish {wish.seed}", "size": f"{SIDE}x{SIDE}", "seed": wish.seed, "steps": 1, "n": wish.count}
        told = self.make("/v1/images/generations", body, wish)
        if told is not None:
            assert [size_of(base64.b64decode(it["b64_json"])) for it in told["data"]] == [(SIDE, SIDE)] * wish.count

    def body_of(self, wish, **more):
        return {"prompt": f"wish {wish.seed}", "width": SIDE, "height": SIDE, "seed": wish.seed, **more}

    def add_job(self, steps, count=1):
        wish = self.wish(count)
        told = self.make("/sdcpp/v1/img_gen", self.body_of(wish, batch_count=count, sample_params={"sample_steps": steps}), wish, 202)
        return wish, told and told["poll_url"]

    def watch_job(self):
        """Follows the events of a job to their end; after a restart asks for it until it is done."""
        lives = self.server.lives
        wish, path = self.add_job(2, self.random.choice([1, 2]))
        if path is None:
            return
        try:
            status, last = self.http.events(f"{path}/events")
            assert status == 200 and json.loads(last)["status"] == "completed", last
        except Gone:
            if lives == self.server.lives:
                raise
            until("the server", lambda: not self.server.is_down, 2 * START_SECS)
            self.counts["jobs followed over the restart"] += 1

        def ended():
            status, _, told = self.http.ask("GET", path)
            # One that had ended before the restart is not told of after it.
            is_forgotten = self.server.lives > lives and status in (404, 410)
            return (None if is_forgotten else told,) if is_forgotten or told.get("status") == "completed" else None

        told = until("the end of a job", ended, ANSWER_SECS)[0]
        if told is not None:
            images = told["result"]["images"]
            assert [size_of(base64.b64decode(it["b64_json"])) for it in images] == [(SIDE, SIDE)] * wish.count

    def leave_job(self):
        self.add_job(self.random.choice([1, 2]))

    def cancel_job(self):
        wish, path = self.add_job(LONG_STEPS)
        if path is not None:
            self.cancel(wish, path)

    def cancel(self, wish, path):
        """Cancels a job, after a restart too: nobody else would stop it, and it takes long."""
        wish.fate = "unsure"
        lives = self.server.lives
        try:
            status = self.http.ask("POST", f"{path}/cancel")[0]
        except Gone:
            if lives == self.server.lives:
                raise
            until("the server", lambda: not self.server.is_down, 2 * START_SECS)
            status = self.http.ask("POST", f"{path}/cancel")[0]
        # It has ended, or had ended before the restart.
        assert status in (200, 409) or (lives < self.server.lives and status in (404, 410)), f"answered {status}"

    def too_many(self):
        """Asks for more than one may let wait, until that is refused, and cancels it all."""
        jobs = []
        try:
            while len(jobs) < MOST_JOBS:
                wish, path = self.add_job(LONG_STEPS, 8)
                if path is None:
                    break
                jobs.append((wish, path))
            assert len(jobs) < MOST_JOBS, "nothing was refused"
        except Gone:
            until("the server", lambda: not self.server.is_down, 2 * START_SECS)
            raise
        finally:
            for wish, path in jobs:
                self.cancel(wish, path)

    def hang_up(self):
        wish = self.wish()
        self.http.send("POST", "/sdapi/v1/txt2img", self.body_of(wish, steps=LONG_STEPS))
        try:
            # The answer takes longer than this, unless too many pictures wait.
            self.http.connection.sock.settimeout(self.random.uniform(0.0, 0.3) + 0.01)
            self.http.connection.sock.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            pass
        except OSError as error:
            raise Gone(str(error)) from error
        finally:
            self.http.close()

    def progress(self):
        told = self.expect(200, self.http.ask("GET", "/sdapi/v1/progress"))
        assert 0 <= told["progress"] <= 1

    def options(self):
        told = self.expect(200, self.http.ask("GET", "/sdapi/v1/options"))
        self.expect(200, self.http.ask("POST", "/sdapi/v1/options", {"sd_model_checkpoint": told["sd_model_checkpoint"]}))

    def lists(self):
        path = self.random.choice(["/sdapi/v1/samplers", "/sdapi/v1/sd-models", "/v1/models", "/sdcpp/v1/capabilities", "/sdcpp/v1/jobs"])
        self.expect(200, self.http.ask("GET", path))

    def pictures(self):
        kept = self.expect(200, self.http.ask("GET", "/atelier/v1/pictures"))["pictures"]
        if kept:
            assert len(self.expect(200, self.http.ask("GET", f"/atelier/v1/pictures/{kept[0]['id']}/thumbnail"))) > 100


class Sampler(threading.Thread):
    """Notes the server's memory and open files: seconds, life, RSS, PSS, files."""

    def __init__(self, server, end):
        super().__init__(daemon=True)
        self.server, self.end, self.samples = server, end, []

    def run(self):
        began = time.monotonic()
        while not self.end.wait(SAMPLE_SECS):
            life = self.server.lives
            sample = None if self.server.is_down else sample_of(self.server.process.pid)
            if sample and life == self.server.lives and not self.server.is_down:
                self.samples.append((time.monotonic() - began, life, *sample))


def sample_of(pid):
    """RSS and PSS in bytes, and the number of open files; `None` where the process has gone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        return kilobytes["Rss"] * 1024, kilobytes["Pss"] * 1024, len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, KeyError, IndexError):
        return None


def chunks_of(data):
    """The chunks of a PNG."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def size_of(data):
    return struct.unpack(">II", next(chunks_of(data))[1][:8])


def seed_of(data):
    """The seed that a kept picture tells."""
    text = next(body for kind, body in chunks_of(data) if kind == b"iTXt" and body.startswith(b"atelier\0"))
    return json.loads(text.split(b"\0\0\0\0\0", 1)[1])["seed"]


def tenths(samples):
    """The samples in ten equal times."""
    first, last = samples[0][0], samples[-1][0]
    parts = [[] for _ in range(10)]
    for sample in samples:
        parts[min(int(10 * (sample[0] - first) / max(last - first, 1e-9)), 9)].append(sample)
    return parts


def mean(samples, column):
    return statistics.fmean(sample[column] for sample in samples) if samples else float("nan")


class Results:
    def __init__(self):
        self.rows = []

    def note(self, what, faults, said=""):
        """`faults`: sentences, of which the first is shown; or whether it failed."""
        faults = faults if isinstance(faults, list) else ["it is not so"] if faults else []
        self.rows.append((what, not faults, f"{len(faults)}: {faults[0]}" if faults else said))

    def print(self):
        width = max(len(what) for what, _, _ in self.rows)
        for what, passed, said in self.rows:
            print(f"{what:{width}} {'ok    ' if passed else 'FAILED'} {said}")
        return all(passed for _, passed, _ in self.rows)


def soak(program, minutes, home):
    """Runs it, prints what was seen, and returns whether all is well."""
    server, end, results = Server(program, home, NAMES), threading.Event(), Results()
    server.start()
    tokens = server.tokens()
    assert Connection(server, tokens[NAMES[0]]).ask("GET", "/sdapi/v1/sd-models")[2], "the built-in model is missing"
    people = [Person(number, name, tokens[name], server, end) for number, name in enumerate(NAMES)]
    last_minute = [Person(len(NAMES) + number, name, tokens[name], server, end) for number, name in enumerate(NAMES)]
    sampler = Sampler(server, end)
    print(f"{minutes:g} minutes with {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before", flush=True)
    began = time.monotonic()
    for thread in [sampler, *people]:
        thread.start()
    try:
        end.wait(30 * minutes)
        # Accepted a moment before the end: they are kept, or the answer was a lie.
        for person in last_minute:
            person.once(person.leave_job)
        server.kill()
        waited = len(server.open_jobs())
        restarted = time.monotonic()
        server.start()
        restarted = time.monotonic() - restarted
        results.note("killed and started again", waited == 0, f"{waited} jobs were open; it answered after {restarted:.1f} s")
        end.wait(max(60 * minutes - (time.monotonic() - began), 0))
    finally:
        end.set()
    for person in people:
        person.join(ANSWER_SECS)
    results.note("everybody has their last answer", [person.name for person in people if person.is_alive()])
    took = time.monotonic() - began

    def settled():
        jobs = server.open_jobs()
        return (jobs,) if all(job["state"] == "held" for job in jobs) else None

    try:
        held, late = until("the end of the jobs", settled, ANSWER_SECS)[0], []
    except TimeoutError:
        held = late = server.open_jobs()
    results.note("every job ends or is held", late, f"{len(held)} are held for the person at the machine")
    results.note("the server ends when it is told to", server.stop() != EXIT_CANCELLED)
    people += last_minute
    made = account(server, people, held, results)
    results.note("every answer is as it should be", [f"{person.name}: {fault}" for person in people for fault in person.faults])
    growth(sampler.samples, results)
    told(took, people, made, sampler.samples)
    return results.print()


def account(server, people, held, results):
    """Compares what was asked for with the pictures that are kept: the number of each person's pictures."""
    kept = collections.defaultdict(collections.Counter)
    for path in server.home.rglob("Shared/*/*.png"):
        kept[path.parent.name][seed_of(path.read_bytes())] += 1
    made = {name: kept[name].total() for name in NAMES}
    waiting = {int(job["prompt"].split()[1]) for job in held}
    lost, twice, unasked, counts = [], [], [], collections.Counter()
    for person in people:
        for wish in person.wishes:
            counts[wish.fate] += 1
            times = [kept[person.name].pop(wish.seed + index, 0) for index in range(wish.count)]
            if wish.fate == "accepted" and 0 in times and wish.seed not in waiting:
                lost.append(f"{person.name}'s wish {wish.seed} of {wish.count} was made {times} times")
            if max(times) > 1:
                twice.append(f"{person.name}'s wish {wish.seed} of {wish.count} was made {times} times")
            if wish.fate == "refused" and any(times):
                unasked.append(f"{person.name}'s wish {wish.seed} was refused and made")
    unasked += [f"{name} has a picture of seed {seed}" for name, seeds in kept.items() for seed in seeds]
    said = f"{counts['accepted']} accepted wishes, {counts['unsure']} that were stopped or cut, {counts['refused']} refused"
    results.note("nothing that was accepted is lost", lost, said)
    results.note("nothing was made twice", twice, f"{sum(made.values())} pictures")
    results.note("nothing was made that nobody asked for", unasked)
    return made


def growth(samples, results):
    """Compares the second and the last tenth: of the whole, and of each life, whose beginning the whole does not show."""
    lives = sorted({sample[1] for sample in samples})
    for name, part in [("in all", samples), *((f"life {life + 1}", [it for it in samples if it[1] == life]) for life in lives)]:
        parts = tenths(part)
        second, last = parts[1], parts[9]
        for what, column in [("RSS", 2), ("PSS", 3)]:
            before, after = mean(second, column), mean(last, column)
            is_more = not after <= before * GROWTH_FACTOR + GROWTH_BYTES
            results.note(f"{what} does not grow, {name}", is_more, f"{before / 1e6:.0f} to {after / 1e6:.0f} MB")
        before, after = mean(second, 4), mean(last, 4)
        results.note(f"open files do not grow, {name}", not after <= before + GROWTH_FILES, f"{before:.1f} to {after:.1f}")


def told(took, people, made, samples):
    """What was seen, as tables."""
    print(f"{'tenth':>6} {'minute':>7} {'life':>5} {'RSS MB':>7} {'PSS MB':>7} {'files':>6}")
    for number, part in enumerate(tenths(samples)):
        if part:
            columns = mean(part, 2) / 1e6, mean(part, 3) / 1e6, mean(part, 4)
            print(f"{number + 1:6} {part[-1][0] / 60:7.1f} {part[-1][1] + 1:5} {columns[0]:7.0f} {columns[1]:7.0f} {columns[2]:6.1f}")
    print(f"\n{'asked for':13} {'times':>6} {'median ms':>10} {'worst ms':>9}")
    for route in sorted({route for person in people for route in person.times}):
        times = sorted(secs for person in people for secs in person.times[route])
        print(f"{route:13} {len(times):6} {1000 * statistics.median(times):10.1f} {1000 * times[-1]:9.0f}")
    counts = sum((person.counts for person in people), collections.Counter())
    print(f"\n{sum(made.values())} pictures in {took / 60:.1f} minutes; of one person {min(made.values())} to {max(made.values())}")
    print(", ".join(f"{what}: {count}" for what, count in sorted(counts.items())) + "\n")


def rate(server, token, path, connections, secs):
    """Answers a second over connections that are kept open, each of which asks again as soon as it was answered; and bytes of one."""
    request = f"GET {path} HTTP/1.1\r\nHost: {HOST}:{server.port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    answers, length = 0, 0
    with selectors.DefaultSelector() as selector:
        for _ in range(connections):
            one = socket.create_connection((HOST, server.port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(one, selectors.EVENT_READ, bytearray())
            one.sendall(request)
        began = time.perf_counter()
        while time.perf_counter() - began < secs:
            for key, _ in selector.select(ANSWER_SECS):
                key.data.extend(key.fileobj.recv(1 << 16) or exit("a connection broke"))
                head, gap, body = bytes(key.data).partition(b"\r\n\r\n")
                if gap and len(body) >= int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
                    assert head.startswith(b"HTTP/1.1 200"), head
                    answers, length = answers + 1, len(key.data)
                    key.data.clear()
                    key.fileobj.sendall(request)
        took = time.perf_counter() - began
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return answers / took, length


def figures(program, home):
    """Measures requests a second, and milliseconds that the server adds to a picture."""
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"Figures of {version} with {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, which the client shares")
    if "development" in version:
        print("(a debug build: they only indicate; `--program` takes a release build)")
    server = Server(program, home, NAMES[:1])
    server.start()
    try:
        token = server.tokens()[NAMES[0]]
        person = Person(0, NAMES[0], token, server, threading.Event())
        for _ in range(100):
            person.leave_job()
        until("the end of the jobs", lambda: person.waiting() == 0, ANSWER_SECS)
        # Before anybody asks for progress: who does sees previews from then on, and each is a decoding more.
        print_added(server, person, "without previews")
        print(f"\n{'requests a second':30} {'bytes':>7} {'1 connection':>13} {'10 connections':>15}")
        routes = ["/healthz", "/sdapi/v1/options", "/sdapi/v1/samplers", "/sdapi/v1/sd-models", "/sdapi/v1/progress", "/sdcpp/v1/jobs"]
        for path in routes:
            (one, length), (ten, _) = rate(server, token, path, 1, 3), rate(server, token, path, 10, 3)
            print(f"{path + (' (100 jobs)' if path.endswith('jobs') else ''):30} {length:7} {one:13.0f} {ten:15.0f}")
        print_added(server, person, "with the previews of a client that asks for progress")
    finally:
        server.stop()


def processor_ms(pid):
    """Processor time that a process has had."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def print_added(server, person, how, rounds=4, pictures=15):
    """The same pictures by the server and by the command line, both with the model in memory, in turns so that both have the same load."""
    served, own, processor = [], [], [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        prompts = pathlib.Path(folder, "prompts.txt")
        prompts.write_text("a lake\n" * (pictures + 1))
        command = [server.program, "generate", "--prompts", prompts, "-W", str(SIDE), "-H", str(SIDE), "--steps", "2", "-s", "1"]
        command += ["--threads", "1", "-o", folder, "--json"]
        for _ in range(rounds):
            person.txt2img()
            spent = processor_ms(server.process.pid)
            for _ in range(pictures):
                began = time.perf_counter()
                body = {"prompt": "a lake", "width": SIDE, "height": SIDE, "steps": 2, "seed": next(person.seeds)}
                person.expect(200, person.http.ask("POST", "/sdapi/v1/txt2img", body))
                served.append(1000 * (time.perf_counter() - began))
            processor[0] += processor_ms(server.process.pid) - spent
            with tempfile.TemporaryDirectory() as other:
                line = subprocess.Popen(command, env={**server.environment, "ATELIER_HOME": other}, stdout=subprocess.PIPE, text=True)
                # The first one loads the model.
                ends = [(time.perf_counter(), processor_ms(line.pid)) for told in line.stdout if json.loads(told)["event"] == "end"]
                assert line.wait() == 0 and len(ends) == pictures + 1
            own += [1000 * (after - before) for (before, _), (after, _) in itertools.pairwise(ends)]
            processor[1] += ends[-1][1] - ends[0][1]
    print(f"\n{'milliseconds a picture':30} {'median':>7} {'least':>7} {'processor':>10}   {how}")
    rows = [(statistics.median(times), min(times), spent / (rounds * pictures)) for times, spent in zip((served, own), processor)]
    for what, row in [("server, as its client sees it", rows[0]), ("command line, from end to end", rows[1])]:
        print(f"{what:30} {row[0]:7.1f} {row[1]:7.1f} {row[2]:10.1f}")
    added = [of_server - of_line for of_server, of_line in zip(*rows)]
    is_met = "met" if added[0] <= GOAL_MS else "NOT met"
    print(f"{'added by the server':30} {added[0]:7.1f} {added[1]:7.1f} {added[2]:10.1f}   the goal of {GOAL_MS} at most is {is_met}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("program")
    options.add_argument("--minutes", type=float, default=10, help="length; 0 leaves it out [default: 10]")
    options.add_argument("--figures", action="store_true", help="measure requests a second and what the server adds to a picture")
    options = options.parse_args()
    program = shutil.which(options.program) or options.program
    is_well = True
    if options.minutes > 0:
        with tempfile.TemporaryDirectory() as home:
            is_well = soak(program, options.minutes, home)
    if options.figures:
        print()
        with tempfile.TemporaryDirectory() as home:
            figures(program, home)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
