//! LoRAs: chips below the prompt, the list with switches and strengths, and the picker of those on
//! this disk.

use std::path::Path;

use eframe::egui::{
    Align, Button, Frame, Id, Label, Layout, Margin, Popup, PopupCloseBehavior, Response, RichText, ScrollArea, Sense, Slider,
    SliderClamping, TextEdit, Ui, UiBuilder, vec2,
};

use crate::gui::axes;
use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::loras::{KnownLora, known_loras, lora_name};
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bare_icon, command_button, command_control};
use crate::settings::Fold;
use atelier_core::format::decimal;
use atelier_core::recipe::{Lora, Recipe, add_words};
use atelier_language::tr;

/// Width of the picker and its most height, in points.
const PICKER_WIDTH: f32 = 380.0;
const PICKER_HEIGHT: f32 = 360.0;
/// Side of a picture in the picker, in points.
const PICTURE: f32 = 36.0;
/// Width of the number beside a slider, in points.
const NUMBER_WIDTH: f32 = 52.0;
/// Trigger words of one LoRA that are offered.
const MAX_TRIGGERS: usize = 6;

/// Draws the LoRAs that have an effect, and those that the prompt names and nobody knows, as chips.
pub(crate) fn lora_chips(ui: &mut Ui, state: &State) {
    let next = &state.shared.next;
    let (recipe, named, unknown) = (next.resolved_recipe(), next.prompt_loras(), next.unknown_loras());
    if recipe.loras.is_empty() && unknown.is_empty() {
        return;
    }
    let palette = theme::palette(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
        let known = recipe.loras.iter().map(|lora| {
            let encoder =
                lora.encoder_strength.map(|strength| tr!("create-words", strength = format!("{strength:.2}"))).unwrap_or_default();
            let words = format!("{} · {}{encoder}", lora_name(&lora.path), decimal(f64::from(lora.strength), 2));
            let path = lora.path.display();
            let hover = if is_named(&named, &lora.path) {
                tr!("create-lora-its-strength-stands", path)
            } else {
                tr!("create-lora-its-strength-is", path)
            };
            (words, palette.text, hover)
        });
        let unknown = unknown.iter().map(|name| {
            let hover = tr!("create-no-lora-has-this");
            (tr!("create-not-found", name), palette.warn, hover.to_owned())
        });
        for (words, color, hover) in known.chain(unknown) {
            Frame::new().fill(palette.field).stroke((1.0, palette.line)).corner_radius(8).inner_margin(Margin::symmetric(7, 2)).show(
                ui,
                |ui| {
                    ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(color)).truncate()).on_hover_text(hover);
                },
            );
        }
    });
}

/// Draws the LoRAs, those that are switched off behind the others.
pub(crate) fn lora_section(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    let is_open = state.create.open_folds.contains(&Fold::Loras);
    let named = state.shared.next.prompt_loras();
    let words = (tr!("create-loras"), summary(recipe, &named), tr!("create-additions-to-the-model"));
    let pick = |ui: &mut Ui| picker(ui, state, &state.shared.next.recipe, &named, commands);
    let is_pressed = widgets::section(ui, (words.0, &words.1, words.2), is_open, pick, |ui| lora_rows(ui, state, recipe, &named));
    if is_pressed {
        commands.push(Command::SetFold(Fold::Loras, !is_open));
    }
}

/// True where the prompt names this file, so that the list has no say in it.
fn is_named(named: &[Lora], path: &Path) -> bool {
    named.iter().any(|lora| lora.path == path)
}

/// "ink 0.80, paint 1.00, 1 off", or "none". `named`: the LoRAs of the prompt.
fn summary(recipe: &Recipe, named: &[Lora]) -> String {
    let listed = recipe.loras.iter().filter(|lora| !is_named(named, &lora.path));
    let mut parts: Vec<String> =
        named.iter().chain(listed).map(|lora| format!("{} {}", lora_name(&lora.path), decimal(f64::from(lora.strength), 2))).collect();
    let off = recipe.disabled_loras.len();
    parts.extend((off > 0).then(|| tr!("create-off-3", off)));
    if parts.is_empty() { tr!("create-none-2").to_owned() } else { parts.join(", ") }
}

