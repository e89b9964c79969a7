//! The screens of docs/screenshots that show the built-in model at work, taken of the real program:
//! `cargo xtask screenshots`.
//!
//! They are written to the folder that the environment variable `ATELIER_SHOTS` names, else to
//! docs/screenshots. A new built-in model is a reason to take them again. Where `ATELIER_VIEWS` names
//! a folder, every view goes there in five sizes and both themes, with a line on each button that is
//! cut off or lies on another.

#![cfg(target_os = "linux")]

#[path = "support/desktop.rs"]
mod desktop;
#[path = "support/screen.rs"]
mod screen;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use atelier_core::recipe::Rgb8;
use atelier_language::{Language, choose_language, chosen_language, tr};
use atelier_media::{Metadata, write_picture};
use desktop::Desktop;
use eframe::egui::accesskit::Role;
use image::RgbImage;
use image::imageops::{FilterType, replace, resize};
use screen::Area;
use serde_json::{Value, json};

/// Longest wait for the program, on a busy machine.
const LONG: Duration = Duration::from_mins(2);
const PROGRAM: &str = env!("CARGO_BIN_EXE_atelier");
/// Where pictures are kept, in a person's folder.
const PICTURES: &str = "Pictures/Atelier";
const LARGE: (u32, u32) = (1440, 900);
const SMALL: (u32, u32) = (1024, 700);
/// What the gallery shows, in the order in which it is made, and the size of each.
const GALLERY: [(&str, (u32, u32)); 21] = [
    ("a lone tree on a hill at sunset", (256, 256)),
    ("golden dunes at dawn, a full sun", (320, 208)),
    ("a purple night with many stars, round hills", (208, 320)),
    ("northern lights over a frozen lake in winter", (320, 208)),
    ("a pine forest in the snow at night", (256, 256)),
    ("a city at night beside the water", (320, 208)),
    ("a pink sky over a calm lake, mountains", (208, 320)),
    ("islands in a teal sea, a bright summer day", (320, 208)),
    ("cliffs above the sea at dawn", (256, 256)),
    ("a windmill in a meadow with flowers", (208, 320)),
    ("a red sunset over snowy mountains, a lake", (320, 208)),
    ("a sailing boat on a golden sea at sunrise", (208, 320)),
    ("mountains in black and white, misty", (256, 256)),
    ("autumn trees round a lake, golden light", (320, 208)),
    ("spring meadow, round trees, soft clouds", (256, 256)),
    ("a watercolour of hills at sunset", (320, 208)),
    ("snowy peaks under a clear blue sky", (208, 320)),
    ("a cabin by a lake, orange evening light", (256, 256)),
    ("a starry night above a quiet sea, a small boat", (208, 320)),
    ("mountains and a lake at noon, pines", (320, 208)),
    ("a boat on a lake at night, a full moon", (256, 256)),
];

/// A folder of a person's, and the window that is open in it.
struct Session {
    home: tempfile::TempDir,
    theme: &'static str,
    size: (u32, u32),
}

impl Session {
    fn new(theme: &'static str, size: (u32, u32)) -> Result<Self> {
        Ok(Self { home: tempfile::tempdir()?, theme, size })
    }

    /// Opens the window with the built-in model and these fields of a recipe.
    fn open(&self, fields: &Value) -> Result<Desktop> {
        self.open_with(fields, &[])
    }

    /// The same with files to be opened.
    fn open_with(&self, fields: &Value, files: &[&str]) -> Result<Desktop> {
        let mut recipe = json!({ "width": 256, "height": 256, "steps": 8, "guidance": 1.0, "flow_shift": 3.0, "sampler": "euler", "scheduler": "simple" });
        if let (Value::Object(recipe), Value::Object(fields)) = (&mut recipe, fields) {
            recipe.extend(fields.clone());
        }
        let window = json!({ "x": 0, "y": 0, "width": self.size.0, "height": self.size.1, "maximized": false });
        let language = chosen_language().tag();
        let settings =
            json!({ "version": 1, "theme": self.theme, "language": language, "model": "built-in", "window": window, "recipe": recipe });
        fs::write(self.home.path().join("settings.json"), settings.to_string())?;
        let (home, model) = self.folders()?;
        let mut desktop = Desktop::start(Path::new(PROGRAM), files, &[("ATELIER_HOME", &home), ("ATELIER_BUILTIN", &model)], self.size)?;
        // The button beside the prompt has another name where the queue is paused; in a narrow window
        // the settings are folded.
        let (prompt, unfold) = (tr!("create-prompt-2"), tr!("window-hide-or-show-the"));
        desktop
            .wait("the settings, or the button for them", LONG, |desktop| desktop.find_by(|it| it.name == prompt || it.name == unfold))?;
        Ok(desktop)
    }

    /// Makes a picture on the command line.
    fn generate(&self, prompt: &str, seed: usize, (width, height): (u32, u32)) -> Result<()> {
        let numbers = [seed.to_string(), width.to_string(), height.to_string()];
        self.run(&["generate", "-p", prompt, "--seed", &numbers[0], "-W", &numbers[1], "-H", &numbers[2]])
    }

