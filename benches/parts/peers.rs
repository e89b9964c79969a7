//! The same engine used as others use it: a process for each picture, and one bare context that
//! stays.

use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use atelier_core::recipe::FileRole;

use super::{Model, Outcome, peak_bytes};

/// A whole process for one picture, written to disk: seconds, and the most memory that it had.
pub(super) fn process(model: &Model, folder: &Path) -> Outcome<(f64, Option<u64>)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command
        .arg("generate")
        .args(["-p", "a lake", "--json", "-s", "1", "--backend", "cpu"])
        .args(["--cfg-scale", &model.recipe.guidance.to_string()]);
    for (role, path) in model.recipe.files.iter() {
        let flag = match role {
            FileRole::Diffusion => "--diffusion-model".to_owned(),
            other => format!("--{}", other.key()),
        };
        command.arg(flag).arg(path);
    }
    let (width, height) = (model.recipe.width.to_string(), model.recipe.height.to_string());
    command.args(["-W", &width, "-H", &height, "--steps", &model.recipe.steps.to_string(), "-t", &model.threads().to_string()]);
    command.arg("-o").arg(folder.join("process.png"));
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (mut text, mut most) = (String::new(), None);
    let mut lines = BufReader::new(child.stdout.take().ok_or("no pipe")?);
    // Peak memory can only be read while the process lives: at each line that it writes.
    while lines.read_line(&mut text)? > 0 {
        most = peak_bytes(&child.id().to_string()).or(most);
    }
    if !child.wait()?.success() {
        return Err(text.into());
    }
    Ok((begun.elapsed().as_secs_f64(), most))
}

/// The bare engine in a process of its own, which makes a picture each time a line is read from it.
pub(super) struct Bare {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Bare {
    pub(super) fn start(model: &Model) -> Outcome<Self> {
        let program = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("examples/bare")).ok_or("no build folder")?;
        let mut command = Command::new(&program);
        for (role, path) in model.recipe.files.iter() {
            command.arg(format!("{}={}", role.key(), path.display()));
        }
        let Model { recipe, .. } = model;
        command.args([format!("size={}", recipe.width), format!("steps={}", recipe.steps), format!("threads={}", model.threads())]);
        command.args([format!("cfg={}", recipe.guidance), "pictures=1000".to_owned()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().ok_or("no pipe")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines() })
    }

    /// Lets it make one picture and gives the seconds from asking to the answer: a thread that
    /// sleeps has to wake up, as with ours.
    pub(super) fn picture(&mut self) -> Outcome<f64> {
        let begun = Instant::now();
        self.child.stdin.as_mut().ok_or("no pipe")?.write_all(b"\n")?;
        for line in &mut self.lines {
            if line? == "made" {
                return Ok(begun.elapsed().as_secs_f64());
            }
        }
        Err("the bare engine stopped".into())
    }

    pub(super) fn peak_bytes(&self) -> Option<u64> {
        peak_bytes(&self.child.id().to_string())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
