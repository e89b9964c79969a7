//! A contact sheet of the built-in model: `cargo xtask sheet [-- [--schedule] [FILE]]`.
//!
//! Makes 24 pictures with the model's own settings, as the window and the command line make them,
//! and writes them with their prompts into one PNG (`docs/screenshots/builtin.png` where no other
//! file is named). With `--schedule` it is the film of a schedule: prompts with `[from:to:when]` at
//! each step at which their words can change, a row a prompt (`docs/screenshots/schedule.png`). The
//! same model gives the same sheet.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atelier::gui::theme;
use atelier_core::recipe::{Recipe, Rgb8, Seed};
use atelier_engine::{End, Event, Handle, PreviewOptions, Task, start};
use atelier_library::Builtin;
use atelier_media::{Metadata, write_picture};
use eframe::egui::{Color32, ColorImage, Context, FontId, Galley, ImageData, RawInput, TextureId};

type Outcome<T> = Result<T, Box<dyn Error>>;

const PROMPTS: [&str; 24] = [
    "a red sunset over snowy mountains, a lake, pine trees",
    "a starry night above a quiet sea, a small boat",
    "golden dunes at dawn under a pale pink sky",
    "a misty autumn forest in the early morning",
    "green hills at noon, a meadow with flowers, birds",
    "northern lights over a frozen lake in winter",
    "a city skyline at dusk, purple sky",
    "a cabin by a lake, orange evening light",
    "a stormy grey sea under heavy clouds",
    "the moon above blue mountains",
    "a lone tree on a hill at sunset",
    "islands in a teal sea, a bright summer day",
    "cliffs above the sea at dawn",
    "a pink sky over a calm lake",
    "a pine forest in the snow at night",
    "a desert under the midday sun",
    "mountains in black and white, misty",
    "a sailing boat on a golden sea at sunrise",
    "a purple night with many stars, round hills",
    "spring meadow, round trees, soft clouds",
    "a city at night beside the water, its lights reflected",
    "red cliffs, a green valley, clear sky",
    "autumn trees round a lake, golden light",
    "snowy peaks under a clear blue sky",
];
const COLUMNS: usize = 6;
/// Prompts whose words change after so many steps as stand in the place of `WHEN`.
const SCHEDULES: [&str; 3] = [
    "[a sunny day:a starry night:WHEN] above a lake, mountains",
    "[autumn:winter:WHEN], a forest, hills",
    "a green valley, [a rainbow::WHEN]",
];
/// Pixels between and round the pictures.
const GAP: usize = 14;
/// Pixels below each picture for its text: two lines.
const CAPTION: usize = 40;
const FONT: FontId = FontId::proportional(13.0);
/// Longer than any picture here takes.
const LIMIT: Duration = Duration::from_mins(10);

/// A picture that is to be made, and what stands below it.
struct Cell {
    recipe: Recipe,
    caption: String,
}

fn main() -> Outcome<()> {
    let (flags, files): (Vec<_>, Vec<_>) = std::env::args_os().skip(1).partition(|it| it == "--schedule");
    let builtin = Builtin::find()?;
    let (columns, cells, usual) = if flags.is_empty() {
        (COLUMNS, model_cells(&builtin), "docs/screenshots/builtin.png")
    } else {
        let (columns, cells) = schedule_cells(&builtin);
        (columns, cells, "docs/screenshots/schedule.png")
    };
    let target = files.first().map_or_else(|| PathBuf::from(usual), PathBuf::from);
    let engine = start(|| ());
    let mut pictures = Vec::new();
    for cell in &cells {
        let (picture, secs) = make(&engine, cell.recipe.clone())?;
        eprintln!("{secs:5.2} s  {}", cell.recipe.prompt);
        pictures.push(picture);
    }
    let texts: Vec<&str> = cells.iter().map(|cell| cell.caption.as_str()).collect();
    let sheet = compose(&pictures, &texts, columns)?;
    write_picture(&target, &sheet, &Metadata::default())?;
    println!("{}", Path::new(&target).display());
    Ok(())
}

/// What the model can paint.
fn model_cells(builtin: &Builtin) -> Vec<Cell> {
    let cell = |(seed, prompt): (u64, &str)| {
        let mut recipe = Recipe { prompt: prompt.into(), seed: Some(Seed(seed)), ..Recipe::default() };
        builtin.apply(&mut recipe);
        Cell { recipe, caption: prompt.to_owned() }
    };
    (1..).zip(PROMPTS).map(cell).collect()
}

/// The schedules at each step after which they can change, and how many those are: from no step,
/// where only the words after the change are read, to all of them.
fn schedule_cells(builtin: &Builtin) -> (usize, Vec<Cell>) {
    let mut usual = Recipe { seed: Some(Seed(4)), ..Recipe::default() };
    builtin.apply(&mut usual);
    let steps = usual.steps_in_pass(0);
    let cell = |schedule: &str, done: u32| {
        let prompt = schedule.replace("WHEN", &done.to_string());
        Cell { caption: prompt.clone(), recipe: Recipe { prompt, ..usual.clone() } }
    };
    let cells = SCHEDULES.into_iter().flat_map(|schedule| (0..=steps).map(move |done| (schedule, done)));
    (steps as usize + 1, cells.map(|(schedule, done)| cell(schedule, done)).collect())
}