    /// Runs the command line in the person's folder.
    fn run(&self, args: &[&str]) -> Result<()> {
        let (home, model) = self.folders()?;
        let mut command = Command::new(PROGRAM);
        command.args(args).env("ATELIER_HOME", home).env("ATELIER_BUILTIN", model);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(status.success(), "{args:?}: {status}");
        Ok(())
    }

    /// The pictures in the person's folder.
    fn pictures(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.path().join(PICTURES)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "png")).collect()
    }

    fn folders(&self) -> Result<(String, String)> {
        let text = |path: &Path| path.to_str().map(str::to_owned).context("a folder has a name in Unicode");
        Ok((text(self.home.path())?, text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/builtin-model"))?))
    }
}

fn folder() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screenshots");
    std::env::var_os("ATELIER_SHOTS").map_or_else(usual, PathBuf::from)
}

/// Takes the screen, the pointer out of the way.
fn shoot(desktop: &mut Desktop, name: &str) -> Result<()> {
    let window = desktop.window_area()?;
    desktop.move_to(window.width - 4, window.height - 4)?;
    desktop.screenshot(&folder().join(name)).map(drop)
}

/// What a text has in the place of a value that is not known.
const GAP: &str = "\u{1}";

/// True for the text with some values in its gaps.
fn is_filled(text: &str, name: &str) -> bool {
    let mut rest = name;
    let parts: Vec<&str> = text.split(GAP).collect();
    parts.iter().enumerate().all(|(at, part)| match rest.find(part) {
        Some(begin) if at > 0 || begin == 0 => {
            rest = &rest[begin + part.len()..];
            true
        }
        _ => false,
    }) && (rest.is_empty() || parts.last().is_some_and(|it| it.is_empty()))
}

/// Generates, and waits until the picture is finished and shown. Returns its place on the screen.
fn paint(session: &Session, desktop: &mut Desktop) -> Result<Area> {
    let before = session.pictures().len();
    desktop.press("ctrl+Return")?;
    desktop.wait("the picture in the folder", LONG, |_| Ok((session.pictures().len() > before).then_some(())))?;
    // It can be gone on from once it is finished.
    desktop.wait_for(tr!("create-new-details"), LONG)?;
    let name = tr!("create-picture-by-pixels", x = GAP, y = GAP);
    let picture = desktop.wait("the picture's place", LONG, |desktop| desktop.find_by(|it| is_filled(&name, &it.name)))?;
    picture.area.context("the picture has no place on the screen")
}

/// Carries out a command of the palette.
fn command(desktop: &mut Desktop, name: &str) -> Result<()> {
    desktop.press("ctrl+k")?;
    desktop.wait_for("Find a command", LONG)?;
    desktop.type_text(name)?;
    desktop.wait(name, LONG, |desktop| desktop.find_by(|it| it.name.starts_with(name)))?;
    desktop.press("Return")?;
    desktop.wait("the end of the palette", LONG, |desktop| Ok(desktop.find("Find a command")?.is_none().then_some(())))
}

fn end(mut desktop: Desktop) -> Result<()> {
    desktop.close()?;
    ensure!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    Ok(())
}

/// Waits until the candidate of this number, from 1, is finished.
fn wait_for_candidate(desktop: &mut Desktop, number: usize) -> Result<()> {
    desktop.wait("the candidate", LONG, |desktop| desktop.find_by(|it| it.name.starts_with(&format!("Candidate {number}, "))))?;
    desktop.wait("the end of the work", LONG, |desktop| Ok(desktop.find("Cancel")?.is_none().then_some(())))
}

/// Takes the candidate over, and waits until it is done.
fn accept(desktop: &mut Desktop) -> Result<()> {
    desktop.click("Accept")?;
    desktop.wait("the end of the strip", LONG, |desktop| Ok(desktop.find("Accept")?.is_none().then_some(())))
}

/// The place of the canvas, after the picture became one by this key.
fn open_canvas(desktop: &mut Desktop, picture: Area, key: &str) -> Result<Area> {
    let (x, y) = picture.centre();
    desktop.click_beside_text(x, y)?;
    desktop.press(key)?;
    let name = tr!("canvas-canvas-by-pixels", x = GAP, y = GAP);
    let found = desktop.wait("the canvas", LONG, |desktop| desktop.find_by(|it| is_filled(&name, &it.name)))?;
    found.area.context("the canvas has no place on the screen")
}

/// Masks the water below the middle of the picture, where a boat would be.
fn mask_water(desktop: &mut Desktop, canvas: Area) -> Result<()> {
    let (x, y) = canvas.centre();
    let (wide, step) = (canvas.height / 6, canvas.height / 18);
    (0..4).try_for_each(|down| desktop.drag((x - wide, y + down * step), (x + wide, y + down * step)))
}

fn create(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "snowy mountains above a lake at sunset, pine trees", "seed": 4 }))?;
    paint(&session, &mut desktop)?;
    shoot(&mut desktop, name)?;
    end(desktop)
}

