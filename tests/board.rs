//! The Devices view of the real program in a real window, on devices that the processor plays.
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
use std::time::Duration;

use anyhow::{Context as _, Result};
use desktop::{Control, Desktop};
use screen::Area;
use serde_json::json;
use testkit::{real, tiny};

/// Longest wait for the program, on a busy machine.
const LONG: Duration = Duration::from_mins(2);

/// Opens the window on a screen of this size with these settings and devices, at the Devices view.
fn open(home: &Path, size: (u32, u32), settings: serde_json::Value, devices: &str) -> Result<Desktop> {
    open_with(home, size, settings, devices, &[("ATELIER_BUILTIN", "none")])
}

fn open_with(home: &Path, size: (u32, u32), mut settings: serde_json::Value, devices: &str, env: &[(&str, &str)]) -> Result<Desktop> {
    settings["version"] = json!(1);
    settings["window"] = json!({ "x": 0, "y": 0, "width": size.0, "height": size.1, "maximized": false });
    fs::create_dir_all(home)?;
    fs::write(home.join("settings.json"), settings.to_string())?;
    let home = home.to_str().context("the folder for temporary files has a name in Unicode")?;
    let env = [&[("ATELIER_HOME", home)], env].concat();
    let mut desktop = Desktop::start(Path::new(env!("CARGO_BIN_EXE_atelier")), &["--simulate-devices", devices], &env, size)?;
    desktop.press("ctrl+2")?;
    Ok(desktop)
}

/// Waits for the control whose name begins like this.
fn begins(desktop: &mut Desktop, name: &str) -> Result<Control> {
    desktop.wait(name, LONG, |desktop| desktop.find_by(|it| it.name.starts_with(name) && it.area.is_some()))
}

/// Place of the control whose name begins like this, at rest.
fn place(desktop: &mut Desktop, name: &str) -> Result<Area> {
    desktop.resting_place(name, LONG, |desktop| desktop.find_by(|it| it.name.starts_with(name)))
}

fn pictures(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("Pictures/Atelier")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "png")).collect()
}

#[test]
fn a_card_dragged_to_another_device_runs_there() -> Result<()> {
    let home = tempfile::tempdir()?;
    let files = tiny::zimage(home.path(), &tiny::Options::default())?;
    // A model that was loaded ahead for the placement before would be freed beside the job, and be
    // measured with it.
    let settings = json!({ "theme": "dark", "load_ahead": false, "recipe": {
        "files": { "diffusion": files.diffusion, "llm": files.llm, "taesd": files.taesd },
        "prompt": "a red sunset", "width": 64, "height": 64, "steps": 2, "guidance": 1.0, "seed": 42,
    } });
    let mut desktop = open(home.path(), (1440, 900), settings, "GPU0:8,GPU1:6")?;
    // What it takes is known: nothing that comes later moves a card or forbids a place.
    begins(&mut desktop, "GPU0 encode: ")?;
    let from = place(&mut desktop, "Text encoder runs on GPU0")?.centre();
    let column = place(&mut desktop, "Memory of GPU1")?.centre();
    desktop.drag(from, (column.0, from.1))?;
    begins(&mut desktop, "Text encoder runs on GPU1")?;
    desktop.wait("the text", LONG, |desktop| desktop.find_by(|it| it.name == "Runs on" && it.value == "all=GPU0,te=GPU1"))?;
    // The board's prediction must equal the engine's use.
    begins(&mut desktop, "GPU1 encode: ")?;
    desktop.click("Generate")?;
    desktop.wait("a picture in the folder", LONG, |_| Ok(pictures(home.path()).pop()))?;
    for measured in ["GPU0 decode: ", "GPU1 encode: "] {
        // An error above a twentieth of a per cent would be shown; the prediction may be older than
        // the placement for a moment.
        let told = |it: &Control| it.name.starts_with(measured) && it.name.contains(", measured ") && !it.name.contains('%');
        desktop.wait(&format!("{measured}as predicted"), LONG, |desktop| desktop.find_by(told))?;
    }
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    Ok(())
}

