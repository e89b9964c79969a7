//! The queue's panel and the card of a foreign picture in the real program's window, with pointer
//! and keyboard.

#![cfg(target_os = "linux")]

#[path = "support/desktop.rs"]
mod desktop;
#[path = "support/screen.rs"]
mod screen;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use atelier_core::recipe::Rgb8;
use atelier_media::{Metadata, write_picture};
use desktop::Desktop;
use serde_json::{Value, json};

/// Longest wait for the program, on a busy machine.
const LONG: Duration = Duration::from_mins(2);
const PROGRAM: &str = env!("CARGO_BIN_EXE_atelier");

/// Runs `atelier queue` with the person's folders in `home`, and returns its lines.
fn queue(home: &Path, args: &[&str]) -> Result<Vec<Value>> {
    let output = Command::new(PROGRAM).arg("queue").args(args).arg("--json").env("ATELIER_HOME", home).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// Prompt and state of each job, as the command line tells them.
fn jobs(home: &Path) -> Result<Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = queue(home, &["list"])?;
    Ok(lines.iter().filter(|line| line["event"] == "job").map(|line| (text(&line["prompt"]), text(&line["state"]))).collect())
}

fn open(home: &Path, args: &[&str]) -> Result<Desktop> {
    let window = json!({ "x": 0, "y": 0, "width": 1440, "height": 900, "maximized": false });
    fs::write(home.join("settings.json"), json!({ "version": 1, "theme": "dark", "window": window }).to_string())?;
    let text = |path: &Path| path.to_str().map(str::to_owned).context("the folder for temporary files has a name in Unicode");
    let (none, home) = (text(&home.join("none"))?, text(home)?);
    Desktop::start(Path::new(PROGRAM), args, &[("ATELIER_HOME", home.as_str()), ("ATELIER_BUILTIN", none.as_str())], (1440, 900))
}

/// Waits until the rows show these prompts, from the top.
fn wait_for_rows(desktop: &mut Desktop, prompts: &[&str]) -> Result<()> {
    for (at, prompt) in prompts.iter().enumerate() {
        desktop.wait_for(&format!("Job {}: {prompt}", at + 1), LONG)?;
    }
    Ok(())
}

#[test]
fn waiting_jobs_are_dragged_copied_and_cancelled_and_the_command_line_sees_it() -> Result<()> {
    let home = tempfile::tempdir()?;
    queue(home.path(), &["pause"])?;
    let model = home.path().join("m.gguf");
    fs::write(&model, "")?;
    let model = model.to_str().context("the folder for temporary files has a name in Unicode")?;
    for prompt in ["a lake", "a castle", "a forest"] {
        queue(home.path(), &["add", "-m", model, "-p", prompt])?;
    }
    let mut desktop = open(home.path(), &[])?;
    desktop.press("ctrl+j")?;
    wait_for_rows(&mut desktop, &["a lake", "a castle", "a forest"])?;

    let place = |desktop: &mut Desktop, name: &str| desktop.resting_place(name, LONG, |desktop| desktop.find(name));
    let (from, to) = (place(&mut desktop, "Job 3: a forest")?, place(&mut desktop, "Job 1: a lake")?);
    desktop.drag(from.centre(), to.centre())?;
    wait_for_rows(&mut desktop, &["a forest", "a lake", "a castle"])?;

    desktop.click("Job 2: a lake")?;
    desktop.press("ctrl+d")?;
    wait_for_rows(&mut desktop, &["a forest", "a lake", "a lake", "a castle"])?;
    desktop.click("Job 4: a castle")?;
    desktop.press("Delete")?;
    desktop.wait_for("Try again \u{201c}a castle\u{201d}", LONG)?;
    desktop.close()?;
    let status = desktop.wait_for_end(LONG)?;
    ensure!(status.success(), "{status}: {}", desktop.output());

    let of =
        |state: &str| -> Result<Vec<String>> { Ok(jobs(home.path())?.into_iter().filter(|job| job.1 == state).map(|job| job.0).collect()) };
    assert_eq!((of("waiting")?, of("cancelled")?), (vec!["a forest".into(), "a lake".into(), "a lake".into()], vec!["a castle".into()]));
    Ok(())
}

#[test]
fn a_picture_of_another_program_shows_its_settings_and_gives_them_to_create() -> Result<()> {
    let home = tempfile::tempdir()?;
    let picture = home.path().join("theirs.png");
    let text = "a red fox in snow\nNegative prompt: blur\nSteps: 17, Sampler: Euler a, CFG scale: 6.5, Seed: 4711, Size: 96x64, Model: dreamer, \
                Hires upscaler: Latent, Version: v1.10.1";
    let metadata = Metadata { parameters: Some(text.into()), ..Metadata::default() };
    write_picture(&picture, &Rgb8::new(96, 64, [200, 90, 30].repeat(96 * 64)).context("as many bytes as pixels")?, &metadata)?;
    let path = picture.to_str().context("the folder for temporary files has a name in Unicode")?.to_owned();
    let mut desktop = open(home.path(), &[&path])?;
    desktop.wait_for("How should this picture be used?", LONG)?;
    desktop.wait_for("4711", LONG)?;
    desktop.wait("what is not understood", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Not understood (")))?;
    // The first button has the keyboard.
    desktop.press("Return")?;
    desktop.wait("the settings", LONG, |desktop| desktop.find_by(|it| it.value == "a red fox in snow"))?;
    desktop.close()?;
    let status = desktop.wait_for_end(LONG)?;
    ensure!(status.success(), "{status}: {}", desktop.output());
    let settings: Value = serde_json::from_slice(&fs::read(home.path().join("settings.json"))?)?;
    let recipe = &settings["recipe"];
    assert_eq!((&recipe["steps"], &recipe["seed"], &recipe["width"]), (&json!(17), &json!(4711), &json!(96)), "{recipe}");
    Ok(())
}