/// The first start: pictures of the built-in model.
fn start(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({}))?;
    desktop.wait_for("cliffs above the sea at dawn", LONG)?;
    shoot(&mut desktop, name)?;
    end(desktop)
}

/// Four pictures side by side, one of them picked, and neighbours of another.
fn sheet(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "a lake between mountains at dawn, pine trees", "seed": 21, "batch_count": 4 }))?;
    desktop.press("ctrl+Return")?;
    let cell = desktop.wait("the last picture", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture 4 of 4, seed")))?;
    let (x, y) = cell.area.context("the picture has no place on the screen")?.centre();
    // Off the prompt: keys mean the pictures.
    desktop.click_beside_text(x, y)?;
    desktop.wait_for("New details", LONG)?;
    desktop.press("Escape")?;
    command(&mut desktop, "Pick")?;
    desktop.wait("the pick", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture 4 of 4, seed 24, picked")))?;
    command(&mut desktop, "More like this")?;
    desktop.wait("the neighbours", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture 8 of 8, seed")))?;
    shoot(&mut desktop, name)?;
    end(desktop)
}

/// A sheet along two axes: the dialog that foretells it, and what it became.
fn compared(theme: &'static str, size: (u32, u32), names: [&str; 2]) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "a lake between mountains at dawn, pine trees", "seed": 21 }))?;
    command(&mut desktop, "Compare settings")?;
    desktop.wait_for("X axis", LONG)?;
    desktop.type_text("steps=2,4,8")?;
    desktop.press("Tab")?;
    desktop.type_text("seed=21..23")?;
    desktop.wait("the forecast", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("9 pictures")))?;
    let [dialog, sheet] = names;
    shoot(&mut desktop, dialog)?;
    desktop.click("Generate sheet")?;
    desktop.wait("the last cell", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("9 of 9 pictures")))?;
    shoot(&mut desktop, sheet)?;
    end(desktop)
}

/// The settings, folded and unfolded.
fn folds(theme: &'static str, names: [&str; 2]) -> Result<()> {
    let session = Session::new(theme, LARGE)?;
    let mut desktop = session.open(&json!({ "prompt": "snowy mountains above a lake at sunset, pine trees", "seed": 4 }))?;
    paint(&session, &mut desktop)?;
    let [folded, unfolded] = names;
    shoot(&mut desktop, unfolded)?;
    desktop.click("Sampling")?;
    desktop.wait("the fold", LONG, |desktop| Ok(desktop.find("Steps")?.is_none().then_some(())))?;
    shoot(&mut desktop, folded)?;
    end(desktop)
}

fn steps(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "a sailing boat on a calm sea, pink twilight", "seed": 5 }))?;
    paint(&session, &mut desktop)?;
    let slider = desktop.wait_for("Step of this picture", LONG)?.area.context("the slider has no place on the screen")?;
    let (_, y) = slider.centre();
    desktop.drag((slider.x + slider.width - 4, y), (slider.x + slider.width * 3 / 7, y))?;
    desktop.wait("an earlier step", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Step 4 of")))?;
    shoot(&mut desktop, name)?;
    end(desktop)
}

fn live(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "a sailing boat on the sea at sunset, the sun", "seed": 7 }))?;
    desktop.press("ctrl+g")?;
    desktop.wait("a picture of Live", LONG, |desktop| Ok(desktop.find("Accept the live picture")?.filter(|it| it.enabled)))?;
    desktop.wait("its time", LONG, |desktop| desktop.find_by(|it| it.name.contains("s a picture")))?;
    shoot(&mut desktop, name)?;
    end(desktop)
}

fn candidates(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "the sea at sunset, without boats", "seed": 5 }))?;
    let picture = paint(&session, &mut desktop)?;
    desktop.fill("Prompt", "a sailing boat on the sea at sunset")?;
    let area = open_canvas(&mut desktop, picture, "m")?;
    mask_water(&mut desktop, area)?;
    for number in 1..=3 {
        desktop.click("Inpaint the masked part")?;
        wait_for_candidate(&mut desktop, number)?;
    }
    shoot(&mut desktop, name)?;
    desktop.kill().map(drop)
}

fn layers(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "a lake and hills at sunset, without trees", "seed": 19 }))?;
    let picture = paint(&session, &mut desktop)?;
    desktop.fill("Prompt", "a sailing boat on a lake at sunset, without trees")?;
    let area = open_canvas(&mut desktop, picture, "m")?;
    mask_water(&mut desktop, area)?;
    desktop.click("Inpaint the masked part")?;
    wait_for_candidate(&mut desktop, 1)?;
    accept(&mut desktop)?;
    desktop.press("F7")?;
    desktop.wait("the new layer", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Layer Seed ")))?;
    shoot(&mut desktop, name)?;
    desktop.kill().map(drop)
}