#[test]
fn the_last_used_model_is_loaded_by_itself_and_stays_beside_the_next_one() -> Result<()> {
    let home = tempfile::tempdir()?;
    let files = tiny::zimage(home.path(), &tiny::Options::default())?;
    let settings = json!({ "theme": "dark", "model": "files", "recipe": {
        "files": { "diffusion": files.diffusion, "llm": files.llm, "taesd": files.taesd },
        "prompt": "a red sunset", "width": 64, "height": 64, "steps": 2, "guidance": 1.0, "seed": 42,
    } });
    let mut desktop = open_with(home.path(), (1440, 900), settings, "GPU0:8,GPU1:6", &[])?;
    let name = files.diffusion.file_stem().context("a name")?.to_string_lossy().into_owned();
    // Nobody has asked for a picture.
    begins(&mut desktop, &format!("The next picture uses {name}"))?;
    desktop.press("ctrl+1")?;
    desktop.click("Use the built-in model")?;
    begins(&mut desktop, &format!("Use {name}"))?;
    desktop.press("ctrl+2")?;
    begins(&mut desktop, "GPU0 denoise: ")?;
    desktop.click("Generate")?;
    desktop.wait("a picture in the folder", LONG, |_| Ok(pictures(home.path()).pop()))?;
    begins(&mut desktop, "Generate")?;
    if let Some(folder) = std::env::var_os("ATELIER_SHOTS") {
        desktop.move_to(1436, 450)?;
        desktop.screenshot(&Path::new(&folder).join("memory.png"))?;
    }
    // Back to the first one, which is still there.
    desktop.click(&format!("Use {name}"))?;
    begins(&mut desktop, &format!("The next picture uses {name}"))?;
    desktop.click(&format!("Unload {name}"))?;
    desktop.wait("it to be gone", LONG, |desktop| {
        let name = format!("Unload {name}");
        Ok(desktop.find(&name)?.is_none().then_some(()))
    })?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    Ok(())
}

/// SD1.5 of real size, of which only the header is there: enough to know what it takes.
fn shown(home: &Path, theme: &str, width: u32, placement: serde_json::Value) -> Result<serde_json::Value> {
    let model = home.join("sd15.safetensors");
    real::sd15(&model, 1, real::Contents::HeaderOnly)?;
    let mut recipe = placement;
    recipe["files"] = json!({ "model": model });
    recipe["prompt"] = json!("a lighthouse at dusk, oil on canvas");
    (recipe["width"], recipe["height"]) = (json!(width), json!(width));
    Ok(json!({ "theme": theme, "recipe": recipe, "pins": ["te"] }))
}

#[test]
fn the_board_is_seen_in_both_themes_and_on_a_small_screen() -> Result<()> {
    let spread = || json!({ "backend": "all=GPU0,te=GPU1,vae=GPU1", "params_backend": "diffusion=cpu", "max_vram": "GPU0=1.5" });
    for (name, size, theme, width, devices, placement) in [
        ("board-dark.png", (1440, 900), "dark", 768, "GPU0:3,GPU1:6", spread()),
        ("board-light.png", (1440, 900), "light", 896, "GPU0:6,GPU1:4", json!({})),
        ("board-small.png", (1024, 700), "dark", 768, "GPU0:6,GPU1:4", json!({ "backend": "all=GPU0,te=cpu" })),
        ("board-small-light.png", (1024, 700), "light", 768, "GPU0:6,GPU1:4", json!({ "backend": "all=GPU0,te=cpu" })),
    ] {
        let home = tempfile::tempdir()?;
        let settings = shown(home.path(), theme, width, placement)?;
        let mut desktop = open(home.path(), size, settings, devices)?;
        for control in ["Memory of GPU0", "Memory of GPU1", "Memory of CPU", "Diffusion runs on GPU0", "VAE runs on"] {
            begins(&mut desktop, control)?;
        }
        desktop.wait("what it takes", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("GPU0 denoise: ")))?;
        desktop.move_to(size.0 - 4, size.1 / 2)?;
        let shot = match std::env::var_os("ATELIER_SHOTS") {
            Some(folder) => desktop.screenshot(&Path::new(&folder).join(name))?,
            None => desktop.shot()?,
        };
        let colours = screen::colours(&shot, desktop.window_area()?);
        assert!(colours > 20, "{name} shows {colours} colours");
    }
    Ok(())
}
