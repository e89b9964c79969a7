//! The real program in a real window, used from outside as a person uses it.
//!
//! With the environment variable `ATELIER_SHOTS` naming a folder, what the screen showed is kept there as PNG.

#![cfg(target_os = "linux")]

#[path = "support/desktop.rs"]
mod desktop;
#[path = "support/screen.rs"]
mod screen;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use desktop::Desktop;
use image::RgbImage;
use testkit::tiny;

/// A usual laptop's screen.
const SCREEN: (u32, u32) = (1440, 900);
/// Longest time for the program to answer on a busy machine.
const LONG: Duration = Duration::from_mins(2);

/// Opens the window of somebody who has no built-in model.
fn open(home: &Path) -> Result<Desktop> {
    open_with(home, &home.join("none"))
}

fn open_with(home: &Path, builtin: &Path) -> Result<Desktop> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("the folder for temporary files has a name in Unicode");
    let (home, builtin) = (text(home)?, text(builtin)?);
    let env = [("ATELIER_HOME", home.as_str()), ("ATELIER_BUILTIN", builtin.as_str())];
    Desktop::start(Path::new(env!("CARGO_BIN_EXE_atelier")), &[], &env, SCREEN)
}

/// Leaves settings as a person leaves them who has chosen the model's files and a small size.
fn write_settings(home: &Path, files: &tiny::TinyFiles) -> Result<()> {
    let settings = serde_json::json!({
        "version": 1,
        "theme": "dark",
        "recipe": {
            "files": { "diffusion": files.diffusion, "llm": files.llm, "taesd": files.taesd },
            "width": 64, "height": 64, "steps": 4, "guidance": 1.0, "seed": 42,
        },
    });
    fs::create_dir_all(home)?;
    Ok(fs::write(home.join("settings.json"), settings.to_string())?)
}

fn pictures(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("Pictures/Atelier")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "png")).collect()
}

fn keep(desktop: &mut Desktop, name: &str) -> Result<RgbImage> {
    match std::env::var_os("ATELIER_SHOTS") {
        Some(folder) => desktop.screenshot(&Path::new(&folder).join(name)),
        None => desktop.shot(),
    }
}

#[test]
fn the_window_opens_with_its_controls_and_keeps_what_was_typed_when_it_is_closed() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut desktop = open(home.path())?;
    for name in ["Prompt", "Negative prompt", "Generate"] {
        desktop.wait_for(name, LONG)?;
    }
    assert!(!desktop.wait_for("Generate", LONG)?.enabled, "there is no model yet");
    desktop.fill("Prompt", "a red sunset over the sea")?;
    let colours = screen::colours(&keep(&mut desktop, "empty.png")?, desktop.window_area()?);
    assert!(colours > 8, "the window shows {colours} colours");
    desktop.close()?;
    let status = desktop.wait_for_end(LONG)?;
    assert!(status.success(), "{status}: {}", desktop.output());
    let settings = fs::read_to_string(home.path().join("settings.json"))?;
    assert!(settings.contains("a red sunset over the sea"), "the prompt was not kept: {settings}");
    Ok(())
}

#[test]
fn a_typed_prompt_and_a_pressed_button_become_a_picture_on_the_canvas_and_on_the_disk() -> Result<()> {
    let home = tempfile::tempdir()?;
    let files = tiny::zimage(home.path(), &tiny::Options::default())?;
    write_settings(home.path(), &files)?;
    let mut desktop = open(home.path())?;
    desktop.fill("Prompt", "a red sunset over the sea")?;
    let before = keep(&mut desktop, "before.png")?;
    desktop.click("Generate")?;

    let saved = desktop.wait("a picture in the folder", LONG, |_| Ok(pictures(home.path()).pop()))?;
    assert_eq!(image::image_dimensions(&saved)?, (64, 64));
    // The line above the canvas tells a finished picture from a forming one.
    desktop.wait("the finished picture", LONG, |desktop| desktop.find_by(|it| it.name.contains("seed 42")))?;
    let canvas = desktop.wait("the picture's place", LONG, |desktop| desktop.find_by(|it| it.name == "Picture, 64 by 64 pixels"))?;
    // Drawn pixel by pixel or enlarged, the picture covers the middle of its place.
    let middle = canvas.area.context("the picture has no place on the screen")?.middle(48);
    desktop.wait("the picture on the canvas", LONG, |desktop| {
        let now = desktop.shot()?;
        let drawn = screen::changed(&before, &now, middle) > 0.5 && screen::colours(&now, middle) > 8;
        Ok(drawn.then_some(()))
    })?;
    keep(&mut desktop, "picture.png")?;

    desktop.click("Generate")?;
    desktop.wait("a second picture beside the first", LONG, |_| Ok((pictures(home.path()).len() == 2).then_some(())))?;
    desktop.close()?;
    let status = desktop.wait_for_end(LONG)?;
    assert!(status.success(), "{status}: {}", desktop.output());
    Ok(())
}

#[test]
fn at_the_first_start_a_prompt_is_all_it_takes() -> Result<()> {
    let (home, model) = (tempfile::tempdir()?, tempfile::tempdir()?);
    tiny::builtin(model.path(), &tiny::Options::default())?;
    let mut desktop = open_with(home.path(), model.path())?;
    desktop.wait_for(tiny::BUILTIN_NAME, LONG)?;
    assert!(desktop.wait_for("Generate", LONG)?.enabled, "nothing is missing");
    keep(&mut desktop, "first-start.png")?;
    desktop.fill("Prompt", "a red sunset over the sea")?;
    desktop.click("Generate")?;
    let saved = desktop.wait("a picture in the folder", LONG, |_| Ok(pictures(home.path()).pop()))?;
    assert_eq!(image::image_dimensions(&saved)?, (64, 64));
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    let settings = fs::read_to_string(home.path().join("settings.json"))?;
    assert!(settings.contains(r#""model": "built-in""#) && !settings.contains("tiny-zimage"), "{settings}");
    Ok(())
}

#[test]
fn cancel_stops_a_long_picture_and_the_window_stays_useful() -> Result<()> {
    let home = tempfile::tempdir()?;
    let files = tiny::zimage(home.path(), &tiny::Options::default())?;
    write_settings(home.path(), &files)?;
    let settings = home.path().join("settings.json");
    fs::write(&settings, fs::read_to_string(&settings)?.replace("\"steps\":4", "\"steps\":1000"))?;
    let mut desktop = open(home.path())?;
    desktop.fill("Prompt", "a city at night")?;
    desktop.click("Generate")?;
    desktop.click("Cancel")?;
    desktop.wait("the end of the picture", LONG, |desktop| Ok(desktop.find("Cancel")?.is_none_or(|it| !it.enabled).then_some(())))?;
    assert!(pictures(home.path()).is_empty(), "a cancelled picture was kept");
    assert!(desktop.wait_for("Generate", LONG)?.enabled);
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    Ok(())
}