/// The left and right borders of the frame on the canvas, where it is there: the columns in which
/// most of its blue is.
fn frame_borders(screen: &RgbImage, canvas: Area) -> Option<(u32, u32)> {
    let is_blue = |x: u32, y: u32| {
        let [red, green, blue] = screen.get_pixel(x, y).0.map(i32::from);
        blue > 150 && blue - red > 60 && blue - green > 40
    };
    let blue_pixels = |x: u32| (canvas.y..canvas.y + canvas.height).filter(|&y| is_blue(x, y)).count();
    let counts: Vec<(usize, u32)> = (canvas.x..canvas.x + canvas.width).map(|x| (blue_pixels(x), x)).collect();
    let most = counts.iter().map(|it| it.0).max().unwrap_or(0);
    let borders = || counts.iter().filter(|it| it.0 > 40 && it.0 * 2 > most).map(|it| it.1);
    borders().min().zip(borders().max()).filter(|(left, right)| left < right)
}

/// One piece of work in six screens: a prompt, a masked part, what is painted there, a border, what
/// is behind it, and all of it upscaled.
fn film(name: &str) -> Result<()> {
    let session = Session::new("dark", LARGE)?;
    let mut desktop = session.open(&json!({ "prompt": "a lake and hills at sunset, without trees", "seed": 19 }))?;
    let scratch = session.home.path().join("screen.png");
    let picture = paint(&session, &mut desktop)?;
    let mut screens = vec![desktop.screenshot(&scratch)?];
    desktop.fill("Prompt", "a sailing boat on a lake at sunset, without trees")?;
    let area = open_canvas(&mut desktop, picture, "m")?;
    mask_water(&mut desktop, area)?;
    screens.push(desktop.screenshot(&scratch)?);
    desktop.click("Inpaint the masked part")?;
    wait_for_candidate(&mut desktop, 1)?;
    screens.push(desktop.screenshot(&scratch)?);
    accept(&mut desktop)?;
    desktop.fill("Prompt", "a lake and hills at sunset, without trees, without the sun")?;
    desktop.click("Extend or crop")?;
    let (left, right) = desktop.wait("the frame", LONG, |desktop| Ok(frame_borders(&desktop.shot()?, area)))?;
    let (_, y) = area.centre();
    desktop.drag((right, y), (right + (right - left) / 4, y))?;
    desktop.wait("the wide frame", LONG, |desktop| Ok(desktop.find("Outpaint to the right")?.filter(|it| it.enabled)))?;
    desktop.click("Fit to window")?;
    desktop.move_to(LARGE.0 - 4, LARGE.1 - 4)?;
    screens.push(desktop.screenshot(&scratch)?);
    desktop.click("Outpaint to the right")?;
    wait_for_candidate(&mut desktop, 1)?;
    screens.push(desktop.screenshot(&scratch)?);
    accept(&mut desktop)?;
    desktop.click("Leave the canvas")?;
    desktop.wait("what the canvas composes", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture of the canvas, 3")))?;
    // Once more leads to the newest picture, which is that of the wide canvas.
    desktop.press("Escape")?;
    desktop.wait("the wide picture", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture, 3")))?;
    let before = session.pictures().len();
    desktop.press("u")?;
    desktop.wait("the large picture in the folder", LONG, |_| Ok((session.pictures().len() > before).then_some(())))?;
    // A picture alone is followed by what is made of it.
    desktop.wait("the large picture", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture, 6")))?;
    screens.push(desktop.screenshot(&scratch)?);
    let (width, height, gap) = (LARGE.0 / 2, LARGE.1 / 2, 10);
    let mut film = RgbImage::new(2 * width + 3 * gap, 3 * height + 4 * gap);
    for (number, screen) in (0..).zip(&screens) {
        let small = resize(screen, width, height, FilterType::Lanczos3);
        replace(&mut film, &small, (gap + number % 2 * (width + gap)).into(), (gap + number / 2 * (height + gap)).into());
    }
    film.save(folder().join(name))?;
    desktop.kill().map(drop)
}

fn regions(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    let mut desktop = session.open(&json!({ "prompt": "mountains above a lake at dusk", "seed": 3 }))?;
    let picture = paint(&session, &mut desktop)?;
    let area = open_canvas(&mut desktop, picture, "m")?;
    desktop.press("F7")?;
    desktop.wait_for("Add a layer", LONG)?;
    command(&mut desktop, "Add a region")?;
    let (x, y) = area.centre();
    desktop.drag((x - 60, y - 120), (x + 20, y - 120))?;
    desktop.fill("Prompt of the region", "a full moon")?;
    shoot(&mut desktop, name)?;
    desktop.kill().map(drop)
}

fn guides(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    session.generate("mountains and a lake at noon, pines", 3, (256, 256))?;
    let picture = session.pictures().pop().context("no picture was made")?;
    let fields = json!({ "prompt": "mountains and a lake at night, the moon", "seed": 3, "start_picture": picture, "start_strength": 0.9 });
    let mut desktop = session.open(&fields)?;
    let place = desktop.wait_for("Prompt", LONG)?.area.context("the prompt has no place on the screen")?.centre();
    paint(&session, &mut desktop)?;
    desktop.scroll_down(place, 40)?;
    shoot(&mut desktop, name)?;
    end(desktop)
}

/// Jobs that wait in a queue that is paused.
fn queue(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    session.generate("mountains and a lake at noon, pines", 3, (256, 256))?;
    session.run(&["queue", "pause"])?;
    let prompts: Vec<&str> = GALLERY.iter().map(|it| it.0).take(6).collect();
    for prompt in &prompts {
        session.run(&["queue", "add", "-p", prompt, "-W", "256", "-H", "256"])?;
    }
    let mut desktop = session.open(&json!({ "prompt": "golden dunes at dawn" }))?;
    desktop.press("ctrl+j")?;
    for (at, prompt) in prompts.iter().enumerate() {
        desktop.wait_for(&format!("Job {}: {prompt}", at + 1), LONG)?;
    }
    shoot(&mut desktop, name)?;
    desktop.kill().map(drop)
}

/// The card of a picture that another program made.
fn dropped(theme: &'static str, size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new(theme, size)?;
    session.generate("a lone tree on a hill at sunset", 5, (256, 256))?;
    let made = image::open(session.pictures().pop().context("no picture was made")?)?.into_rgb8();
    let pixels = Rgb8::new(made.width(), made.height(), made.into_raw()).context("as many bytes as pixels")?;
    let text = "a lone tree on a hill at sunset\nNegative prompt: blur\nSteps: 28, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 6.5, \
                Seed: 4711, Size: 256x256, Model: dreamscape-xl-v3, ADetailer model: face_yolov8n.pt, Version: v1.10.1";
    let theirs = session.home.path().join("00012-4711.png");
    write_picture(&theirs, &pixels, &Metadata { parameters: Some(text.into()), ..Metadata::default() })?;
    let theirs = theirs.to_str().context("a folder has a name in Unicode")?;
    let mut desktop = session.open_with(&json!({ "prompt": "golden dunes at dawn" }), &[theirs])?;
    desktop.wait_for("How should this picture be used?", LONG)?;
    shoot(&mut desktop, name)?;
    desktop.kill().map(drop)
}

/// The gallery of somebody who has made nothing yet.
fn gallery_empty(size: (u32, u32), name: &str) -> Result<()> {
    let session = Session::new("dark", size)?;
    let mut desktop = session.open(&json!({}))?;
    desktop.press("ctrl+4")?;
    desktop.wait_for("Search pictures", LONG)?;
    shoot(&mut desktop, name)?;
    end(desktop)
}

/// The gallery with pictures of an earlier session: its grid, and what `look` makes of it.
fn gallery(session: &Session, theme: &'static str, size: (u32, u32), look: impl Fn(&mut Desktop) -> Result<()>) -> Result<()> {
    let here = Session { home: tempfile::tempdir()?, theme, size };
    let to = here.home.path().join(PICTURES);
    fs::create_dir_all(&to)?;
    for path in session.pictures() {
        fs::copy(&path, to.join(path.file_name().context("a picture has a name")?))?;
    }
    let mut desktop = here.open(&json!({}))?;
    desktop.press("ctrl+4")?;
    desktop.wait_for("Search pictures", LONG)?;
    desktop.wait_for(&format!("{} pictures", GALLERY.len()), LONG)?;
    look(&mut desktop)?;
    end(desktop)
}

fn compare(desktop: &mut Desktop) -> Result<()> {
    desktop.press("Home")?;
    desktop.press("shift+Right")?;
    desktop.press("c")?;
    desktop.wait_for("Side by side", LONG)?;
    desktop.wait("the table", LONG, |desktop| desktop.find_by(|it| it.name == "Setting"))?;
    Ok(())
}

/// Takes every view in this theme and size, and says which buttons lie on each other or are cut off by
/// the window's edge.
fn every_view(theme: &'static str, size: (u32, u32), folder: &Path) -> Result<Vec<String>> {
    let session = Session::new(theme, size)?;
    session.generate("golden dunes at dawn, a full sun", 5, (320, 208))?;
    let mut desktop = session.open(&json!({ "prompt": "snowy mountains above a lake at sunset, pine trees", "seed": 4 }))?;
    let mut told = Vec::new();
    let mut take = |desktop: &mut Desktop, view: &str| {
        let name = format!("{view}-{}-{theme}-{}x{}.png", chosen_language().tag(), size.0, size.1);
        desktop.move_to(size.0 - 4, size.1 - 4)?;
        desktop.screenshot(&folder.join(&name))?;
        told.extend(misplaced(desktop, size)?.into_iter().map(|what| format!("{name}: {what}")));
        Ok::<_, anyhow::Error>(())
    };
    take(&mut desktop, "start")?;
    let picture = paint(&session, &mut desktop)?;
    take(&mut desktop, "create")?;
    let (x, y) = picture.centre();
    desktop.click_beside_text(x, y)?;
    desktop.press("v")?;
    let last = tr!("create-picture-of-seed", at = 5, count = 5, seed = GAP, is_upscaled = "", is_picked = "");
    desktop.wait("four variations", LONG, |desktop| desktop.find_by(|it| is_filled(&last, &it.name)))?;
    take(&mut desktop, "sheet")?;
    desktop.press("Return")?;
    let large = tr!("create-picture-by-pixels", x = GAP, y = GAP);
    desktop.wait("one of them, large", LONG, |desktop| desktop.find_by(|it| is_filled(&large, &it.name)))?;
    for (view, keys) in [("devices", "ctrl+2"), ("models", "ctrl+3"), ("gallery", "ctrl+4")] {
        desktop.press(keys)?;
        take(&mut desktop, view)?;
    }
    desktop.press("ctrl+1")?;
    desktop.press("ctrl+j")?;
    desktop.wait_for(tr!("queue-all-jobs"), LONG)?;
    take(&mut desktop, "queue")?;
    desktop.press("ctrl+j")?;
    desktop.wait("the end of the queue", LONG, |desktop| Ok(desktop.find(tr!("queue-all-jobs"))?.is_none().then_some(())))?;
    open_canvas(&mut desktop, picture, "m")?;
    desktop.press("F7")?;
    desktop.wait_for(tr!("canvas-add-a-layer"), LONG)?;
    take(&mut desktop, "canvas")?;
    desktop.press("F7")?;
    desktop.press("ctrl+g")?;
    let accept = tr!("live-accept-the-live-picture");
    desktop.wait("a picture of Live", LONG, |desktop| Ok(desktop.find(accept)?.filter(|it| it.enabled)))?;
    take(&mut desktop, "live")?;
    desktop.kill()?;
    Ok(told)
}

/// Buttons that lie on each other, and those that the window's edge cuts off.
fn misplaced(desktop: &mut Desktop, size: (u32, u32)) -> Result<Vec<String>> {
    /// Pixels that may be shared: a border, or a rounded corner.
    const SHARED: u32 = 3;
    let buttons: Vec<_> = desktop.controls()?.into_iter().filter(|it| it.role == Role::Button).collect();
    let placed: Vec<_> = buttons.iter().filter_map(|it| Some((it.name.as_str(), it.area?))).collect();
    let shared = |a: u32, long: u32, b: u32, other: u32| (a + long).min(b + other).saturating_sub(a.max(b));
    let mut told = Vec::new();
    for (index, (name, area)) in placed.iter().enumerate() {
        if area.x + area.width > size.0 + SHARED && area.x < size.0 {
            told.push(format!("{name} is cut off at the right"));
        }
        for (other, beside) in placed.iter().skip(index + 1) {
            let (wide, high) = (shared(area.x, area.width, beside.x, beside.width), shared(area.y, area.height, beside.y, beside.height));
            let holds = |one: &Area, two: &Area| {
                shared(one.x, one.width, two.x, two.width) == two.width && shared(one.y, one.height, two.y, two.height) == two.height
            };
            // A control on a picture is meant to lie there.
            if wide > SHARED && high > SHARED && !holds(area, beside) && !holds(beside, area) {
                told.push(format!("{name} and {other} lie on each other by {wide} x {high}"));
            }
        }
    }
    Ok(told)
}

/// A person at work: counts what the hands do, and tells the time that it took.
struct Work<'a> {
    desktop: &'a mut Desktop,
    actions: u32,
    begun: Instant,
}

impl<'a> Work<'a> {
    fn begin(desktop: &'a mut Desktop) -> Self {
        Self { desktop, actions: 0, begun: Instant::now() }
    }

    fn click(&mut self, name: &str) -> Result<()> {
        self.actions += 1;
        self.desktop.click(name)
    }

    fn press(&mut self, keys: &str) -> Result<()> {
        self.actions += 1;
        self.desktop.press(keys)
    }

    fn type_text(&mut self, text: &str) -> Result<()> {
        self.actions += 1;
        self.desktop.type_text(text)
    }

    fn drag(&mut self, from: (u32, u32), to: (u32, u32)) -> Result<()> {
        self.actions += 1;
        self.desktop.drag(from, to)
    }

    /// The first control whose name begins so.
    fn wait(&mut self, start: &str) -> Result<Area> {
        let found = self.desktop.wait(start, LONG, |desktop| desktop.find_by(|it| it.name.starts_with(start) && it.area.is_some()))?;
        found.area.with_context(|| format!("{start} has no place on the screen"))
    }

    /// Where the canvas lies; its cell in the strip has another name.
    fn wait_for_canvas(&mut self) -> Result<Area> {
        let name = tr!("canvas-canvas-by-pixels", x = GAP, y = GAP);
        let found = self.desktop.wait("the canvas", LONG, |desktop| desktop.find_by(|it| is_filled(&name, &it.name)))?;
        found.area.context("the canvas has no place on the screen")
    }

    /// Takes the candidate over, once it is there.
    fn accept_candidate(&mut self) -> Result<()> {
        self.wait("Candidate 1, ")?;
        self.click("Accept")?;
        self.desktop.wait("the end of the candidates", LONG, |desktop| Ok(desktop.find("Accept")?.is_none().then_some(())))
    }

    /// `before`: what it took when the pieces of work were first done by hand.
    fn end(self, what: &str, before: &str) {
        println!("| {what} | {} | {:.1} | {before} |", self.actions, self.begun.elapsed().as_secs_f64());
    }
}

#[test]
#[ignore = "counts what hands do and the seconds of seven pieces of work, with nothing to keep: cargo xtask screenshots -- seven_pieces --nocapture"]
fn seven_pieces_of_work() -> Result<()> {
    let session = Session::new("dark", LARGE)?;
    let mut desktop = session.open(&json!({ "seed": 21 }))?;
    println!("| work | actions | seconds | before |\n|---|---|---|---|");

    let mut work = Work::begin(&mut desktop);
    work.click("cliffs above the sea at dawn")?;
    // It can be gone on from once it is finished.
    work.wait(tr!("create-new-details"))?;
    work.end("the first picture", "2 actions, about 1 s");

    // A picture is at hand: four near it, one of them upscaled and saved as JPEG.
    let elsewhere = session.home.path().join("out.jpg");
    let mut work = Work::begin(&mut desktop);
    let (x, y) = work.wait("Picture, ")?.centre();
    work.actions += 1;
    work.desktop.click_beside_text(x, y)?;
    work.press("v")?;
    for cell in ["Picture 4 of 5, seed", "Picture 5 of 5, seed"] {
        work.wait(cell)?;
    }
    for (wanted, keys) in [("Picture 4 of 5, seed", "u"), ("Picture 6 of 6, seed", "ctrl+s")] {
        let (x, y) = work.wait(wanted)?.centre();
        work.actions += 1;
        work.desktop.click_at(x, y)?;
        work.wait("Picture, ")?;
        work.press(keys)?;
    }
    work.wait("Path of the copy")?;
    work.press("ctrl+a")?;
    work.type_text(elsewhere.to_str().context("a folder has a name in Unicode")?)?;
    work.press("Return")?;
    work.desktop.wait("the JPEG", LONG, |_| Ok(image::image_dimensions(&elsewhere).ok()))?;
    work.end("four variations, one chosen, upscaled and saved as JPEG", "about 20 actions, and no JPEG");
    let size = image::image_dimensions(&elsewhere)?;
    ensure!(size == (512, 512), "the picture that was saved has {size:?} pixels");
    end(desktop)?;

    let session = Session::new("dark", LARGE)?;
    let mut desktop = session.open(&json!({ "prompt": "the sea at sunset, without boats", "seed": 5 }))?;
    let picture = paint(&session, &mut desktop)?;
    let mut work = Work::begin(&mut desktop);
    let (x, y) = picture.centre();
    work.actions += 1;
    work.desktop.click_beside_text(x, y)?;
    work.press("m")?;
    let (x, y) = work.wait_for_canvas()?.centre();
    work.drag((x - 60, y + 60), (x + 60, y + 60))?;
    work.press("ctrl+Return")?;
    work.accept_candidate()?;
    work.end("a part masked, generated anew and accepted", "6 actions; Esc lost the canvas");

    let mut work = Work::begin(&mut desktop);
    let (x, y) = work.wait_for_canvas()?.centre();
    work.actions += 1;
    work.desktop.right_click_at(x, y)?;
    work.click("Add a region")?;
    work.drag((x - 60, y - 120), (x + 20, y - 120))?;
    work.click("Prompt of the region")?;
    work.type_text("a full moon")?;
    work.click("Generate this region")?;
    work.accept_candidate()?;
    work.end("a region with words of its own", "8 actions, on a wrong layer");
    end(desktop)?;

    // Closed and opened again, the canvas is there without a hand.
    let (home, model) = session.folders()?;
    let begun = Instant::now();
    let mut desktop = Desktop::start(Path::new(PROGRAM), &[], &[("ATELIER_HOME", &home), ("ATELIER_BUILTIN", &model)], LARGE)?;
    let mut work = Work { desktop: &mut desktop, actions: 0, begun };
    work.wait_for_canvas()?;
    work.end("a canvas of the last session", "not opened from its file, its name forgotten");
    end(desktop)?;

    let session = Session::new("dark", LARGE)?;
    let mut desktop = session.open(&json!({ "prompt": "a sailing boat on the sea at sunset", "seed": 7 }))?;
    let mut work = Work::begin(&mut desktop);
    work.press("ctrl+g")?;
    work.desktop.wait("a picture of Live", LONG, |desktop| Ok(desktop.find("Accept the live picture")?.filter(|it| it.enabled)))?;
    work.end("a live picture of the prompt", "1 action");
    end(desktop)?;

    let session = Session::new("dark", LARGE)?;
    let mut desktop = session.open(&json!({ "prompt": "golden dunes at dawn" }))?;
    let mut work = Work::begin(&mut desktop);
    for _ in 0..20 {
        work.press("ctrl+shift+Return")?;
    }
    let count = || session.pictures().len();
    work.desktop.wait("twenty pictures", 5 * LONG, |_| Ok((count() == 20).then_some(())))?;
    work.end("twenty pictures, none like another", "20 actions, twenty equal pictures");
    end(desktop)?;
    // A file tells its seed, so that files always differ.
    let pixels = |path: &PathBuf| Ok::<_, anyhow::Error>(image::open(path)?.into_rgb8().into_raw());
    let mut pictures = session.pictures().iter().map(pixels).collect::<Result<Vec<_>>>()?;
    pictures.sort();
    pictures.dedup();
    ensure!(pictures.len() == 20, "{} pictures differ", pictures.len());
    Ok(())
}

#[test]
#[ignore = "takes every view in three languages, five sizes and both themes, to be looked at: ATELIER_VIEWS=FOLDER cargo xtask screenshots"]
fn every_view_in_three_languages_five_sizes_and_both_themes() -> Result<()> {
    // They are looked at and not kept.
    let Some(folder) = std::env::var_os("ATELIER_VIEWS").map(PathBuf::from) else { return Ok(()) };
    fs::create_dir_all(&folder)?;
    for language in Language::ALL {
        choose_language(language);
        for size in [(640, 480), (900, 1400), SMALL, LARGE, (3840, 2160)] {
            for theme in ["dark", "light"] {
                for what in every_view(theme, size, &folder)? {
                    println!("{what}");
                }
            }
        }
    }
    choose_language(Language::English);
    Ok(())
}

#[test]
#[ignore = "takes the screens of docs/screenshots anew: cargo xtask screenshots"]
fn screens_of_create() -> Result<()> {
    create("dark", LARGE, "create-dark.png")?;
    create("light", SMALL, "create-light-small.png")?;
    start("dark", LARGE, "start-dark.png")?;
    start("light", SMALL, "start-light-small.png")?;
    sheet("dark", LARGE, "sheet-dark.png")?;
    sheet("light", LARGE, "sheet-light.png")?;
    sheet("light", SMALL, "sheet-light-small.png")?;
    compared("dark", LARGE, ["compare-settings-dark.png", "compared-dark.png"])?;
    compared("light", SMALL, ["compare-settings-light-small.png", "compared-light-small.png"])?;
    folds("dark", ["settings-folded-dark.png", "settings-unfolded-dark.png"])?;
    folds("light", ["settings-folded-light.png", "settings-unfolded-light.png"])?;
    steps("dark", LARGE, "steps-dark.png")?;
    steps("light", SMALL, "steps-light-small.png")?;
    live("dark", LARGE, "live-dark.png")?;
    live("light", SMALL, "live-light-small.png")?;
    guides("dark", LARGE, "guides-dark.png")?;
    guides("light", SMALL, "guides-light-small.png")
}

#[test]
#[ignore = "takes the screens of docs/screenshots anew: cargo xtask screenshots"]
fn screens_of_the_canvas() -> Result<()> {
    candidates("dark", LARGE, "candidates-dark.png")?;
    candidates("light", SMALL, "candidates-light-small.png")?;
    regions("dark", LARGE, "regions-dark.png")?;
    regions("light", SMALL, "regions-light-small.png")?;
    layers("dark", LARGE, "canvas-dark.png")?;
    layers("dark", SMALL, "canvas-small.png")
}

#[test]
#[ignore = "takes the screens of docs/screenshots anew: cargo xtask screenshots"]
fn screens_of_the_queue_a_dropped_picture_and_an_empty_gallery() -> Result<()> {
    queue("dark", LARGE, "queue-dark.png")?;
    queue("dark", SMALL, "queue-small.png")?;
    dropped("dark", LARGE, "drop-dark.png")?;
    dropped("dark", SMALL, "drop-small.png")?;
    gallery_empty(LARGE, "gallery-empty.png")?;
    gallery_empty(SMALL, "gallery-empty-small.png")
}

#[test]
#[ignore = "takes the screens of docs/screenshots anew: cargo xtask screenshots"]
fn film_of_one_piece_of_work() -> Result<()> {
    film("film.png")
}

#[test]
#[ignore = "takes the screens of docs/screenshots anew: cargo xtask screenshots"]
fn screens_of_the_gallery() -> Result<()> {
    let session = Session::new("dark", LARGE)?;
    for (number, (prompt, size)) in GALLERY.into_iter().enumerate() {
        session.generate(prompt, 40 + number, size)?;
    }
    gallery(&session, "dark", LARGE, |desktop| {
        shoot(desktop, "gallery-dark.png")?;
        desktop.press("Home")?;
        desktop.press("space")?;
        desktop.wait("the large look", LONG, |desktop| desktop.find_by(|it| it.name.starts_with("Picture, ")))?;
        shoot(desktop, "gallery-look-dark.png")
    })?;
    gallery(&session, "dark", LARGE, |desktop| {
        compare(desktop)?;
        shoot(desktop, "gallery-compare-dark.png")
    })?;
    gallery(&session, "light", LARGE, |desktop| shoot(desktop, "gallery-light.png"))?;
    gallery(&session, "dark", SMALL, |desktop| {
        shoot(desktop, "gallery-small.png")?;
        compare(desktop)?;
        shoot(desktop, "gallery-compare-small.png")
    })
}
