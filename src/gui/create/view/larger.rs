//! The second pass at a larger size.

use std::path::{Path, PathBuf};

use eframe::egui::{ComboBox, DragValue, TextEdit, Ui};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::larger::{upscalers, with_upscaler};
use crate::gui::create::view::text_row::{numbers_text, text_row};
use crate::gui::state::State;
use crate::gui::widgets::{self, Scale, file_name, optional_row, row, slider_row};
use crate::settings::Fold;
use atelier_core::recipe::{Hires, LatentUpscaler, ROWS, Recipe, RedrawTiles, SHARE, Upscale};
use atelier_core::sd_cli::numbers;
use atelier_core::sentences::sentence;

const LANCZOS: &str = "Lanczos";
const NOTHING: &str = "Nothing";
/// Side of an upscaler's tiles with which one's own begins, which is also the usual one.
const USUAL_UPSCALER_TILE: u32 = 128;
const UPSCALER_TILES: &str = "Side of the upscaler's tiles in pixels. Larger tiles are quicker and need more memory. Off: 128.";
/// Side of a tile in pixels with which one's own begins.
const USUAL_SIDE: u32 = 768;

/// Draws the switch of tiles, and their words where it is on.
fn tile_rows(ui: &mut Ui, hires: &mut Hires) {
    let mut is_on = hires.tiles.is_some();
    row(ui, "Tiles", |ui| {
        let hover = "Regenerate the details tile by tile: needs the memory of one tile, whatever the size. Finished tiles are kept if it \
                     is interrupted.";
        ui.checkbox(&mut is_on, "Regenerate in tiles").on_hover_text(hover);
    });
    if is_on != hires.tiles.is_some() {
        hires.tiles = is_on.then(RedrawTiles::default);
    }
    if let Some(tiles) = &mut hires.tiles {
        let (least, most) = RedrawTiles::SIDES;
        let hover =
            "Tile size in pixels. Larger tiles see more of the picture and need more memory. Tiles overlap by an eighth, or 96 pixels.";
        optional_row(ui, "Tile side", &mut tiles.side, USUAL_SIDE, least..=most, 8.0, hover);
        row(ui, "Tile prompt", |ui| {
            let hover = "Prompt of every tile. Describe the style and not the subject, or the subject appears in every tile.";
            let edit = TextEdit::singleline(&mut tiles.words).hint_text(RedrawTiles::USUAL_WORDS).char_limit(500);
            let width = ui.available_width();
            widgets::line_edit(ui, width, edit).on_hover_text(hover).accessible_name("Prompt of the tiles");
        });
    }
}

/// Draws the factor, or the size that takes its place.
fn size_rows(ui: &mut Ui, hires: &mut Hires, first: (u32, u32)) {
    let (least, most) = Hires::SCALES;
    let quarter = Scale { step: 0.25, decimals: 2, logarithmic: false };
    if hires.target.is_none() {
        slider_row(ui, "Factor", &mut hires.scale, least..=most, &quarter, "Upscale factor of width and height.");
    }
    row(ui, "Own size", |ui| {
        let mut is_own = hires.target.is_some();
        ui.checkbox(&mut is_own, "").on_hover_text("Choose width and height in place of a factor.").accessible_name("Own size");
        if is_own != hires.target.is_some() {
            hires.target = is_own.then(|| Hires { target: None, ..hires.clone() }.size(first));
        }
        if let Some((width, height)) = &mut hires.target {
            let (least, most) = Hires::SIDES;
            for (side, name) in [(width, "Width of the second pass"), (height, "Height of the second pass")] {
                ui.add(DragValue::new(side).range(least..=most).speed(8.0)).on_hover_text("Pixels.").accessible_name(name);
            }
        }
    });
}

/// Draws the switch of the second pass, and its settings where it is on.
pub(crate) fn larger_section(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    let mut is_on = recipe.hires.is_some();
    let is_open = state.create.open_folds.contains(&Fold::Upscale);
    let words = ("Upscale", summary(state, recipe), "A second pass at a larger size, and what finishes a picture.");
    let switch = |ui: &mut Ui| {
        ui.checkbox(&mut is_on, "")
            .on_hover_text("Upscale each picture and regenerate its details at the larger size (hires fix).")
            .accessible_name("Upscale each picture");
    };
    let was_on = recipe.hires.is_some();
    let is_pressed = widgets::section(ui, (words.0, &words.1, words.2), is_open, switch, |ui| {
        if was_on {
            settings(ui, state, recipe);
        }
        finish_rows(ui, state, recipe);
    });
    if is_on != was_on {
        let upscaler = upscalers(&state.shared).next().map(|(_, path)| path.to_owned());
        recipe.hires = is_on.then(|| with_upscaler(&Hires::default(), upscaler));
    }
    if is_pressed {
        commands.push(Command::SetFold(Fold::Upscale, !is_open));
    }
}

/// "2×, denoise 0.4, Lanczos", or "off".
fn summary(state: &State, recipe: &Recipe) -> String {
    let mut parts = Vec::new();
    if let Some(hires) = &recipe.hires {
        parts.push(hires.target.map_or_else(|| format!("{}×", hires.scale), |(width, height)| format!("{width} × {height}")));
        parts.push(format!("denoise {}", hires.strength));
        let usual = || hires.latent.map_or(LANCZOS, LatentUpscaler::label).to_owned();
        parts.push(hires.upscaler.as_deref().map_or_else(usual, |path| upscaler_name(state, path)));
    }
    parts.extend(recipe.upscale.iter().map(|upscale| format!("finished by {}", upscaler_name(state, &upscale.model))));
    if parts.is_empty() { "off".to_owned() } else { parts.join(", ") }
}

