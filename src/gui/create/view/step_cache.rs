//! The step cache, and what it reuses.

use eframe::egui::{ComboBox, Ui};

use crate::gui::create::view::text_row::text_row;
use crate::gui::state::State;
use crate::gui::widgets::{self, row};
use atelier_core::recipe::{CacheMode, Recipe, StepCache};
use atelier_core::sentences::sentence;
use atelier_language::tr;

/// Draws the choice of a step cache, and its settings where there is one.
pub(super) fn step_cache_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let hover = tr!("create-step-cache-reuse-parts");
    row(ui, tr!("create-step-cache"), |ui| {
        let mode = recipe.step_cache.as_ref().map(|cache| cache.mode);
        let mut chosen = mode;
        let combo = ComboBox::from_id_salt("Step cache")
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(mode.map_or(tr!("create-none"), CacheMode::label))
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut chosen, None, tr!("create-none"));
                for mode in CacheMode::ALL.iter().filter(|mode| state.shared.uses_cache(**mode)) {
                    ui.selectable_value(&mut chosen, Some(*mode), mode.label());
                }
            });
        combo.response.on_hover_text(hover).accessible_name(tr!("create-step-cache"));
        if chosen != mode {
            recipe.step_cache = chosen.map(StepCache::of);
        }
    });
    if let Some(cache) = &mut recipe.step_cache {
        cache_parts(ui, cache);
    }
}

fn cache_parts(ui: &mut Ui, cache: &mut StepCache) {
    let hover = tr!("create-options-of-the-step-cache", names = StepCache::OPTIONS.map(|(name, _)| name).join(", "));
    let own = cache.options_text();
    text_row(ui, tr!("create-cache-options"), "threshold=0.25, start=0.1", &own, &hover, |text| {
        cache.options = StepCache::read_options(text).map_err(|reason| sentence(&reason))?;
        Ok(())
    });
    // What is set stays in sight.
    if !cache.mode.has_mask() && cache.mask.is_empty() && !cache.is_mask_static {
        return;
    }
    let own = cache.mask_text();
    text_row(ui, tr!("create-cache-mask"), "1, 1, 0, 0", &own, tr!("create-steps-that-are-computed"), |text| {
        cache.mask = StepCache::read_mask(text).map_err(|reason| sentence(&reason))?;
        Ok(())
    });
    row(ui, tr!("create-masked-steps"), |ui| {
        let hover = tr!("create-reuse-steps-of-the-mask");
        ui.checkbox(&mut cache.is_mask_static, tr!("create-reuse-always")).on_hover_text(hover)
    });
}
