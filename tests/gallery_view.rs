//! The Gallery view of the real program in a real window, with pictures of an earlier session and
//! of another program's folder.
//!
//! With the environment variable `ATELIER_SHOTS` naming a folder, what the screen showed is kept
//! there as PNG.

#![cfg(target_os = "linux")]

#[path = "support/desktop.rs"]
mod desktop;
#[path = "support/screen.rs"]
mod screen;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_studio::results::store_picture;
use desktop::Desktop;
use serde_json::json;

/// Longest wait for the program, on a busy machine.
const LONG: Duration = Duration::from_mins(2);
const PROMPTS: [&str; 3] = ["a lake at dawn", "a red fox in snow", "the lake by night"];

/// Keeps a picture of each prompt in the person's folder, in a colour of its own.
fn keep_pictures(folder: &Path) -> Result<()> {
    for (index, prompt) in PROMPTS.into_iter().enumerate() {
        let recipe = Recipe { prompt: prompt.into(), width: 96, height: 64, steps: 4 + index as u32, ..Recipe::default() };
        let info = PictureInfo { index: 0, seed: Some(Seed(100 + index as u64)), cpu_math: None, merged_loras: false };
        let colour = [[220, 40, 30], [30, 200, 60], [40, 60, 230]][index];
        let pixels = Rgb8::new(96, 64, colour.repeat(96 * 64)).context("as many bytes as pixels")?;
        store_picture(folder, &recipe, info, &[], &pixels)?;
    }
    Ok(())
}

fn open(home: &Path) -> Result<Desktop> {
    let window = json!({ "x": 0, "y": 0, "width": 1440, "height": 900, "maximized": false });
    fs::write(home.join("settings.json"), json!({ "version": 1, "theme": "dark", "window": window }).to_string())?;
    let text = |path: &Path| path.to_str().map(str::to_owned).context("the folder for temporary files has a name in Unicode");
    let (none, home) = (text(&home.join("none"))?, text(home)?);
    let env = [("ATELIER_HOME", home.as_str()), ("ATELIER_BUILTIN", none.as_str())];
    let mut desktop = Desktop::start(Path::new(env!("CARGO_BIN_EXE_atelier")), &[], &env, (1440, 900))?;
    desktop.press("ctrl+4")?;
    desktop.wait_for("Search pictures", LONG)?;
    Ok(desktop)
}

/// Waits until a control's name begins so.
fn wait_for(desktop: &mut Desktop, start: &str) -> Result<()> {
    let found = desktop.wait(start, LONG, |desktop| desktop.find_by(|it| it.name.starts_with(start)));
    found.map(drop)
}

fn shoot(desktop: &mut Desktop, name: &str) -> Result<()> {
    if let Some(folder) = std::env::var_os("ATELIER_SHOTS") {
        desktop.screenshot(&Path::new(&folder).join(name))?;
    }
    Ok(())
}

/// Names, bytes and times of everything in a folder.
fn contents(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>, SystemTime)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        files.push((path.clone(), fs::read(&path)?, fs::metadata(&path)?.modified()?));
    }
    files.sort();
    Ok(files)
}

#[test]
fn pictures_of_yesterday_are_found_rated_compared_and_used_with_the_keyboard_alone() -> Result<()> {
    let home = tempfile::tempdir()?;
    keep_pictures(&home.path().join("Pictures/Atelier"))?;
    let mut desktop = open(home.path())?;
    wait_for(&mut desktop, "Picture 3, ")?;
    shoot(&mut desktop, "gallery-grid.png")?;
    desktop.press("slash")?;
    desktop.type_text("lake")?;
    desktop.wait("two of three", LONG, |desktop| desktop.find_by(|it| it.name.contains("2 of 3 pictures")))?;
    // Enter leaves the search for the first picture found.
    desktop.press("Return")?;
    desktop.press("5")?;
    desktop.wait("the rating", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture 1, ") && it.name.contains("5 stars")))?;
    desktop.press("ctrl+a")?;
    desktop.press("c")?;
    desktop.wait_for("Side by side", LONG)?;
    desktop.wait("the table", LONG, |desktop| desktop.find_by(|it| it.name == "Setting"))?;
    shoot(&mut desktop, "gallery-compare.png")?;
    desktop.press("Escape")?;
    desktop.press("Home")?;
    desktop.press("space")?;
    desktop.wait("the large look", LONG, |desktop| desktop.find_by(|it| it.name == "Picture, 96 by 64 pixels"))?;
    shoot(&mut desktop, "gallery-look.png")?;
    desktop.press("Return")?;
    desktop.wait_for("Generate", LONG)?;
    desktop.wait("the seed", LONG, |desktop| desktop.find_by(|it| it.name.contains("seed 102")))?;
    desktop.close()?;
    let status = desktop.wait_for_end(LONG)?;
    assert!(status.success(), "{status}: {}", desktop.output());
    let settings = fs::read_to_string(home.path().join("settings.json"))?;
    assert!(settings.contains("the lake by night"), "the settings were not taken over: {settings}");
    Ok(())
}

#[test]
fn a_folder_of_another_program_is_shown_and_stays_as_it_is_byte_for_byte_and_time_for_time() -> Result<()> {
    let (home, strangers) = (tempfile::tempdir()?, tempfile::tempdir()?);
    keep_pictures(strangers.path())?;
    fs::write(strangers.path().join("broken.png"), b"\x89PNG\r\n\x1a\n and no more")?;
    let before = contents(strangers.path())?;
    let database = home.path().join("data/gallery.sqlite");
    let (mut index, _) = atelier_gallery::Database::open(&database)?;
    index.add_folder(strangers.path(), atelier_gallery::FolderKind::Added)?;
    drop(index);
    let mut desktop = open(home.path())?;
    wait_for(&mut desktop, "Picture 4, ")?;
    desktop.wait("the damaged one", LONG, |desktop| desktop.find_by(|it| it.name.contains("broken.png") && it.name.contains("damaged")))?;
    desktop.press("Home")?;
    desktop.press("3")?;
    desktop.press("p")?;
    desktop.wait("the marks", LONG, |desktop| desktop.find_by(|it| it.name.contains("3 stars, picked")))?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success());
    assert_eq!(contents(strangers.path())?, before);
    // The index is lost, the marks are not.
    for suffix in ["", "-wal", "-shm"] {
        let mut name = database.clone().into_os_string();
        name.push(suffix);
        if Path::new(&name).exists() {
            fs::remove_file(name)?;
        }
    }
    let (mut index, _) = atelier_gallery::Database::open(&database)?;
    index.add_folder(strangers.path(), atelier_gallery::FolderKind::Added)?;
    drop(index);
    let mut desktop = open(home.path())?;
    desktop.wait("the marks", LONG, |desktop| desktop.find_by(|it| it.name.contains("3 stars, picked")))?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success());
    Ok(())
}
