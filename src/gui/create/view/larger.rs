//! The second pass at a larger size.

use std::path::{Path, PathBuf};

use eframe::egui::{ComboBox, TextEdit, Ui};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::larger::{upscalers, with_upscaler};
use crate::gui::create::view::text_row::text_row;
use crate::gui::state::State;
use crate::gui::widgets::{self, Scale, file_name, optional_row, row, slider_row};
use crate::settings::Fold;
use atelier_core::recipe::{Hires, LatentUpscaler, ROWS, Recipe, RedrawTiles, SHARE, Upscale};
use atelier_core::sd_cli::numbers;
use atelier_core::sentences::{sentence, with_commas};
use atelier_language::tr;

const LANCZOS: &str = "Lanczos";
/// Side of an upscaler's tiles with which one's own begins, which is also the usual one.
const USUAL_UPSCALER_TILE: u32 = 128;
/// Side of a tile in pixels with which one's own begins.
const USUAL_SIDE: u32 = 768;

/// Draws the switch of tiles, and their words where it is on.
fn tile_rows(ui: &mut Ui, hires: &mut Hires) {
    let mut is_on = hires.tiles.is_some();
    row(ui, tr!("create-tiles"), |ui| {
        let hover = tr!("create-regenerate-the-details-tile");
        ui.checkbox(&mut is_on, tr!("create-regenerate-in-tiles")).on_hover_text(hover);
    });
    if is_on != hires.tiles.is_some() {
        hires.tiles = is_on.then(RedrawTiles::default);
    }
    if let Some(tiles) = &mut hires.tiles {
        let (least, most) = RedrawTiles::SIDES;
        let hover = tr!("create-tile-size-in-pixels");
        optional_row(ui, tr!("create-tile-side"), &mut tiles.side, USUAL_SIDE, least..=most, 8.0, hover);
        row(ui, tr!("create-tile-prompt"), |ui| {
            let hover = tr!("create-prompt-of-every-tile");
            let edit = TextEdit::singleline(&mut tiles.words).hint_text(RedrawTiles::USUAL_WORDS).char_limit(500);
            let width = ui.available_width();
            widgets::line_edit(ui, width, edit).on_hover_text(hover).accessible_name(tr!("create-prompt-of-the-tiles"));
        });
    }
}

/// Draws the factor, or the size that takes its place.
fn size_rows(ui: &mut Ui, hires: &mut Hires, first: (u32, u32)) {
    let (least, most) = Hires::SCALES;
    let quarter = Scale { step: 0.25, decimals: 2, logarithmic: false };
    if hires.target.is_none() {
        slider_row(ui, tr!("create-factor"), &mut hires.scale, least..=most, &quarter, tr!("create-upscale-factor-of-width"));
    }
    row(ui, tr!("create-own-size"), |ui| {
        let mut is_own = hires.target.is_some();
        ui.checkbox(&mut is_own, "").on_hover_text(tr!("create-choose-width-and-height")).accessible_name(tr!("create-own-size"));
        if is_own != hires.target.is_some() {
            hires.target = is_own.then(|| Hires { target: None, ..hires.clone() }.size(first));
        }
        if let Some((width, height)) = &mut hires.target {
            let (least, most) = Hires::SIDES;
            for (side, name) in [(width, tr!("create-width-of-the-second")), (height, tr!("create-height-of-the-second"))] {
                ui.add(widgets::number_field(side).range(least..=most).speed(8.0))
                    .on_hover_text(tr!("create-pixels"))
                    .accessible_name(name);
            }
        }
    });
}

