//! Parts of pictures that the built-in model paints: the jump across their edge, and what changes
//! away from them, ours beside the engine's own inpainting.

use atelier_core::canvas::{AreaSettings, PixelRect};
use atelier_core::recipe::{ImageSource, InitImage, Recipe, Rgb8, Seed};
use atelier_engine::{End, Event, Handle, PreviewOptions, Task, start};
use atelier_library::Builtin;

use super::{LIMIT, Outcome};

/// Side of the picture.
const SIDE: u32 = 256;
const MASKED: PixelRect = PixelRect { left: 90, top: 90, width: 80, height: 80 };
/// Contours around the edge of the mask on which a jump may lie, in pixels: from inside to where
/// the soft edge ends.
const CONTOURS: std::ops::Range<i32> = -3..30;
/// Pixels from the mask on from which nothing should change.
const AWAY: u32 = 40;
const SUBJECTS: [(&str, &str); 3] = [
    ("mountains at sunset, pines, a lake", "a wooden hut by the lake"),
    ("a bowl of fruit on a table", "a red apple"),
    ("a street in the rain", "a yellow car"),
];

/// A way to paint the masked part.
struct Way {
    name: &'static str,
    area: Option<AreaSettings>,
    /// Cut out along the mask and laid over the picture.
    is_pasted_hard: bool,
}

/// Means over several pictures.
#[derive(Default)]
struct Sums {
    jump: f64,
    own_jump: f64,
    away: f64,
    away_worst: u8,
    inside: f64,
}

/// Prints the tables; `rounds`: pictures, at most three.
pub(super) fn measure(rounds: usize) -> Outcome<()> {
    let builtin = Builtin::find()?;
    let mut recipe = Recipe { seed: Some(Seed(7)), ..Recipe::default() };
    builtin.apply(&mut recipe);
    (recipe.width, recipe.height) = (SIDE, SIDE);
    let engine = start(|| {});
    let mut pictures = Vec::new();
    for (index, (prompt, part)) in SUBJECTS.iter().take(rounds.clamp(1, SUBJECTS.len())).enumerate() {
        let whole = Recipe { prompt: (*prompt).into(), seed: Some(Seed(7 + index as u64)), ..recipe.clone() };
        pictures
            .push((picture(&engine, &whole)?, Recipe { prompt: (*part).into(), seed: Some(Seed(70 + index as u64)), ..recipe.clone() }));
    }
    let usual = AreaSettings::default();
    let hard = AreaSettings { soft_mask: false, ..usual };
    let plain = AreaSettings { seam_correction: false, ..usual };
    let ways = [
        Way { name: "engine's own, whole picture", area: None, is_pasted_hard: false },
        Way { name: "engine's own, pasted along the mask", area: None, is_pasted_hard: true },
        Way { name: "ours, no seam correction", area: Some(plain), is_pasted_hard: false },
        Way { name: "ours, no soft mask", area: Some(hard), is_pasted_hard: false },
        Way { name: "ours", area: Some(usual), is_pasted_hard: false },
    ];
    println!("{} pictures of {SIDE} x {SIDE}, {} steps, a mask of 80 x 80; differences of bytes, 0 to 255\n", pictures.len(), recipe.steps);
    println!("| strength | way | largest mean jump across a contour | the picture's own | change away: mean | worst | change inside |");
    println!("|---|---|---|---|---|---|---|");
    for strength in [0.3, 0.6, 1.0] {
        for way in &ways {
            let Sums { jump, own_jump, away, away_worst, inside } = sums(&engine, &pictures, way, strength)?;
            println!("| {strength} | {} | {jump:.2} | {own_jump:.2} | {away:.2} | {away_worst} | {inside:.1} |", way.name);
        }
    }
    println!("\n| strength | change inside, engine's own | change inside, ours |\n|---|---|---|");
    for strength in [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0] {
        let inside = |way: &Way| Ok::<_, Box<dyn std::error::Error>>(sums(&engine, &pictures, way, strength)?.inside);
        println!("| {strength} | {:.1} | {:.1} |", inside(&ways[0])?, inside(&ways[4])?);
    }
    Ok(())
}