fn lora_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, named: &[Lora]) {
    let (mut removed, mut switched, mut words) = (None, None, Vec::new());
    for (at, lora) in named.iter().enumerate() {
        let is_removed = ui.push_id(("of the prompt", at), |ui| {
            let is_removed = prompt_row(ui, state, lora);
            words.extend(facts(ui, state, lora, &recipe.prompt));
            is_removed
        });
        if is_removed.inner {
            recipe.prompt = state.shared.next.without_lora(&recipe.prompt, &lora.path);
            recipe.loras.retain(|listed| listed.path != lora.path);
        }
    }
    let Recipe { loras, disabled_loras, prompt, .. } = recipe;
    let all = loras.iter_mut().map(|lora| (lora, true)).chain(disabled_loras.iter_mut().map(|lora| (lora, false)));
    for (at, (lora, is_on)) in all.enumerate().filter(|(_, (lora, is_on))| !(*is_on && is_named(named, &lora.path))) {
        let name = lora.path.display().to_string();
        // One file may be there for several ranges of the steps.
        ui.push_id((name, at), |ui| {
            match name_row(ui, state, lora, is_on) {
                RowChange::None => {}
                RowChange::Removed => removed = Some(at),
                RowChange::Switched => switched = Some(at),
            }
            strength_rows(ui, lora, is_on);
            if is_on {
                words.extend(facts(ui, state, lora, prompt));
            }
        });
    }
    for words in words {
        add_words(prompt, &words);
    }
    if let Some(at) = removed {
        take(recipe, at);
    }
    if let Some((lora, was_on)) = switched.and_then(|at| take(recipe, at)) {
        if was_on { &mut recipe.disabled_loras } else { &mut recipe.loras }.push(lora);
    }
}

/// Takes the LoRA of this place in the list out, and tells whether it was switched on.
fn take(recipe: &mut Recipe, at: usize) -> Option<(Lora, bool)> {
    let enabled = recipe.loras.len();
    if at < enabled {
        return Some((recipe.loras.remove(at), true));
    }
    (at - enabled < recipe.disabled_loras.len()).then(|| (recipe.disabled_loras.remove(at - enabled), false))
}

/// Change of the list of LoRAs by one of its rows.
enum RowChange {
    None,
    Removed,
    Switched,
}

/// Draws a LoRA that the prompt names. True where its tags are to leave the prompt.
fn prompt_row(ui: &mut Ui, state: &State, lora: &Lora) -> bool {
    let weak = theme::palette(ui).weak;
    let name = lora_name(&lora.path);
    let mut is_removed = false;
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::right_to_left(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let remove = bare_icon(ui, Icon::Close, &tr!("create-remove-lora", name));
        is_removed = remove.on_hover_text(tr!("create-remove-this-lora-from")).clicked();
        let hover = tr!("create-lora-its-strength-stands", path = lora.path.display());
        ui.label(widgets::small(tr!("create-in-the-prompt", strengths = lora.strengths()), weak)).on_hover_text(hover);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| name_label(ui, state, lora, true));
    });
    is_removed
}

/// Draws switch, picture and name.
fn name_row(ui: &mut Ui, state: &State, lora: &Lora, is_on: bool) -> RowChange {
    let name = lora_name(&lora.path);
    let (mut is_on_now, mut is_removed) = (is_on, false);
    let left = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.checkbox(&mut is_on_now, "").on_hover_text(tr!("create-turn-this-lora-on")).accessible_name(tr!("create-use-lora", name));
        name_label(ui, state, lora, is_on);
    };
    widgets::row_of_sides(ui, ROW_HEIGHT, "name", left, |ui| {
        let remove = bare_icon(ui, Icon::Close, &tr!("create-remove-lora", name));
        is_removed = remove.on_hover_text(tr!("create-remove-this-lora-the")).clicked();
    });
    match (is_removed, is_on_now != is_on) {
        (true, _) => RowChange::Removed,
        (false, true) => RowChange::Switched,
        (false, false) => RowChange::None,
    }
}