/// The name of an upscaler's file.
fn upscaler_name(state: &State, path: &Path) -> String {
    let known = upscalers(&state.shared).find(|(_, of)| *of == path).map(|(name, _)| name.to_owned());
    known.unwrap_or_else(|| file_name(path))
}

/// Draws what is made of the finished picture, where there is a model for it.
fn finish_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    if recipe.upscale.is_none() && upscalers(&state.shared).next().is_none() {
        return;
    }
    row(ui, "Finish", |ui| {
        let mut chosen = recipe.upscale.as_ref().map(|upscale| upscale.model.clone());
        let before = chosen.clone();
        let combo = ComboBox::from_id_salt("Finish")
            .width(ui.available_width())
            .truncate()
            .icon(widgets::chevron)
            .selected_text(chosen.as_deref().map_or_else(|| NOTHING.to_owned(), |path| upscaler_name(state, path)))
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut chosen, None, NOTHING);
                for (name, path) in upscalers(&state.shared) {
                    ui.selectable_value(&mut chosen, Some(path.to_owned()), name);
                }
            });
        let hover = "Upscale the finished picture by this model, to the model's own factor.";
        combo.response.on_hover_text(hover).accessible_name("Finish");
        if chosen != before {
            // Whoever chooses a file of this machine agrees to it.
            let kept = recipe.upscale.take();
            recipe.upscale = chosen.map(|model| {
                let by = Upscale { allow_pickle: true, ..Upscale::by(model) };
                kept.map_or(by.clone(), |kept| Upscale { model: by.model, ..kept })
            });
        }
    });
    if let Some(upscale) = &mut recipe.upscale {
        row(ui, "Repeats", |ui| {
            let hover = "Times that the picture is upscaled. Each multiplies its width and height.";
            ui.add(DragValue::new(&mut upscale.repeats).range(Upscale::REPEATS)).on_hover_text(hover).accessible_name("Repeats");
        });
        let (least, most) = Upscale::TILES.into_inner();
        optional_row(ui, "Finish tiles", &mut upscale.tile_size, USUAL_UPSCALER_TILE, least..=most, 8.0, UPSCALER_TILES);
    }
}

fn settings(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let (first, upscales_init) = ((recipe.width, recipe.height), recipe.upscales_init());
    let Some(hires) = &mut recipe.hires else { return };
    size_rows(ui, hires, first);
    let hundredth = Scale { step: 0.01, decimals: 2, logarithmic: false };
    let hover = "Denoising strength of the second pass: 0 only upscales, 0.3 to 0.5 adds detail, more changes the picture.";
    slider_row(ui, "Denoise", &mut hires.strength, SHARE, &hundredth, hover);
    let hover = "Steps of the second pass. Off: as many as the picture has.";
    optional_row(ui, "Steps", &mut hires.steps, 20, ROWS.steps.limits, 0.2, hover);
    let hover = "Noise levels of the second pass, separated by commas, in place of its schedule, strength and steps.";
    text_row(ui, "Hires sigmas", "3.5, 1.2, 0", &numbers_text(&hires.sigmas), hover, |text| {
        hires.sigmas = numbers(text).map_err(|reason| sentence(&reason))?;
        Ok(())
    });
    tile_rows(ui, hires);
    // Latents are those that the first pass made.
    let offers_latents = hires.latent.is_some() || (hires.tiles.is_none() && !upscales_init);
    row(ui, "Upscaler", |ui| {
        let name_of = |path: &Path| upscaler_name(state, path);
        let usual = |hires: &Hires| hires.latent.map_or(LANCZOS, LatentUpscaler::label).to_owned();
        let mut chosen: (Option<PathBuf>, Option<LatentUpscaler>) = (hires.upscaler.clone(), hires.latent);
        let combo = ComboBox::from_id_salt("Upscaler")
            .width(ui.available_width())
            .truncate()
            .icon(widgets::chevron)
            .selected_text(hires.upscaler.as_deref().map_or_else(|| usual(hires), name_of))
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut chosen, (None, None), LANCZOS);
                for (name, path) in upscalers(&state.shared) {
                    ui.selectable_value(&mut chosen, (Some(path.to_owned()), None), name);
                }
                for latent in LatentUpscaler::ALL.iter().filter(|_| offers_latents) {
                    ui.selectable_value(&mut chosen, (None, Some(*latent)), latent.label());
                }
            });
        let hover = "Upscaler: Lanczos only interpolates; upscaler models, found in the Models view, add detail. Latent upscalers need a \
                     strength of 0.5 or more.";
        combo.response.on_hover_text(hover).accessible_name("Upscaler");
        if chosen.0 != hires.upscaler {
            *hires = with_upscaler(hires, chosen.0);
        }
        hires.latent = chosen.1;
    });
    if hires.upscaler.is_some() {
        let (least, most) = Upscale::TILES.into_inner();
        optional_row(ui, "Upscaler tiles", &mut hires.tile_size, USUAL_UPSCALER_TILE, least..=most, 8.0, UPSCALER_TILES);
    }
}