fn sums(engine: &Handle, pictures: &[(Rgb8, Recipe)], way: &Way, strength: f32) -> Outcome<Sums> {
    let mut sums = Sums::default();
    let count = pictures.len() as f64;
    for (start, recipe) in pictures {
        let init = Some(InitImage { image: ImageSource::Pixels(start.clone()), strength });
        let recipe = Recipe { init, mask: Some(ImageSource::Pixels(mask())), area: way.area, ..recipe.clone() };
        let mut painted = picture(engine, &recipe)?;
        if way.is_pasted_hard {
            let pixels = painted.pixels().chunks_exact(3).zip(start.pixels().chunks_exact(3)).enumerate();
            let pixels = pixels.flat_map(|(at, (new, old))| if MASKED.contains(x(at), y(at)) { new } else { old }).copied().collect();
            painted = Rgb8::new(SIDE, SIDE, pixels).ok_or("another size")?;
        }
        let jump = |picture: &Rgb8| CONTOURS.map(|by| jump_across(picture, by)).fold(0.0, f64::max);
        sums.jump += jump(&painted) / count;
        sums.own_jump += jump(start) / count;
        let changes = || {
            let bytes = painted.pixels().iter().zip(start.pixels());
            bytes.map(|(new, old)| new.abs_diff(*old)).enumerate().map(|(at, change)| (at / 3, change))
        };
        let mean = |values: Vec<u8>| values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len().max(1) as f64;
        let away: Vec<u8> = changes().filter(|(at, _)| !MASKED.expanded(AWAY).contains(x(*at), y(*at))).map(|(_, change)| change).collect();
        sums.away_worst = sums.away_worst.max(away.iter().copied().max().unwrap_or(0));
        sums.away += mean(away) / count;
        sums.inside += mean(changes().filter(|(at, _)| MASKED.contains(x(*at), y(*at))).map(|(_, change)| change).collect()) / count;
    }
    Ok(sums)
}

fn x(at: usize) -> i32 {
    (at as u32 % SIDE) as i32
}

fn y(at: usize) -> i32 {
    (at as u32 / SIDE) as i32
}

fn mask() -> Rgb8 {
    let value = |at: usize| if MASKED.contains(x(at), y(at)) { 255 } else { 0 };
    let pixels = (0..(SIDE * SIDE) as usize).flat_map(|at| [value(at); 3]).collect();
    Rgb8::new(SIDE, SIDE, pixels).unwrap_or_else(|| unreachable!("as many bytes as pixels"))
}

/// Mean difference between neighbours on both sides of the mask's edge, moved outwards by so many
/// pixels.
fn jump_across(picture: &Rgb8, by: i32) -> f64 {
    let edge = PixelRect::between((MASKED.left - by, MASKED.top - by), (MASKED.right() + by, MASKED.bottom() + by));
    let byte = |x: i32, y: i32, channel: usize| picture.pixels()[(y as usize * SIDE as usize + x as usize) * 3 + channel];
    let mut sum = 0.0;
    let mut count = 0.0;
    let mut add = |inside: (i32, i32), outside: (i32, i32)| {
        for channel in 0..3 {
            sum += f64::from(byte(inside.0, inside.1, channel).abs_diff(byte(outside.0, outside.1, channel)));
            count += 1.0;
        }
    };
    for x in edge.left..edge.right() {
        add((x, edge.top), (x, edge.top - 1));
        add((x, edge.bottom() - 1), (x, edge.bottom()));
    }
    for y in edge.top..edge.bottom() {
        add((edge.left, y), (edge.left - 1, y));
        add((edge.right() - 1, y), (edge.right(), y));
    }
    sum / count
}

/// The picture of a recipe.
pub(super) fn picture(engine: &Handle, recipe: &Recipe) -> Outcome<Rgb8> {
    engine.submit(Task::Generate { recipe: Box::new(recipe.clone()), preview: PreviewOptions::Off, shares_steps: false })?;
    let mut made = None;
    loop {
        match engine.next_within(LIMIT).ok_or("the engine does not answer")? {
            Event::Picture { picture, .. } => made = Some((*picture.image).clone()),
            Event::End { end: End::Done { .. }, .. } => return made.ok_or_else(|| "there is no picture".into()),
            Event::End { end, .. } => return Err(format!("{end:?}").into()),
            _ => {}
        }
    }
}
