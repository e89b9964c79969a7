//! The canvas of the real program in a real window: painted on with the pointer, and looked at
//! pixel by pixel.
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
use atelier_core::canvas::{DocumentContent, TileImage};
use atelier_core::paths::Paths;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_media::canvas_file::write_canvas;
use atelier_studio::results::store_picture;
use desktop::Desktop;
use image::RgbImage;
use screen::Area;
use serde_json::json;
use testkit::{onnx, tiny};

/// Longest wait for the program, on a busy machine.
const LONG: Duration = Duration::from_mins(2);
const SIDE: u32 = 64;
const GREY: [u8; 3] = [150, 150, 150];
/// Less than half red, so that `onnx::red_segmenter` takes it away.
const BEHIND: [u8; 3] = [40, 90, 150];

/// Opens the window with a grey picture of an earlier session and a tiny model, and the picture on
/// the canvas.
fn open(home: &Path) -> Result<(Desktop, Area)> {
    let files = tiny::zimage(home, &tiny::Options::default())?;
    let recipe = Recipe { prompt: "a lake".into(), width: SIDE, height: SIDE, ..Recipe::default() };
    let pixels = Rgb8::new(SIDE, SIDE, GREY.repeat((SIDE * SIDE) as usize)).context("as many bytes as pixels")?;
    store_picture(
        &home.join("Pictures/Atelier"),
        &recipe,
        PictureInfo { index: 0, seed: Some(Seed(9)), cpu_math: None, merged_loras: false },
        &[],
        &pixels,
    )?;
    start(
        home,
        &json!({
            "version": 1,
            "theme": "dark",
            "window": { "x": 0, "y": 0, "width": 1440, "height": 900, "maximized": false },
            "recipe": {
                "prompt": "a boat",
                "files": { "diffusion": files.diffusion, "llm": files.llm, "taesd": files.taesd },
                "width": SIDE, "height": SIDE, "steps": 4, "guidance": 1.0, "seed": 42, "threads": 1,
            },
        }),
    )
}

fn start(home: &Path, settings: &serde_json::Value) -> Result<(Desktop, Area)> {
    fs::write(home.join("settings.json"), settings.to_string())?;
    let mut desktop = start_again(home)?;
    let picture = desktop.wait("the picture", LONG, |desktop| desktop.find_by(|it| it.name == "Picture, 64 by 64 pixels"))?;
    let area = picture.area.context("the picture has no place on the screen")?;
    desktop.click_beside_text(area.x + area.width / 2, area.y + area.height / 2)?;
    Ok((desktop, area))
}

fn start_again(home: &Path) -> Result<Desktop> {
    start_with(home, &[])
}

fn start_with(home: &Path, files: &[&Path]) -> Result<Desktop> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("the folder for temporary files has a name in Unicode");
    let (none, home) = (text(&home.join("none"))?, text(home)?);
    let env = [("ATELIER_HOME", home.as_str()), ("ATELIER_BUILTIN", none.as_str())];
    let files = files.iter().map(|file| text(file)).collect::<Result<Vec<_>>>()?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    Desktop::start(Path::new(env!("CARGO_BIN_EXE_atelier")), &files, &env, (1440, 900))
}

/// The place of the canvas on the screen, once it is there.
fn canvas(desktop: &mut Desktop) -> Result<Area> {
    let found = desktop
        .wait("the canvas", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Canvas, ") && it.name.ends_with(" pixels")))?;
    found.area.context("the canvas has no place on the screen")
}

fn shoot(desktop: &mut Desktop, name: &str) -> Result<()> {
    if let Some(folder) = std::env::var_os("ATELIER_SHOTS") {
        desktop.screenshot(&Path::new(&folder).join(name))?;
    }
    Ok(())
}

fn pixel(image: &RgbImage, (x, y): (u32, u32)) -> [u8; 3] {
    image.get_pixel(x, y).0
}

/// Waits until a place of the screen has such a colour.
fn wait_for_colour(desktop: &mut Desktop, what: &str, at: (u32, u32), is_it: impl Fn([u8; 3]) -> bool) -> Result<()> {
    desktop.wait(what, LONG, |desktop| Ok(is_it(pixel(&desktop.shot()?, at)).then_some(())))
}

fn pictures(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("Pictures/Atelier")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "png")).collect()
}

fn end(mut desktop: Desktop) -> Result<()> {
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    Ok(())
}

