//! The real program in a real window, used from outside as a person uses it.
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
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_studio::results::store_picture;
use desktop::Desktop;
use image::RgbImage;
use screen::Area;
use testkit::tiny;

/// A usual laptop's screen.
const SCREEN: (u32, u32) = (1440, 900);
const PROGRAM: &str = env!("CARGO_BIN_EXE_atelier");
/// Longest time for the program to answer on a busy machine.
const LONG: Duration = Duration::from_mins(2);

/// Opens the window of somebody who has no built-in model.
fn open(home: &Path) -> Result<Desktop> {
    open_with(home, &home.join("none"))
}

fn open_with(home: &Path, builtin: &Path) -> Result<Desktop> {
    open_in("C", home, builtin)
}

/// Opens the window on a system with this locale.
fn open_in(locale: &str, home: &Path, builtin: &Path) -> Result<Desktop> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("the folder for temporary files has a name in Unicode");
    let (home, builtin) = (text(home)?, text(builtin)?);
    let env = [("ATELIER_HOME", home.as_str()), ("ATELIER_BUILTIN", builtin.as_str()), ("LC_ALL", locale)];
    Desktop::start(Path::new(PROGRAM), &[], &env, SCREEN)
}

/// Starts the program a second time, on the same screen, and waits until it has ended.
fn start_again(desktop: &Desktop, home: &Path, files: &[&Path]) -> Result<std::process::ExitStatus> {
    let mut command = Command::new(PROGRAM);
    command.args(files).env("ATELIER_HOME", home).env("ATELIER_BUILTIN", home.join("none")).env("DISPLAY", desktop.display());
    Ok(command.env_remove("EGUI_INSPECTION").env_remove("WAYLAND_DISPLAY").status()?)
}

/// Leaves settings with this place of the window.
fn write_place(home: &Path, place: &serde_json::Value) -> Result<()> {
    fs::create_dir_all(home)?;
    Ok(fs::write(home.join("settings.json"), serde_json::json!({"version": 1, "theme": "dark", "window": place}).to_string())?)
}

fn read_settings(home: &Path) -> Result<serde_json::Value> {
    Ok(serde_json::from_slice(&fs::read(home.join("settings.json"))?)?)
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
    // Drawn pixel by pixel or upscaled, the picture covers the middle of its place.
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

#[test]
fn the_window_opens_where_it_was_as_large_as_it_was_and_remembers_where_it_went() -> Result<()> {
    let home = tempfile::tempdir()?;
    write_place(home.path(), &serde_json::json!({"x": 150.0, "y": 90.0, "width": 1000.0, "height": 700.0, "maximized": false}))?;
    let mut desktop = open(home.path())?;
    desktop.wait_for("Generate", LONG)?;
    let area = |x, y, width, height| Area { x, y, width, height };
    assert_eq!(desktop.window_area()?, area(150, 90, 1000, 700));
    desktop.place_window(area(60, 40, 900, 640))?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    let window = read_settings(home.path())?["window"].clone();
    let number = |name: &str| window[name].as_f64().unwrap_or_default() as u32;
    assert_eq!(area(number("x"), number("y"), number("width"), number("height")), area(60, 40, 900, 640), "{window}");
    Ok(())
}

#[test]
fn a_window_whose_monitor_is_gone_opens_on_the_one_that_is_there() -> Result<()> {
    let home = tempfile::tempdir()?;
    write_place(home.path(), &serde_json::json!({"x": 2200.0, "y": -700.0, "width": 1700.0, "height": 820.0, "maximized": false}))?;
    let mut desktop = open(home.path())?;
    desktop.wait_for("Generate", LONG)?;
    let area = desktop.window_area()?;
    assert!(area.x + area.width <= SCREEN.0 && area.y + area.height <= SCREEN.1, "{area:?}");
    Ok(())
}

#[test]
fn text_and_controls_grow_by_a_key_and_stay_so_and_the_system_s_scale_counts_too() -> Result<()> {
    let home = tempfile::tempdir()?;
    write_place(home.path(), &serde_json::json!({"x": 0.0, "y": 0.0, "width": 1200.0, "height": 800.0, "maximized": false}))?;
    let mut desktop = open(home.path())?;
    let height = |desktop: &mut Desktop| -> Result<u32> { Ok(desktop.wait_for("Generate", LONG)?.area.context("it is drawn")?.height) };
    let usual = height(&mut desktop)?;
    desktop.click("Prompt")?;
    // Two presses within one frame are one step.
    for _ in 0..5 {
        let before = height(&mut desktop)?;
        desktop.press("ctrl+plus")?;
        desktop.wait("larger controls", LONG, |desktop| Ok((height(desktop)? > before).then_some(())))?;
    }
    assert!(height(&mut desktop)? * 10 >= usual * 14);
    keep(&mut desktop, "zoomed.png")?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    let settings = read_settings(home.path())?;
    assert_eq!((settings["zoom"].as_f64().unwrap_or(0.0) * 10.0).round(), 15.0, "{settings}");
    let width = settings["window"]["width"].as_f64().unwrap_or(0.0);
    assert!((width - 1200.0).abs() < 1.0, "the window itself stays as large: {width}");

    let mut desktop = open(home.path())?;
    assert!(height(&mut desktop)? * 10 >= usual * 14, "it is remembered");
    assert_eq!(desktop.window_area()?.width, 1200);
    desktop.click("Prompt")?;
    desktop.press("ctrl+0")?;
    desktop.wait("the default size", LONG, |desktop| Ok((height(desktop)? == usual).then_some(())))?;
    drop(desktop);

    let text = home.path().to_str().context("a name in Unicode")?;
    let env = [("ATELIER_HOME", text), ("ATELIER_BUILTIN", "/none"), ("WINIT_X11_SCALE_FACTOR", "1.5")];
    fs::remove_file(home.path().join("settings.json"))?;
    let mut scaled = Desktop::start(Path::new(PROGRAM), &[], &env, SCREEN)?;
    assert!(height(&mut scaled)? * 10 >= usual * 14, "as the system has it");
    Ok(())
}

#[test]
fn the_window_says_what_it_is_to_the_task_bar() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut desktop = open(home.path())?;
    desktop.wait_for("Generate", LONG)?;
    let class = String::from_utf8(desktop.property("WM_CLASS")?)?;
    assert!(class.split('\0').any(|it| it == "atelier"), "the desktop entry's name: {class:?}");
    let icon = desktop.property("_NET_WM_ICON")?;
    let number = |at: usize| icon.get(at..at + 4).map(|it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]));
    assert_eq!((number(0), number(4)), (Some(256), Some(256)), "the icon's sides");
    assert_eq!(icon.len(), 8 + 256 * 256 * 4);
    Ok(())
}

