//! What the real window takes of the processor: in each view while nothing happens, and while the
//! built-in model computes. On a screen that nobody sees, drawn by the processor.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Outcome;
use screen::Screen;

#[path = "../../tests/support/screen.rs"]
mod screen;

const PROGRAM: &str = env!("CARGO_BIN_EXE_atelier");
/// A usual laptop's screen, in pixels.
const SCREEN: (u32, u32) = (1440, 900);
/// Until the caret rests, and what a view asked for is there.
const SETTLE: Duration = Duration::from_secs(20);
/// Longest time until the window is there.
const START: Duration = Duration::from_mins(1);
/// Views, with the keys that show them.
const VIEWS: [(&str, &str); 4] =
    [("Create, the prompt focused", "ctrl+1"), ("Devices", "ctrl+2"), ("Models", "ctrl+3"), ("Gallery", "ctrl+4")];

/// Measures each for so many seconds, and prints a table.
pub(super) fn measure(secs: u64) -> Outcome<()> {
    let home = tempfile::tempdir()?;
    let recipe = json!({ "prompt": "a lake", "width": 512, "height": 512, "steps": 500, "guidance": 1.0, "flow_shift": 3.0 });
    fs::write(home.path().join("settings.json"), json!({ "version": 1, "model": "built-in", "recipe": recipe }).to_string())?;
    // The window would measure the devices meanwhile.
    let measured = command(home.path()).args(["devices", "--measure"]).stdout(Stdio::null()).status()?;
    if !measured.success() {
        return Err(format!("the devices could not be measured: {measured}").into());
    }
    let screen = Screen::start(SCREEN.0, SCREEN.1)?;
    let begun = Instant::now();
    let program = command(home.path())
        .env("DISPLAY", &screen.display)
        .env("LIBGL_ALWAYS_SOFTWARE", "1")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut window = Window { program, screen };
    window.wait(begun)?;
    println!("| the window, {secs} s each | CPU, % of a core | of it drawing |\n|---|---|---|");
    let length = Duration::from_secs(secs);
    for (view, key) in VIEWS {
        window.press(key)?;
        window.point_at(SCREEN.0 - 4, SCREEN.1 - 4)?;
        thread::sleep(SETTLE);
        row(view, window.taken_within(length)?);
    }
    println!("| memory (PSS) | {:.0} MB | |", window.pss_bytes()? as f64 / 1e6);
    window.press("ctrl+1")?;
    window.press("ctrl+Return")?;
    thread::sleep(Duration::from_secs(5));
    let taken = window.taken_within(length)?;
    row("Create, generating 512 × 512", taken);
    let cores = thread::available_parallelism()?.get() as f64;
    println!("\nWhile generating, drawing takes {:.1} % of the processor's {cores} threads.", taken.drawing * 100.0 / cores);
    Ok(())
}

fn row(view: &str, taken: Taken) {
    println!("| {view} | {:.2} | {:.2} |", taken.all * 100.0, taken.drawing * 100.0);
}

/// The program in a home of its own, with the built-in model.
fn command(home: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/builtin-model");
    command.env("ATELIER_HOME", home).env("ATELIER_BUILTIN", model).env("LC_ALL", "C");
    command
}

/// What threads computed: seconds, or seconds a second.
#[derive(Clone, Copy, Default)]
struct Taken {
    all: f64,
    /// Of the window's own thread, and of those in which Mesa draws.
    drawing: f64,
}

/// The running program.
struct Window {
    program: Child,
    screen: Screen,
}

impl Window {
    /// Waits until the window is there, and gives it the keyboard.
    fn wait(&mut self, begun: Instant) -> Outcome<()> {
        let process = self.program.id().to_string();
        while begun.elapsed() < START {
            let output = self.xdotool().args(["search", "--onlyvisible", "--pid", &process]).output()?;
            if let Some(window) = String::from_utf8_lossy(&output.stdout).lines().next() {
                println!("The window was there after {:.0} ms.\n", begun.elapsed().as_secs_f64() * 1000.0);
                self.xdotool().args(["windowfocus", window]).status()?;
                return Ok(());
            }
            if let Some(status) = self.program.try_wait()? {
                return Err(format!("the program ended: {status}").into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err("the program opened no window".into())
    }

    fn press(&self, key: &str) -> Outcome<()> {
        self.xdotool().args(["key", key]).status()?;
        Ok(())
    }

    /// Moves the pointer to these pixels of the screen.
    fn point_at(&self, x: u32, y: u32) -> Outcome<()> {
        self.xdotool().args(["mousemove", &x.to_string(), &y.to_string()]).status()?;
        Ok(())
    }

    fn xdotool(&self) -> Command {
        let mut command = Command::new("xdotool");
        command.env("DISPLAY", &self.screen.display);
        command
    }

    /// What the program takes in this time, in seconds a second.
    fn taken_within(&self, length: Duration) -> Outcome<Taken> {
        let (before, begun) = (self.taken()?, Instant::now());
        thread::sleep(length);
        let (after, secs) = (self.taken()?, begun.elapsed().as_secs_f64());
        Ok(Taken { all: (after.all - before.all) / secs, drawing: (after.drawing - before.drawing) / secs })
    }

    /// Seconds that the program's threads have computed.
    fn taken(&self) -> Outcome<Taken> {
        let process = self.program.id().to_string();
        let mut taken = Taken::default();
        for thread in fs::read_dir(format!("/proc/{process}/task"))?.flatten() {
            let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let nanos: f64 = read("schedstat").split_ascii_whitespace().next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0.0);
            let name = read("comm");
            taken.all += nanos / 1e9;
            if thread.file_name() == *process || name.starts_with("llvmpipe") || name.contains(':') {
                taken.drawing += nanos / 1e9;
            }
        }
        Ok(taken)
    }

    /// The program's share of memory, in bytes.
    fn pss_bytes(&self) -> Outcome<u64> {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.program.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).ok_or("the system does not say")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