/// Makes the picture a canvas and draws a stroke through its middle, whose place on the screen is
/// returned.
fn paint_stroke(desktop: &mut Desktop) -> Result<(u32, u32)> {
    desktop.press("b")?;
    let area = canvas(desktop)?;
    let middle = (area.x + area.width / 2, area.y + area.height / 2);
    wait_for_colour(desktop, "the picture", middle, is_grey)?;
    desktop.drag((middle.0 - 60, middle.1), (middle.0 + 60, middle.1))?;
    desktop.move_to(area.x + 6, area.y + area.height - 6)?;
    wait_for_colour(desktop, "the stroke", middle, is_ink)?;
    Ok(middle)
}

fn is_ink(colour: [u8; 3]) -> bool {
    colour.iter().all(|value| *value < 60)
}

fn is_grey(colour: [u8; 3]) -> bool {
    colour.iter().zip(GREY).all(|(one, two)| one.abs_diff(two) < 8)
}

fn is_behind(colour: [u8; 3]) -> bool {
    colour.iter().zip(BEHIND).all(|(one, two)| one.abs_diff(two) < 8)
}

#[test]
fn what_the_pointer_paints_is_on_the_screen_and_undo_takes_it_away_and_a_new_start_brings_it_back() -> Result<()> {
    let home = tempfile::tempdir()?;
    let (mut desktop, _) = open(home.path())?;
    let middle = paint_stroke(&mut desktop)?;
    shoot(&mut desktop, "canvas-painted.png")?;
    desktop.press("ctrl+z")?;
    wait_for_colour(&mut desktop, "the picture as it was", middle, is_grey)?;
    desktop.press("ctrl+shift+z")?;
    wait_for_colour(&mut desktop, "the stroke again", middle, is_ink)?;
    end(desktop)?;

    let mut desktop = start_again(home.path())?;
    canvas(&mut desktop)?;
    wait_for_colour(&mut desktop, "the stroke of the last session", middle, is_ink)?;
    end(desktop)
}

#[test]
fn a_part_that_is_masked_with_the_pointer_is_generated_and_accepted() -> Result<()> {
    let home = tempfile::tempdir()?;
    let (mut desktop, _) = open(home.path())?;
    desktop.press("m")?;
    let area = canvas(&mut desktop)?;
    let middle = (area.x + area.width / 2, area.y + area.height / 2);
    wait_for_colour(&mut desktop, "the picture", middle, is_grey)?;
    desktop.drag((middle.0 - 20, middle.1), (middle.0 + 20, middle.1))?;
    desktop.move_to(area.x + 6, area.y + area.height - 6)?;
    wait_for_colour(&mut desktop, "the mask", middle, |colour| colour[0] > colour[1].saturating_add(30))?;
    shoot(&mut desktop, "canvas-masked.png")?;
    desktop.click("Inpaint the masked part")?;
    desktop.wait("the candidate", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Candidate 1, ")))?;
    desktop.wait("a second picture in the folder", LONG, |_| Ok((pictures(home.path()).len() == 2).then_some(())))?;
    shoot(&mut desktop, "canvas-candidate.png")?;
    desktop.click("Accept")?;
    desktop.wait("the end of the strip", LONG, |desktop| Ok(desktop.find("Accept")?.is_none().then_some(())))?;
    wait_for_colour(&mut desktop, "what was generated", middle, |colour| !is_grey(colour))?;
    desktop.press("F7")?;
    desktop.wait("the new layer", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Layer Seed ")))?;
    shoot(&mut desktop, "canvas-layers.png")?;
    let before = desktop.shot()?;
    desktop.press("ctrl+k")?;
    desktop.wait_for("Find a command", LONG)?;
    let list = Area { x: 560, y: 380, width: 320, height: 160 };
    desktop.wait("the palette", LONG, |desktop| Ok((screen::changed(&before, &desktop.shot()?, list) > 0.5).then_some(())))?;
    shoot(&mut desktop, "canvas-palette.png")?;
    desktop.press("Escape")?;
    desktop.wait("the end of the palette", LONG, |desktop| Ok(desktop.find("Find a command")?.is_none().then_some(())))?;
    // Nothing of the panel is left over the canvas, below which the picture has stayed in its place.
    desktop.press("F7")?;
    desktop.wait("the end of the panel", LONG, |desktop| Ok(desktop.find("Add a layer")?.is_none().then_some(())))?;
    desktop.press("ctrl+z")?;
    wait_for_colour(&mut desktop, "the mask again", middle, |colour| colour[0] > colour[1].saturating_add(30))?;
    end(desktop)
}

/// The files in the folder of backups.
fn backups(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("data/canvases")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "atelier")).collect()
}