#[test]
fn a_second_start_hands_its_files_to_the_open_window_and_ends() -> Result<()> {
    let (home, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut desktop = open(home.path())?;
    desktop.wait_for("Generate", LONG)?;
    let recipe = Recipe { prompt: "a red barn".into(), width: 64, height: 64, steps: 9, ..Recipe::default() };
    let pixels = Rgb8::new(64, 64, vec![200; 64 * 64 * 3]).context("a picture")?;
    let picture = store_picture(
        other.path(),
        &recipe,
        PictureInfo { index: 0, seed: Some(Seed(99)), cpu_math: None, merged_loras: false },
        &[],
        &pixels,
    )?;
    assert!(start_again(&desktop, home.path(), &[&picture])?.success());
    desktop.wait("the picture's prompt", LONG, |desktop| Ok(desktop.find("Prompt")?.filter(|it| it.value == "a red barn")))?;
    desktop.wait("the picture", LONG, |desktop| desktop.find_by(|it| it.name.contains("seed 99")))?;
    keep(&mut desktop, "handed-over.png")?;
    // Without files it only comes forward; a job of the command line is no window.
    assert!(start_again(&desktop, home.path(), &[])?.success());
    let devices = Command::new(PROGRAM).arg("devices").env("ATELIER_HOME", home.path()).output()?;
    assert!(devices.status.success() && !devices.stdout.is_empty());

    // After a crash the next start is the first, and says that there was one.
    desktop.kill()?;
    let text = home.path().to_str().context("a name in Unicode")?;
    let env = [("ATELIER_HOME", text), ("ATELIER_BUILTIN", "/none")];
    let mut again = Desktop::start(Path::new(PROGRAM), &[picture.to_str().context("a name in Unicode")?], &env, SCREEN)?;
    again.wait("the picture's prompt", LONG, |desktop| Ok(desktop.find("Prompt")?.filter(|it| it.value == "a red barn")))?;
    again.wait_for("Show the file", LONG)?;
    keep(&mut again, "crashed.png")?;
    let reports: Vec<_> = fs::read_dir(home.path().join("data/crash-reports"))?.flatten().collect();
    let report = fs::read_to_string(reports.first().context("a report")?.path())?;
    assert!(report.contains("CPU: CPU") && report.contains("Atelier") && !report.contains("a red barn"), "{report}");
    again.close()?;
    assert!(again.wait_for_end(LONG)?.success(), "{}", again.output());
    Ok(())
}

#[test]
fn a_window_that_the_system_ends_keeps_everything_and_was_no_crash() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut desktop = open(home.path())?;
    desktop.fill("Prompt", "a city at night")?;
    desktop.terminate()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    assert_eq!(read_settings(home.path())?["recipe"]["prompt"], "a city at night");
    let log = fs::read_to_string(home.path().join("data/logs/atelier.log"))?;
    assert!(log.contains("Atelier 0.") && !log.contains("a city at night"), "{log}");
    let mut again = open(home.path())?;
    again.wait_for("Generate", LONG)?;
    assert!(again.find("Show the file")?.is_none());
    Ok(())
}