/// A picture of this recipe, and how many seconds it took.
fn make(engine: &Handle, recipe: Recipe) -> Outcome<(Arc<Rgb8>, f64)> {
    engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    let mut made = None;
    loop {
        match engine.next_within(LIMIT).ok_or("the engine is silent")? {
            Event::Picture { picture, .. } => made = Some(picture.image),
            Event::End { end: End::Done { timings, .. }, .. } => return Ok((made.ok_or("no picture came")?, timings.total_secs)),
            Event::End { end: End::Failed(failure), .. } => {
                return Err(format!("{} {}", failure.advice.sentence, failure.advice.hint).into());
            }
            Event::End { end: End::Cancelled, .. } => return Err("it was cancelled".into()),
            _ => {}
        }
    }
}

/// The pictures in rows of so many, each with its text below.
fn compose(pictures: &[Arc<Rgb8>], texts: &[&str], columns: usize) -> Outcome<Rgb8> {
    let cell = |side: fn(&Rgb8) -> u32| pictures.iter().map(|it| side(it) as usize).max().unwrap_or(0);
    let (wide, high) = (cell(Rgb8::width), cell(Rgb8::height));
    let (captions, atlas) = captions(texts, wide)?;
    let width = GAP + columns * (wide + GAP);
    let height = GAP + pictures.len().div_ceil(columns) * (high + CAPTION + GAP);
    let mut sheet = Sheet { width, pixels: [0xf4, 0xf4, 0xf2].repeat(width * height) };
    for (n, (picture, caption)) in pictures.iter().zip(&captions).enumerate() {
        let (left, top) = (GAP + n % columns * (wide + GAP), GAP + n / columns * (high + CAPTION + GAP));
        let rows = picture.pixels().chunks_exact(picture.width() as usize * 3);
        for (y, row) in rows.enumerate() {
            for (x, pixel) in row.chunks_exact(3).enumerate() {
                sheet.blend(left + x, top + y, |channel| pixel.get(channel).copied().unwrap_or(0), 255);
            }
        }
        sheet.write(caption, &atlas, left, top + high + 6);
    }
    let Sheet { pixels, .. } = sheet;
    Rgb8::new(width as u32, height as u32, pixels).ok_or_else(|| "the sheet has another size".into())
}

/// Texts set in lines of this many pixels, and the letters that they are set from.
fn captions(texts: &[&str], wide: usize) -> Outcome<(Vec<Arc<Galley>>, ColorImage)> {
    let ctx = Context::default();
    theme::install(&ctx);
    let mut set = Vec::new();
    let mut output = ctx.run_ui(RawInput::default(), |ui| {
        set = texts.iter().map(|text| ui.painter().layout((*text).to_owned(), FONT, Color32::PLACEHOLDER, wide as f32)).collect();
    });
    let letters = output.textures_delta.set.get(&TextureId::default()).and_then(|all| all.iter().rfind(|it| it.pos.is_none()));
    let ImageData::Color(atlas) = letters.map(|it| it.image.clone()).ok_or("the letters were not drawn")?;
    // Without a screen nobody else takes them.
    output.textures_delta.clear();
    Ok((set, atlas.as_ref().clone()))
}

/// Rows of RGB.
struct Sheet {
    width: usize,
    pixels: Vec<u8>,
}

impl Sheet {
    /// Lays a colour over a pixel; what is outside is left out.
    fn blend(&mut self, x: usize, y: usize, colour: impl Fn(usize) -> u8, alpha: u8) {
        let at = (y * self.width + x) * 3;
        for (channel, value) in self.pixels.get_mut(at..at + 3).into_iter().flatten().enumerate() {
            let (over, under, alpha) = (u32::from(colour(channel)), u32::from(*value), u32::from(alpha));
            *value = ((over * alpha + under * (255 - alpha)) / 255) as u8;
        }
    }

    fn write(&mut self, text: &Galley, atlas: &ColorImage, left: usize, top: usize) {
        for row in &text.rows {
            for glyph in &row.row.glyphs {
                let uv = glyph.uv_rect;
                let corner = row.pos + glyph.pos.to_vec2() + uv.offset;
                let (x0, y0) = (left + corner.x.round().max(0.0) as usize, top + corner.y.round().max(0.0) as usize);
                for y in uv.min[1]..uv.max[1] {
                    for x in uv.min[0]..uv.max[0] {
                        let coverage = atlas.pixels.get(usize::from(y) * atlas.size[0] + usize::from(x)).map_or(0, Color32::a);
                        self.blend(x0 + usize::from(x - uv.min[0]), y0 + usize::from(y - uv.min[1]), |_| 0x33, coverage);
                    }
                }
            }
        }
    }
}