#[test]
fn a_stroke_is_in_a_file_though_nobody_touches_anything_after_it() -> Result<()> {
    let home = tempfile::tempdir()?;
    let (mut desktop, _) = open(home.path())?;
    desktop.press("b")?;
    let area = canvas(&mut desktop)?;
    let middle = (area.x + area.width / 2, area.y + area.height / 2);
    desktop.drag((middle.0 - 60, middle.1), (middle.0 + 60, middle.1))?;
    // Only the screen and the disk are looked at from here on: a question to the window would draw
    // a frame.
    wait_for_colour(&mut desktop, "the stroke", middle, |colour| colour.iter().all(|value| *value < 60))?;
    desktop.wait("the backup", LONG, |_| Ok(backups(home.path()).pop()))?;
    desktop.kill()?;

    let mut desktop = start_again(home.path())?;
    let area = canvas(&mut desktop)?;
    let middle = (area.x + area.width / 2, area.y + area.height / 2);
    wait_for_colour(&mut desktop, "the stroke of the window that was killed", middle, |colour| colour.iter().all(|value| *value < 60))?;
    end(desktop)
}

#[test]
fn who_closes_a_window_whose_backup_cannot_be_written_is_asked() -> Result<()> {
    let home = tempfile::tempdir()?;
    let (mut desktop, _) = open(home.path())?;
    fs::write(home.path().join("data/canvases"), "in the way")?;
    desktop.press("b")?;
    let area = canvas(&mut desktop)?;
    let middle = (area.x + area.width / 2, area.y + area.height / 2);
    desktop.drag((middle.0 - 60, middle.1), (middle.0 + 60, middle.1))?;
    desktop.close()?;
    desktop.wait_for("Not everything is saved. Close anyway?", LONG)?;
    shoot(&mut desktop, "closing-unsaved.png")?;
    desktop.click("Stay open")?;
    desktop.wait("the end of the question", LONG, |desktop| Ok(desktop.find("Close anyway")?.is_none().then_some(())))?;
    fs::remove_file(home.path().join("data/canvases"))?;
    end(desktop)?;
    assert_eq!(backups(home.path()).len(), 1);
    Ok(())
}

#[test]
fn canvases_of_earlier_sessions_are_offered_and_one_that_is_damaged_is_named() -> Result<()> {
    let home = tempfile::tempdir()?;
    let folder = home.path().join("data/canvases");
    for name in ["one", "two", "three"] {
        let pixels = Rgb8::new(SIDE, SIDE, GREY.repeat((SIDE * SIDE) as usize)).context("as many bytes as pixels")?;
        write_canvas(&folder.join(name).with_extension("atelier"), &DocumentContent::new("Picture", TileImage::of_picture(&pixels))?)?;
    }
    fs::write(folder.join("newest.atelier"), "PK no more")?;
    let mut desktop = start_again(home.path())?;
    canvas(&mut desktop)?;
    desktop.wait("the damaged one's name", LONG, |desktop| desktop.find_by(|it| it.name.contains("newest.atelier (")))?;
    shoot(&mut desktop, "recovery-damaged.png")?;
    desktop.click("Leave it there")?;
    desktop.wait_for("2 canvases of earlier sessions can be opened again.", LONG)?;
    shoot(&mut desktop, "recovery-offer.png")?;
    desktop.click("Open the next canvas")?;
    desktop.wait_for("A canvas of an earlier session can be opened again.", LONG)?;
    end(desktop)
}

#[test]
fn a_canvas_that_was_left_shows_what_was_painted_and_its_cell_leads_back() -> Result<()> {
    let home = tempfile::tempdir()?;
    let (mut desktop, _) = open(home.path())?;
    // The picture keeps its place.
    let middle = paint_stroke(&mut desktop)?;
    desktop.press("Escape")?;
    desktop.wait_for("Picture of the canvas, 64 by 64 pixels", LONG)?;
    wait_for_colour(&mut desktop, "the stroke on it", middle, is_ink)?;
    shoot(&mut desktop, "canvas-left.png")?;
    desktop.click("Canvas, 64 × 64, not saved")?;
    canvas(&mut desktop)?;
    end(desktop)
}