/// Sends a signal to the window's process.
fn signal(desktop: &Desktop, name: &str) -> Result<()> {
    let sent = Command::new("kill").args([name, &desktop.process_id().to_string()]).status()?;
    anyhow::ensure!(sent.success(), "{name} was not sent");
    Ok(())
}

#[test]
fn a_window_that_hangs_gets_no_twin_on_its_files() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut desktop = open(home.path())?;
    desktop.fill("Prompt", "a city at night")?;
    desktop.wait("the settings", LONG, |_| Ok(read_settings(home.path()).is_ok().then_some(())))?;
    signal(&desktop, "-STOP")?;
    let before = fs::read(home.path().join("settings.json"))?;
    let mut second = open(home.path())?;
    second.wait_for("Atelier is already open but not responding.", LONG)?;
    let mut last = None;
    second.wait("a question that has faded in", LONG, |desktop| {
        let shot = Some(desktop.shot()?);
        let is_resting = last == shot;
        last = shot;
        Ok(is_resting.then_some(()))
    })?;
    keep(&mut second, "beside.png")?;
    second.click("Use a second window")?;
    second.fill("Prompt", "a city at noon")?;
    second.close()?;
    assert!(second.wait_for_end(LONG)?.success(), "{}", second.output());
    assert_eq!(fs::read(home.path().join("settings.json"))?, before, "they are the first window's");
    signal(&desktop, "-CONT")?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    assert_eq!(read_settings(home.path())?["recipe"]["prompt"], "a city at night");
    Ok(())
}

#[test]
fn a_file_that_is_opened_while_the_window_ends_opens_in_the_next_one() -> Result<()> {
    let (home, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let recipe = Recipe { prompt: "a red barn".into(), width: 64, height: 64, steps: 9, ..Recipe::default() };
    let pixels = Rgb8::new(64, 64, vec![200; 64 * 64 * 3]).context("a picture")?;
    let picture = store_picture(
        other.path(),
        &recipe,
        PictureInfo { index: 0, seed: Some(Seed(99)), cpu_math: None, merged_loras: false },
        &[],
        &pixels,
    )?;
    let mut desktop = open(home.path())?;
    desktop.wait_for("Generate", LONG)?;
    desktop.terminate()?;
    let text = home.path().to_str().context("a name in Unicode")?;
    let env = [("ATELIER_HOME", text), ("ATELIER_BUILTIN", "/none")];
    let mut again = Desktop::start(Path::new(PROGRAM), &[picture.to_str().context("a name in Unicode")?], &env, SCREEN)?;
    again.wait("the picture's prompt", LONG, |desktop| Ok(desktop.find("Prompt")?.filter(|it| it.value == "a red barn")))?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    again.close()?;
    assert!(again.wait_for_end(LONG)?.success(), "{}", again.output());
    Ok(())
}

#[test]
fn settings_of_a_newer_atelier_stay_as_they_are_and_the_window_says_so() -> Result<()> {
    let home = tempfile::tempdir()?;
    let path = home.path().join("settings.json");
    let newer = r#"{"version": 2, "theme": {"of": "another form"}}"#;
    fs::write(&path, newer)?;
    let mut desktop = open(home.path())?;
    desktop.wait("the words", LONG, |desktop| desktop.find_by(|it| it.name.contains("written by a newer Atelier")))?;
    keep(&mut desktop, "newer-settings.png")?;
    desktop.fill("Prompt", "a city at night")?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    assert_eq!(fs::read_to_string(&path)?, newer);
    let names: Vec<_> = fs::read_dir(home.path())?.flatten().map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("bad")), "{names:?}");
    let doctor = Command::new(PROGRAM).arg("doctor").env("ATELIER_HOME", home.path()).output()?;
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.status.code() == Some(1) && said.contains("newer Atelier"), "{said}");
    assert_eq!(fs::read_to_string(&path)?, newer);
    Ok(())
}

#[test]
fn the_window_speaks_the_language_of_the_system_or_the_one_that_was_chosen() -> Result<()> {
    let home = tempfile::tempdir()?;
    let nothing = home.path().join("none");
    let mut desktop = open_in("de_AT.UTF-8", home.path(), &nothing)?;
    desktop.wait_for("Erzeugen", LONG)?;
    keep(&mut desktop, "german.png")?;
    desktop.click("Menü")?;
    desktop.click("Sprache · Deutsch")?;
    desktop.click("Sprache: Japanisch")?;
    desktop.wait_for("生成", LONG)?;
    desktop.press("Escape")?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    assert_eq!(read_settings(home.path())?["language"], "ja");

    let mut desktop = open_in("de_AT.UTF-8", home.path(), &nothing)?;
    desktop.wait_for("生成", LONG)?;
    keep(&mut desktop, "japanese.png")?;
    assert!(desktop.find("Generate")?.is_none() && desktop.find("Erzeugen")?.is_none());
    Ok(())
}