/// Draws picture and name.
fn name_label(ui: &mut Ui, state: &State, lora: &Lora, is_on: bool) {
    let palette = theme::palette(ui);
    let name = lora_name(&lora.path);
    last_picture(ui, state, &name, ROW_HEIGHT);
    let missing = state.shared.missing_files.contains(&lora.path);
    let color = match (missing, is_on) {
        (true, _) => palette.warn,
        (false, true) => palette.text,
        (false, false) => palette.weak,
    };
    let path = lora.path.display().to_string();
    let hover = if missing { tr!("create-this-file-no-longer-exists", path) } else { path };
    let shown = widgets::middle_elided(ui, &name, ui.available_width());
    let label = Label::new(RichText::new(shown).color(color)).truncate();
    axes::axis_label(ui, label, &format!("lora:{name}")).on_hover_text(hover);
}

/// Draws the strength, and that of text encoders where it is another one.
fn strength_rows(ui: &mut Ui, lora: &mut Lora, is_on: bool) {
    let name = lora_name(&lora.path);
    let hover = tr!("create-lora-strength-1-is");
    let menu = |lora: &mut Lora, ui: &mut Ui| {
        let mut is_split = lora.encoder_strength.is_some();
        if ui.checkbox(&mut is_split, tr!("create-words-have-a-strength")).clicked() {
            lora.encoder_strength = is_split.then_some(lora.strength);
            ui.close();
        }
    };
    strength_row(ui, &tr!("create-strength-of", name), hover, &mut lora.strength, is_on).context_menu(|ui| menu(lora, ui));
    if let Some(strength) = &mut lora.encoder_strength {
        let hover = tr!("create-strength-in-the-text");
        strength_row(ui, &tr!("create-strength-of-in-words", name), hover, strength, is_on).context_menu(|ui| menu(lora, ui));
    }
}

fn strength_row(ui: &mut Ui, name: &str, hover: &str, strength: &mut f32, is_on: bool) -> Response {
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        if !is_on {
            ui.disable();
        }
        ui.spacing_mut().slider_width = (ui.available_width() - NUMBER_WIDTH - ui.spacing().item_spacing.x - 8.0).max(40.0);
        let slider = Slider::new(&mut *strength, -1.0..=2.0).show_value(false).step_by(0.05).clamping(SliderClamping::Never);
        let slider = widgets::slider(ui, slider).on_hover_text(hover).accessible_name(name);
        if slider.double_clicked() {
            *strength = 1.0;
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let number = widgets::number_field(&mut *strength).range(-4.0..=4.0).speed(0.01).fixed_decimals(2);
            ui.add_sized(vec2(NUMBER_WIDTH, ROW_HEIGHT), number).on_hover_text(hover).accessible_name(name);
        });
        slider
    })
    .inner
}

/// Draws what is known of a LoRA: that it was made for other models, and the words that evoke what
/// it was trained on. Returns the words that were chosen.
fn facts(ui: &mut Ui, state: &State, lora: &Lora, prompt: &str) -> Vec<String> {
    let Some(known) = known_loras(&state.shared).find(|known| known.path == lora.path) else { return Vec::new() };
    if let Some(sentence) = known.mismatch(&state.shared) {
        ui.add(Label::new(RichText::new(sentence).size(theme::SMALL).color(theme::palette(ui).warn)).wrap());
    }
    let prompt = prompt.to_lowercase();
    let absent: Vec<_> = known.trigger_words().iter().filter(|words| !prompt.contains(&words.to_lowercase())).take(MAX_TRIGGERS).collect();
    if absent.is_empty() {
        return Vec::new();
    }
    let mut chosen = Vec::new();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
        for words in absent {
            let button = Button::new(RichText::new(format!("+ {words}")).size(theme::SMALL)).corner_radius(8).truncate();
            let response =
                ui.add(button).on_hover_text(tr!("create-add-these-trigger-words")).accessible_name(tr!("create-add-to-the-prompt", words));
            if response.clicked() {
                chosen.push(words.clone());
            }
        }
    });
    chosen
}