#[test]
fn a_canvas_file_is_opened_from_the_command_line_and_keeps_its_name_after_a_restart() -> Result<()> {
    let home = tempfile::tempdir()?;
    let file = home.path().join("my lake.atelier");
    let pixels = Rgb8::new(SIDE, SIDE, GREY.repeat((SIDE * SIDE) as usize)).context("as many bytes as pixels")?;
    write_canvas(&file, &DocumentContent::new("Picture", TileImage::of_picture(&pixels))?)?;
    let mut desktop = start_with(home.path(), &[&file])?;
    let area = canvas(&mut desktop)?;
    desktop.wait_for("Canvas my lake, 64 × 64", LONG)?;
    let middle = (area.x + area.width / 2, area.y + area.height / 2);
    wait_for_colour(&mut desktop, "the picture", middle, is_grey)?;
    desktop.press("b")?;
    desktop.drag((middle.0 - 60, middle.1), (middle.0 + 60, middle.1))?;
    desktop.wait_for("Canvas my lake, 64 × 64, unsaved changes", LONG)?;
    end(desktop)?;

    let mut desktop = start_again(home.path())?;
    desktop.wait_for("Canvas my lake, 64 × 64, unsaved changes", LONG)?;
    desktop.press("ctrl+s")?;
    desktop.wait_for("Canvas my lake, 64 × 64", LONG)?;
    shoot(&mut desktop, "canvas-named.png")?;
    end(desktop)?;
    assert_eq!(atelier_media::canvas_file::read_canvas(&file)?.layers().len(), 1);
    Ok(())
}

/// A canvas file with a picture that is red at the left and grey at the right.
fn two_halves(home: &Path) -> Result<PathBuf> {
    let file = home.join("halves.atelier");
    let row = [[230, 20, 20].repeat(SIDE as usize / 2), BEHIND.repeat(SIDE as usize / 2)].concat();
    let pixels = Rgb8::new(SIDE, SIDE, row.repeat(SIDE as usize)).context("as many bytes as pixels")?;
    write_canvas(&file, &DocumentContent::new("Picture", TileImage::of_picture(&pixels))?)?;
    Ok(file)
}

#[test]
fn the_background_is_cut_out_by_a_model_in_the_models_folder_and_undo_brings_it_back() -> Result<()> {
    let home = tempfile::tempdir()?;
    let models = Paths::beneath(home.path()).models;
    fs::create_dir_all(&models)?;
    fs::write(models.join("isnet-red.onnx"), onnx::red_segmenter(64))?;
    let file = two_halves(home.path())?;
    let mut desktop = start_with(home.path(), &[&file])?;
    let area = canvas(&mut desktop)?;
    let (left, right) =
        ((area.x + area.width / 2 - 60, area.y + area.height / 2), (area.x + area.width / 2 + 60, area.y + area.height / 2));
    wait_for_colour(&mut desktop, "the picture", right, is_behind)?;
    desktop.click("Cut out and find")?;
    desktop.click("Cut out the background")?;
    desktop.wait("what was done", LONG, |desktop| {
        desktop.find_by(|it| it.name == "The background was cut out by isnet-red (family: isnet).")
    })?;
    wait_for_colour(&mut desktop, "the ground beneath", right, |colour| !is_behind(colour))?;
    assert!(pixel(&desktop.shot()?, left)[0] > 200, "what is in front stays");
    shoot(&mut desktop, "canvas-cutout.png")?;
    desktop.press("ctrl+s")?;
    desktop.wait_for("Canvas halves, 64 × 64", LONG)?;
    let kept = atelier_media::canvas_file::read_canvas(&file)?;
    let pixels = &kept.layers()[0].pixels;
    assert_eq!((pixels.pixel(10, 30), pixels.pixel(50, 30)[3]), ([230, 20, 20, 255], 0));
    desktop.press("ctrl+z")?;
    wait_for_colour(&mut desktop, "the background again", right, is_behind)?;
    end(desktop)
}

#[test]
fn a_detector_in_the_models_folder_gives_a_region_for_each_face() -> Result<()> {
    let home = tempfile::tempdir()?;
    let models = Paths::beneath(home.path()).models;
    fs::create_dir_all(&models)?;
    let found = [vec![16.0, 16.0, 16.0, 16.0, 0.9, 0.0], vec![48.0, 16.0, 8.0, 8.0, 0.0, 0.7]];
    fs::write(models.join("faces.onnx"), onnx::detector(64, &["face", "hand"], &found))?;
    let file = two_halves(home.path())?;
    let mut desktop = start_with(home.path(), &[&file])?;
    canvas(&mut desktop)?;
    desktop.click("Cut out and find")?;
    desktop.wait_for("faces", LONG)?;
    desktop.click("Find faces and hands")?;
    for layer in ["Layer face 1", "Layer hand 1"] {
        desktop.wait_for(layer, LONG)?;
    }
    shoot(&mut desktop, "canvas-regions.png")?;
    desktop.press("ctrl+z")?;
    desktop.wait("the layers as they were", LONG, |desktop| Ok(desktop.find("Layer face 1")?.is_none().then_some(())))?;
    end(desktop)
}