/// Draws the switch of the second pass, and its settings where it is on.
pub(crate) fn larger_section(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    let mut is_on = recipe.hires.is_some();
    let is_open = state.create.open_folds.contains(&Fold::Upscale);
    let words = (tr!("create-upscale"), summary(state, recipe), tr!("create-a-second-pass-at"));
    let switch = |ui: &mut Ui| {
        ui.checkbox(&mut is_on, "")
            .on_hover_text(tr!("create-upscale-each-picture-and"))
            .accessible_name(tr!("create-upscale-each-picture"));
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
        parts.push(hires.target.map_or_else(
            || format!("{}×", atelier_language::decimal(hires.scale.to_string())),
            |(width, height)| format!("{width} × {height}"),
        ));
        parts.push(tr!("create-denoise", strength = hires.strength));
        let usual = || hires.latent.map_or(LANCZOS, LatentUpscaler::label).to_owned();
        parts.push(hires.upscaler.as_deref().map_or_else(usual, |path| upscaler_name(state, path)));
    }
    parts.extend(recipe.upscale.iter().map(|upscale| tr!("create-finished-by", upscaler_name = upscaler_name(state, &upscale.model))));
    if parts.is_empty() { tr!("create-off-2").to_owned() } else { parts.join(", ") }
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
    row(ui, tr!("create-finish"), |ui| {
        let mut chosen = recipe.upscale.as_ref().map(|upscale| upscale.model.clone());
        let before = chosen.clone();
        let combo = ComboBox::from_id_salt("Finish")
            .width(ui.available_width())
            .truncate()
            .icon(widgets::chevron)
            .selected_text(chosen.as_deref().map_or_else(|| tr!("create-nothing").to_owned(), |path| upscaler_name(state, path)))
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut chosen, None, tr!("create-nothing"));
                for (name, path) in upscalers(&state.shared) {
                    ui.selectable_value(&mut chosen, Some(path.to_owned()), name);
                }
            });
        let hover = tr!("create-upscale-the-finished-picture");
        combo.response.on_hover_text(hover).accessible_name(tr!("create-finish"));
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
        row(ui, tr!("create-repeats"), |ui| {
            let hover = tr!("create-times-that-the-picture");
            ui.add(widgets::whole_number(&mut upscale.repeats, Upscale::REPEATS))
                .on_hover_text(hover)
                .accessible_name(tr!("create-repeats"));
        });
        let (least, most) = Upscale::TILES.into_inner();
        optional_row(
            ui,
            tr!("create-finish-tiles"),
            &mut upscale.tile_size,
            USUAL_UPSCALER_TILE,
            least..=most,
            8.0,
            tr!("create-side-of-the-upscalers"),
        );
    }
}

fn settings(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let (first, upscales_init) = ((recipe.width, recipe.height), recipe.upscales_init());
    let Some(hires) = &mut recipe.hires else { return };
    size_rows(ui, hires, first);
    let hundredth = Scale { step: 0.01, decimals: 2, logarithmic: false };
    let hover = tr!("create-denoising-strength-of-the");
    slider_row(ui, tr!("create-denoise-2"), &mut hires.strength, SHARE, &hundredth, hover);
    let hover = tr!("create-steps-of-the-second");
    optional_row(ui, tr!("create-hires-steps"), &mut hires.steps, 20, ROWS.steps.limits, 0.2, hover);
    let hover = tr!("create-noise-levels-of-the");
    text_row(ui, tr!("create-hires-sigmas"), "3.5, 1.2, 0", &with_commas(&hires.sigmas), hover, |text| {
        hires.sigmas = numbers(text).map_err(|reason| sentence(&reason))?;
        Ok(())
    });
    tile_rows(ui, hires);
    // Latents are those that the first pass made.
    let offers_latents = hires.latent.is_some() || (hires.tiles.is_none() && !upscales_init);
    row(ui, tr!("create-upscaler"), |ui| {
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
        let hover = tr!("create-upscaler-lanczos-only-interpolates");
        combo.response.on_hover_text(hover).accessible_name(tr!("create-upscaler"));
        if chosen.0 != hires.upscaler {
            *hires = with_upscaler(hires, chosen.0);
        }
        hires.latent = chosen.1;
    });
    if hires.upscaler.is_some() {
        let (least, most) = Upscale::TILES.into_inner();
        optional_row(
            ui,
            tr!("create-upscaler-tiles"),
            &mut hires.tile_size,
            USUAL_UPSCALER_TILE,
            least..=most,
            8.0,
            tr!("create-side-of-the-upscalers"),
        );
    }
}