/// Draws the button that opens the list of LoRAs of this disk, and the list.
fn picker(ui: &mut Ui, state: &State, recipe: &Recipe, named: &[Lora], commands: &mut Commands) {
    let button = bare_icon(ui, Icon::Plus, tr!("create-add-a-lora")).on_hover_text(tr!("create-add-a-lora-a"));
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(tr!("create-add-a-lora")).show(|ui| {
        ui.set_width(PICKER_WIDTH);
        let mut search = state.create.lora_search.clone();
        let edit = TextEdit::singleline(&mut search).hint_text(tr!("common-search")).id(Id::unique("search of LoRAs"));
        let field = widgets::line_edit_with_undo(ui, PICKER_WIDTH, edit)
            .on_hover_text(tr!("create-search-by-name-family"))
            .accessible_name(tr!("create-search-loras"));
        if ui.memory(|memory| memory.focused().is_none()) {
            field.request_focus();
        }
        let is_used = |path: &Path| recipe.loras.iter().chain(&recipe.disabled_loras).chain(named).any(|lora| lora.path == path);
        ScrollArea::vertical().id_salt("LoRAs of this disk").max_height(PICKER_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
            let mut is_empty = true;
            for known in known_loras(&state.shared).filter(|known| !is_used(known.path) && known.matches(&search)) {
                is_empty = false;
                if known_row(ui, state, commands, &known) {
                    ui.close();
                }
            }
            if is_empty {
                let words = if known_loras(&state.shared).next().is_none() {
                    tr!("create-the-library-has-no-loras-yet")
                } else {
                    tr!("create-no-other-lora-matches")
                };
                ui.add(Label::new(RichText::new(words).color(theme::palette(ui).weak)).wrap());
            }
        });
        ui.separator();
        if command_button(ui, state, commands, Command::AddLora).clicked() {
            ui.close();
        }
        if search != state.create.lora_search {
            commands.push(Command::SearchLoras(search));
        }
    });
}

/// Draws a LoRA of the list. True where it was chosen.
fn known_row(ui: &mut Ui, state: &State, commands: &mut Commands, known: &KnownLora<'_>) -> bool {
    let palette = theme::palette(ui);
    let mismatch = known.mismatch(&state.shared);
    let color = if mismatch.is_some() { palette.warn } else { palette.weak };
    let words = mismatch.unwrap_or_else(|| known.family().unwrap_or_default().to_owned());
    let response = command_control(ui, state, commands, Command::UseLora(known.path.to_owned()), |ui| {
        let button = Button::new("").frame_when_inactive(false);
        ui.add_sized(vec2(PICKER_WIDTH, PICTURE + 8.0), button).accessible_name(format!("LoRA {}", known.name()))
    });
    let inside = UiBuilder::new().max_rect(response.rect.shrink(4.0)).layout(Layout::left_to_right(Align::Center));
    ui.scope_builder(inside, |ui| {
        last_picture(ui, state, &lora_name(known.path), PICTURE);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.add(Label::new(RichText::new(known.name()).color(palette.text)).truncate().selectable(false));
            ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(color)).truncate().selectable(false));
        });
    });
    response.clicked()
}

/// The last picture made with a LoRA, where there is one.
fn last_picture(ui: &mut Ui, state: &State, name: &str, side: f32) {
    let Some(texture) = state.gallery.latest_of_lora(name).and_then(|id| state.gallery.thumbnails.get(id)) else { return };
    let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::hover());
    widgets::paint_square(ui, texture, rect);
    response.on_hover_text(tr!("create-the-last-picture-made", name));
}
