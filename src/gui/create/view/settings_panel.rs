//! The panel on the left: prompt, model, size and everything else that the next picture is made
//! with.
//!
//! Widgets change a copy of the recipe; one command carries the copy when it differs.

use eframe::egui::text::{CCursor, CCursorRange};
use eframe::egui::text_edit::TextEditState;
use eframe::egui::{
    Align, Button, ComboBox, Context, DragValue, Frame, Id, Key, Label, Layout, Margin, Memory, Panel, RichText, ScrollArea, TextEdit, Ui,
    UiBuilder, vec2,
};

use crate::gui::bidi;
use crate::gui::canvas::command::without_prompt;
use crate::gui::canvas::state::Intent;
use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::view::count::count_button;
use crate::gui::create::view::text_row::{numbers_text, text_row};
use crate::gui::create::view::{embeddings, kept, larger, loras, model, prompt_history, size, steps, unknown_words};
use crate::gui::devices;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::guides::view::{control_steps_rows, guides_section};
use crate::gui::history::caret_after_change;
use crate::gui::icons::Icon;
use crate::gui::live;
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::styles::view::style_row;
use crate::gui::text_menu::text_menu;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{Scale, WHOLE, bold, command_control, heading, icon_button, optional_row, row, setting_row, slider_row};
use crate::settings::{Fold, PreviewChoice};
use atelier_core::recipe::{
    CacheMode, FamilySetting, LoraMode, PredictionType, ROWS, Recipe, Rng, RulesError, SHARE, Sampler, Scheduler, SkipLayers, StepCache,
    TensorType, VaeFormat, changed_settings, kept_seed,
};
use atelier_core::sd_cli::numbers;
use atelier_core::sentences::sentence;

/// Space between the panel's edge and its controls, in points.
const EDGE: i8 = 16;
/// Numbers beyond it have no whole value in a field.
const MAX_SEED: i64 = 1 << 53;
/// Height of the button that matters, in points.
const GENERATE_HEIGHT: f32 = 40.0;

/// Guidance that is offered where words are to be left out and there is none.
const OFFERED_GUIDANCE: f32 = 2.0;

pub(crate) fn settings_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    generate_panel(ui, state, commands);
    let mut recipe = state.shared.next.recipe.clone();
    ScrollArea::vertical().id_salt("settings scroll").auto_shrink([false, false]).show(ui, |ui| {
        let margin = Margin { left: EDGE, right: EDGE, top: 8, bottom: 16 };
        Frame::new().inner_margin(margin).show(ui, |ui| {
            prompts(ui, state, &mut recipe, commands);
            unknown_words::unknown_words_line(ui, state, commands);
            style_row(ui, state, commands);
            loras::lora_chips(ui, state, &recipe);
            steps::earlier_steps_row(ui, state, commands);
            model::model_section(ui, state, commands);
            size::size_section(ui, state, &mut recipe, commands);
            sampling(ui, state, &mut recipe, commands);
            larger::larger_section(ui, state, &mut recipe, commands);
            guides_section(ui, state, &mut recipe, commands);
            loras::lora_section(ui, state, &mut recipe, commands);
            embeddings::embedding_section(ui, state, &mut recipe, commands);
            more(ui, state, &mut recipe, commands);
        });
        widgets::follow_focus(ui);
    });
    if recipe != state.shared.next.recipe {
        commands.push(Command::ChangeRecipe(Box::new(recipe)));
    }
    if state.create.wanted_setting.is_some() && !widgets::is_row_wanted(ui.ctx()) {
        commands.push(Command::SettingShown);
    }
}

/// Draws the button that makes a picture, at the bottom of the side panel.
pub(crate) fn generate_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let margin = Margin { left: EDGE, right: EDGE, top: 12, bottom: 14 };
    Panel::bottom("generate").resizable(false).show_separator_line(true).frame(Frame::new().inner_margin(margin)).show(ui, |ui| {
        generate(ui, state, commands);
    });
}

fn generate(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    ui.spacing_mut().item_spacing.y = 8.0;
    if state.shared.screen == Screen::Create {
        devices::view::compact(ui, state, commands);
    }
    devices::view::shortage_hint(ui, state, commands);
    let is_canvas = state.canvas.edited().is_some() && state.shared.screen == Screen::Create;
    if let Err(unmet) = state.shared.next.ready().or_else(|unmet| if is_canvas { without_prompt(unmet) } else { Err(unmet) }) {
        ui.label(RichText::new(unmet.sentence()).color(palette.weak));
    } else if let Some(advice) = state.shared.next.advice() {
        ui.label(RichText::new(advice).color(palette.warn));
    }
    // The engine has looked at the files: a part that is missing, or does not belong to the others.
    if let Some(failure) = state.devices.board.estimate_error.as_ref().filter(|_| state.shared.screen == Screen::Create) {
        ui.add(Label::new(RichText::new(failure).color(palette.warn)).wrap());
    }
    devices::view::time_line(ui, state);
    kept::kept_row(ui, state, commands);
    let queueing = !state.shared.jobs.is_empty();
    let wide = ui.available_width();
    ui.horizontal(|ui| {
        let gap = ui.spacing().item_spacing.x;
        let has_switch = state.shared.screen == Screen::Create;
        let switch_width = GENERATE_HEIGHT + gap + if has_switch { GENERATE_HEIGHT + gap } else { 0.0 };
        let cancel_width = if queueing { GENERATE_HEIGHT + gap } else { 0.0 };
        let command = crate::gui::command::Command::from(Command::Generate).redirected(state);
        let ready = command.enabled(state).is_ok();
        let intent = state.canvas.intent().filter(|_| has_switch && !state.live.is_on);
        let label = intent.map_or(command.label(), Intent::label).to_owned();
        let label = if state.shared.is_queue_standing() && !(has_switch && state.live.is_on) {
            format!("{} ({} waiting)", command.label(), state.shared.waiting_count())
        } else {
            label
        };
        let keys = crate::gui::command::Command::from(Command::Generate)
            .shortcut()
            .map(|it| ui.ctx().format_shortcut(&it.keys))
            .unwrap_or_default();
        command_control(ui, state, commands, command, |ui| {
            let quiet = if ready { palette.on_accent } else { palette.weak };
            let button = Button::new(bold(&label).size(theme::TITLE)).min_size(vec2(wide - cancel_width - switch_width, GENERATE_HEIGHT));
            let keys = RichText::new(keys).color(quiet).size(theme::SMALL);
            // Beside three buttons, and where they are many, the words alone have room.
            let has_room = !(queueing && has_switch) && intent.is_none() && !state.shared.is_queue_standing();
            let button = if has_room { button.right_text(keys) } else { button.truncate() };
            let response = if ready { theme::accented(ui, |ui| ui.add(button)) } else { ui.add(button) };
            response.accessible_name(label)
        });
        count_button(ui, state, commands, GENERATE_HEIGHT);
        if has_switch {
            live::view::switch(ui, state, commands, GENERATE_HEIGHT);
        }
        if queueing {
            command_control(ui, state, commands, Command::Cancel, |ui| {
                widgets::square_icon(ui, Icon::Close, Command::Cancel.label(), GENERATE_HEIGHT)
            });
        }
    });
    let waiting = state.shared.waiting_count();
    if waiting > 0 {
        ui.horizontal(|ui| {
            ui.label(RichText::new(format!("{waiting} waiting in the queue")).color(palette.weak));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                command_control(ui, state, commands, Command::ClearQueue, |ui| {
                    ui.button("Clear").accessible_name(Command::ClearQueue.label())
                });
            });
        });
    }
}

/// What an empty prompt shows: words that the model paints well.
fn example_prompt(state: &State) -> String {
    let builtin = state.shared.next.builtin.as_ref().ok().filter(|_| state.shared.next.uses_builtin());
    let example = builtin.and_then(|it| it.manifest().examples.first());
    format!("{}…", example.map_or("A lighthouse at dusk, oil on canvas", |it| it.prompt.as_str()))
}

fn prompts(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    heading(ui, "Prompt", |ui| prompt_history::history_button(ui, state, commands));
    let id = Id::unique("prompt");
    let hover = "Prompt: what the picture should show.";
    text_box(ui, "prompt scroll", 170.0, |ui| {
        let edit = TextEdit::multiline(&mut recipe.prompt)
            .layouter(bidi::layouter())
            .id(id)
            .hint_text(example_prompt(state))
            .desired_rows(5)
            .desired_width(f32::INFINITY)
            .margin(Margin::symmetric(10, 8));
        let response = ui.add(edit).on_hover_text_at_pointer(hover).accessible_name("Prompt");
        text_menu(&response);
        if state.create.focus_prompt {
            response.request_focus();
        }
    });
    let without_effect = !recipe.uses_negative_prompt();
    let hover = if without_effect {
        "Negative prompt: what the picture should not show. No effect while guidance is 1."
    } else {
        "Negative prompt: what the picture should not show."
    };
    text_box(ui, "negative scroll", 90.0, |ui| {
        let edit = TextEdit::multiline(&mut recipe.negative_prompt)
            .layouter(bidi::layouter())
            .id(Id::unique("negative prompt"))
            .hint_text(if without_effect { "Negative prompt (needs guidance above 1)" } else { "Negative prompt…" })
            .desired_rows(2)
            .desired_width(f32::INFINITY)
            .margin(Margin::symmetric(10, 7));
        text_menu(&ui.add(edit).on_hover_text_at_pointer(hover).accessible_name("Negative prompt"));
    });
    if without_effect && !recipe.negative_prompt.trim().is_empty() {
        let palette = theme::palette(ui);
        ui.horizontal_wrapped(|ui| {
            ui.label(widgets::small("No effect while guidance is 1.", palette.warn));
            let label = format!("Use {OFFERED_GUIDANCE}");
            let hover =
                format!("Set guidance to {OFFERED_GUIDANCE}, so that the negative prompt has an effect. Each step takes twice the time.");
            if ui.add(Button::new(widgets::small(label, palette.text))).on_hover_text(hover).clicked() {
                recipe.guidance = OFFERED_GUIDANCE;
            }
        });
    }
}

/// Puts the caret behind what undo or redo changed in the field that has the keyboard. The pairs
/// are the texts before and after, of the prompt and of the negative prompt.
pub(crate) fn text_restored(ctx: &Context, prompt: (&str, &str), negative: (&str, &str)) {
    let Some(focused) = ctx.memory(Memory::focused) else { return };
    // A number that is being typed would be taken from its text again.
    ctx.data_mut(|data| data.remove_temp::<String>(focused));
    let fields = [(Id::unique("prompt"), prompt), (Id::unique("negative prompt"), negative)];
    let Some((_, (before, after))) = fields.into_iter().find(|(id, texts)| *id == focused && texts.0 != texts.1) else { return };
    if let Some(mut edit) = TextEditState::load(ctx, focused) {
        edit.cursor.set_char_range(Some(CCursorRange::one(CCursor::new(caret_after_change(before, after)))));
        edit.store(ctx, focused);
    }
}

/// Puts the caret behind the last word of the prompt.
pub(crate) fn put_caret_at_end(ctx: &Context, prompt: &str) {
    let id = Id::unique("prompt");
    let mut edit = TextEditState::load(ctx, id).unwrap_or_default();
    edit.cursor.set_char_range(Some(CCursorRange::one(CCursor::new(prompt.chars().count()))));
    edit.store(ctx, id);
}

/// A text field that grows with its text up to a height, then scrolls.
fn text_box(ui: &mut Ui, salt: &str, most: f32, add: impl FnOnce(&mut Ui)) {
    ui.scope(|ui| {
        let accent = theme::palette(ui).accent;
        ui.visuals_mut().selection.stroke.color = accent;
        ScrollArea::vertical().id_salt(salt).max_height(most).auto_shrink([false, true]).show(ui, add);
    });
}

fn sampling(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    ui.add_space(9.0);
    let hover = "Steps, guidance, sampler and seed.";
    let summary = sampling_summary(recipe);
    let is_open = state.create.open_folds.contains(&Fold::Sampling);
    let (fold, is_pressed) = widgets::fold(ui, "Sampling", &summary, is_open, |ui| {
        ui.scope_builder(UiBuilder::new(), |ui| sampling_rows(ui, state, recipe, commands));
    });
    if is_pressed {
        commands.push(Command::SetFold(Fold::Sampling, !is_open));
    }
    fold.header_response.on_hover_text(hover);
}

/// "Euler, 8 steps, guidance 1".
fn sampling_summary(recipe: &Recipe) -> String {
    let Recipe { steps, guidance, .. } = recipe;
    let mut parts: Vec<String> = recipe.sampler.iter().map(|it| it.label().to_owned()).collect();
    parts.extend(recipe.scheduler.iter().map(|it| it.label().to_owned()));
    parts.extend([format!("{steps} {}", if *steps == 1 { "step" } else { "steps" }), format!("guidance {guidance}")]);
    parts.extend((recipe.seed >= 0).then(|| format!("seed {}", recipe.seed)));
    parts.join(", ")
}

fn sampling_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    setting_row(
        ui,
        "Steps",
        &mut recipe.steps,
        1..=100,
        ROWS.steps.limits,
        &Scale { logarithmic: true, ..WHOLE },
        "Number of sampling steps. Fast models need 4 to 10, others 20 to 40.",
    );
    let guidance = Scale { step: 0.1, decimals: 1, logarithmic: false };
    setting_row(
        ui,
        "Guidance",
        &mut recipe.guidance,
        1.0..=20.0,
        ROWS.guidance.limits,
        &guidance,
        "Guidance (CFG scale): how closely the picture follows the prompt. Fast models need 1, others 4 to 8.",
    );
    draft_row(ui, state, recipe, commands);
    choice_row(ui, "Sampler", &mut recipe.sampler, Sampler::ALL, Sampler::label, "Sampling method.");
    choice_row(ui, "Scheduler", &mut recipe.scheduler, Scheduler::ALL, Scheduler::label, "Noise schedule.");
    seed_row(ui, state, recipe, commands);
    blend_rows(ui, state, recipe, commands);
}

fn choice_row<T: Copy + PartialEq>(ui: &mut Ui, label: &str, value: &mut Option<T>, all: &[T], name: fn(T) -> &'static str, hover: &str) {
    choice_row_or(ui, label, value, "Model's default", all, name, hover);
}

/// A choice, with the words for none.
fn choice_row_or<T: Copy + PartialEq>(
    ui: &mut Ui,
    label: &str,
    value: &mut Option<T>,
    usual: &str,
    all: &[T],
    name: fn(T) -> &'static str,
    hover: &str,
) {
    row(ui, label, |ui| {
        let combo = ComboBox::from_id_salt(label)
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(value.map_or(usual, name))
            .show_ui(ui, |ui| {
                ui.selectable_value(value, None, usual);
                for choice in all {
                    ui.selectable_value(value, Some(*choice), name(*choice));
                }
            });
        combo.response.on_hover_text(hover).accessible_name(label);
    });
}

fn seed_row(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    row(ui, "Seed", |ui| {
        let buttons = 2.0 * (widgets::ROW_HEIGHT + 2.0) + ui.spacing().item_spacing.x;
        let width = ui.available_width() - buttons;
        let id = Id::unique("seed text");
        // The typed text stays until the field is left, so that a half-typed number is not
        // corrected under the cursor.
        let typed = ui.data(|data| data.get_temp::<String>(id)).filter(|typed| typed.parse().unwrap_or(-1) == recipe.seed);
        let mut text = typed.clone().unwrap_or_else(|| if recipe.seed < 0 { String::new() } else { recipe.seed.to_string() });
        let what = "Random seed: the same seed and settings give the same picture. Empty: a new seed for each picture.";
        let hover = state.create.last_seed.map_or_else(|| what.to_owned(), |last| format!("{what}\nThe last one was {last}."));
        let edit = TextEdit::singleline(&mut text)
            .id(Id::unique("seed"))
            .hint_text("Random")
            // The largest of 64 bits.
            .char_limit(20);
        let response = widgets::line_edit(ui, width, edit).on_hover_text(hover).accessible_name("Seed");
        if response.changed() {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            // One that has no seed of the same noise leaves the field as it was.
            recipe.seed = digits.parse().map_or(-1, |seed| kept_seed(seed, recipe.rng).unwrap_or(recipe.seed));
            ui.data_mut(|data| data.insert_temp(id, digits));
        }
        if typed.is_some() && (!response.has_focus() || ui.input(|input| input.key_pressed(Key::Enter))) {
            ui.data_mut(|data| data.remove::<String>(id));
        }
        ui.spacing_mut().item_spacing.x = 2.0;
        icon_button(ui, state, commands, Icon::Dice, Command::RollSeed);
        let icon = if recipe.seed < 0 { Icon::Unlocked } else { Icon::Locked };
        icon_button(ui, state, commands, icon, Command::LockSeed);
    });
}

/// A check box that shows and changes a switch of the recipe by one command for each of its states.
fn switch(ui: &mut Ui, state: &State, commands: &mut Commands, is_on: bool, label: &str, command: fn(bool) -> Command) {
    let mut on = is_on;
    command_control(ui, state, commands, command(!is_on), |ui| ui.checkbox(&mut on, label).accessible_name(command(true).label()));
}

/// The switch of drafts, and their last step.
fn draft_row(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    row(ui, "Stop early", |ui| {
        switch(ui, state, commands, recipe.last_step.is_some(), "", Command::MakeDrafts);
        let most = recipe.steps.saturating_sub(1).max(1);
        if let Some(last) = &mut recipe.last_step {
            let hover = "The last step to run. A quarter of the steps often shows the composition.";
            ui.add(DragValue::new(last).range(1..=most).speed(0.1).prefix("after step ")).on_hover_text(hover).accessible_name("Last step");
        }
    });
}

/// The switch of a second seed, that seed, and how far its noise is taken.
fn blend_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    row(ui, "Blend", |ui| {
        switch(ui, state, commands, recipe.seed_blend.is_some(), "", Command::BlendSeeds);
        if let Some(blend) = &mut recipe.seed_blend {
            let hover = "Variation seed, blended with the first seed.";
            ui.add(DragValue::new(&mut blend.seed).range(0..=MAX_SEED).speed(1.0)).on_hover_text(hover).accessible_name("Second seed");
            icon_button(ui, state, commands, Icon::Dice, Command::RollSecondSeed);
        }
    });
    if let Some(blend) = &mut recipe.seed_blend {
        let hundredth = Scale { step: 0.01, decimals: 2, logarithmic: false };
        let hover = "Variation strength: 0 is the first seed's picture, 0.1 changes details, 1 is the second seed's picture.";
        slider_row(ui, "Amount", &mut blend.amount, SHARE, &hundredth, hover);
    }
}

fn rng_row(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = "Random number generator of the noise. GPU matches A1111, CPU matches ComfyUI.";
    row(ui, "Noise", |ui| {
        let combo = ComboBox::from_id_salt("Noise")
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(recipe.rng.label())
            .show_ui(ui, |ui| {
                for rng in Rng::ALL {
                    ui.selectable_value(&mut recipe.rng, *rng, rng.label());
                }
            });
        combo.response.on_hover_text(hover).accessible_name("Noise");
    });
}

fn lora_mode_row(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = "When LoRAs are applied. Merged into the weights they cost nothing in each step, and the model is read again for others. \
                 Automatic merges them for many pictures. Both make slightly different pictures.";
    row(ui, "LoRAs", |ui| {
        let combo = ComboBox::from_id_salt("LoRAs")
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(recipe.lora_mode.label())
            .show_ui(ui, |ui| {
                for mode in LoraMode::ALL {
                    ui.selectable_value(&mut recipe.lora_mode, *mode, mode.label());
                }
            });
        combo.response.on_hover_text(hover).accessible_name("LoRAs");
    });
}

fn prediction_row(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = "What the model predicts. Some models of SDXL predict velocity, and their files do not say so.";
    let (value, name) = (&mut recipe.prediction, PredictionType::label);
    choice_row_or(ui, "Prediction", value, "As the file says", PredictionType::ALL, name, hover);
}

/// Settings of models of single families.
fn family_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let uses = |setting: FamilySetting, is_set: bool| is_set || state.shared.is_known_to_use(setting);
    if uses(FamilySetting::ZeroCondT, recipe.zero_cond_t) {
        row(ui, "Zero timestep", |ui| ui.checkbox(&mut recipe.zero_cond_t, "Of references").on_hover_text(ROWS.zero_cond_t.help()));
    }
    let usual = Recipe::default();
    let masks = |it: &Recipe| (it.chroma_dit_mask, it.chroma_t5_mask, it.chroma_t5_padding);
    if uses(FamilySetting::ChromaMasks, masks(recipe) != masks(&usual)) {
        row(ui, "Chroma masks", |ui| {
            ui.checkbox(&mut recipe.chroma_dit_mask, "Picture").on_hover_text(ROWS.chroma_dit_mask.help());
            ui.checkbox(&mut recipe.chroma_t5_mask, "Words").on_hover_text(ROWS.chroma_t5_mask.help());
            let padding = DragValue::new(&mut recipe.chroma_t5_padding).range(ROWS.chroma_t5_padding.limits);
            ui.add(padding).on_hover_text(ROWS.chroma_t5_padding.help()).accessible_name("Words of padding");
        });
    }
    if uses(FamilySetting::VaeFormat, recipe.vae_format.is_some()) {
        let (value, hover) = (&mut recipe.vae_format, ROWS.vae_format.help());
        choice_row_or(ui, "VAE format", value, "As the model has them", VaeFormat::ALL, VaeFormat::label, hover);
    }
}

/// The types that weights get as a model is loaded.
fn weight_rows(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = "Convert weights as the model is loaded. Q8_0 takes about half the memory of 16 bits and is a little less exact; loading takes longer.";
    let (value, name) = (&mut recipe.weight_type, TensorType::label);
    choice_row_or(ui, "Weight type", value, "As in the file", TensorType::ALL, name, hover);
    let hover = "Types of weights by name, such as attention=q8_0. The first pattern that occurs in a name decides, then the weight type.";
    let own = recipe.tensor_type_rules.to_string();
    text_row(ui, "Type rules", "^model\\.=q8_0, ^vae=f16", &own, hover, |text| {
        recipe.tensor_type_rules = text.parse().map_err(|error: RulesError| sentence(&error.to_string()))?;
        Ok(())
    });
}

/// Settings of the sampling that few pictures need, without those that the model does not use.
fn guidance_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    // What is set stays in sight.
    let uses = |setting: FamilySetting, is_set: bool| is_set || state.shared.uses(setting);
    if uses(FamilySetting::ImageGuidance, recipe.image_guidance.is_some()) {
        let hover = "How much the result follows the start or reference picture, for models that edit.";
        optional_row(ui, "Image CFG", &mut recipe.image_guidance, 1.5, ROWS.image_guidance.limits, 0.05, hover);
    }
    if uses(FamilySetting::SkipLayers, recipe.skip_layers.is_some()) {
        let mut scale = recipe.skip_layers.as_ref().map(|skip| skip.scale);
        let before = scale;
        let hover = "Skip-layer guidance: better hands and bodies with SD3.5, a little slower.";
        optional_row(ui, "Skip layers", &mut scale, SkipLayers::default().scale, SkipLayers::SCALES, 0.05, hover);
        if scale != before {
            recipe.skip_layers = scale.map(|scale| SkipLayers { scale, ..recipe.skip_layers.take().unwrap_or_default() });
        }
    }
    if uses(FamilySetting::TimestepShift, recipe.timestep_shift.is_some()) {
        let hover = "Timestep shift of distilled SDXL models such as NitroSD.";
        optional_row(ui, "Step shift", &mut recipe.timestep_shift, 250, ROWS.timestep_shift.limits, 1.0, hover);
    }
    let hover = "Seamless tiling: opposite edges continue each other, for patterns and textures.";
    row(ui, "Seamless", |ui| {
        ui.checkbox(&mut recipe.seamless_x, "Left, right").on_hover_text(hover);
        ui.checkbox(&mut recipe.seamless_y, "Top, bottom").on_hover_text(hover)
    });
    cache_row(ui, state, recipe);
    let hover = "Noise levels of the steps, separated by commas, in place of a noise schedule.";
    text_row(ui, "Sigmas", "14.6, 7.8, 3.5, 0", &numbers_text(&recipe.sigmas), hover, |text| {
        recipe.sigmas = numbers(text).map_err(|reason| sentence(&reason))?;
        Ok(())
    });
    let own = recipe.sampler_arguments.clone();
    text_row(ui, "Arguments", "apg_eta=1", &own, ROWS.sampler_arguments.help(), |text| {
        text.clone_into(&mut recipe.sampler_arguments);
        Ok(())
    });
    control_steps_rows(ui, state, recipe);
    if !recipe.reference_images.is_empty() || !recipe.resize_references || recipe.number_references {
        let hover = "Bring reference pictures to the size that the model learned, and number them for the prompt.";
        row(ui, "References", |ui| {
            ui.checkbox(&mut recipe.resize_references, "Resize").on_hover_text(hover);
            ui.checkbox(&mut recipe.number_references, "Number").on_hover_text(hover)
        });
    }
}

fn cache_row(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    const NONE: &str = "None";
    let hover = "Step cache: reuse parts of a step where little changed. Quicker, and another picture.";
    row(ui, "Step cache", |ui| {
        let mode = recipe.step_cache.as_ref().map(|cache| cache.mode);
        let mut chosen = mode;
        let combo = ComboBox::from_id_salt("Step cache")
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(mode.map_or(NONE, CacheMode::label))
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut chosen, None, NONE);
                for mode in CacheMode::ALL.iter().filter(|mode| state.shared.uses_cache(**mode)) {
                    ui.selectable_value(&mut chosen, Some(*mode), mode.label());
                }
            });
        combo.response.on_hover_text(hover).accessible_name("Step cache");
        if chosen != mode {
            recipe.step_cache = chosen.map(StepCache::of);
        }
    });
}

fn more(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    ui.add_space(8.0);
    // What is set stays in sight.
    let uses = |setting: FamilySetting, is_set: bool| is_set || state.shared.uses(setting);
    let is_open = state.create.open_folds.contains(&Fold::More);
    let (fold, is_pressed) = widgets::fold(ui, "More settings", "", is_open, |ui| {
        ui.scope_builder(UiBuilder::new(), |ui| {
            row(ui, "Previews", |ui| {
                for choice in PreviewChoice::ALL {
                    let command = Command::SetPreview(choice);
                    let name = format!("Previews: {}", choice.label());
                    let shown = ui.selectable_label(state.create.preview == choice, choice.label()).on_hover_text(choice.tooltip());
                    if shown.accessible_name(name).clicked() {
                        commands.push(command);
                    }
                }
            });
            if uses(FamilySetting::DistilledGuidance, recipe.distilled_guidance != Recipe::default().distilled_guidance) {
                let distilled = Scale { step: 0.1, decimals: 1, logarithmic: false };
                let (value, limits) = (&mut recipe.distilled_guidance, ROWS.distilled_guidance.limits);
                let hover = "Distilled guidance, for models such as Flux dev.";
                setting_row(ui, "Distilled", value, 0.0..=10.0, limits, &distilled, hover);
            }
            if uses(FamilySetting::FlowShift, recipe.flow_shift.is_some()) {
                let hover = "Flow shift of flow models: more gives structure, less gives detail.";
                optional_row(ui, "Flow shift", &mut recipe.flow_shift, 3.0, ROWS.flow_shift.limits, 0.05, hover);
            }
            optional_row(ui, "Eta", &mut recipe.eta, 1.0, ROWS.eta.limits, 0.01, ROWS.eta.help());
            if uses(FamilySetting::ClipSkip, recipe.clip_skip.is_some()) {
                let hover = "CLIP layers to skip at the end. Some SD 1.5 models need 2.";
                optional_row(ui, "CLIP skip", &mut recipe.clip_skip, 1, ROWS.clip_skip.limits, 0.05, hover);
            }
            guidance_rows(ui, state, recipe);
            prediction_row(ui, recipe);
            family_rows(ui, state, recipe);
            weight_rows(ui, recipe);
            rng_row(ui, recipe);
            let hover = "Random number generator of the noise that ancestral samplers add.";
            choice_row_or(ui, "Sampler noise", &mut recipe.sampler_rng, "As the noise", Rng::ALL, Rng::label, hover);
            if !recipe.loras.is_empty() || recipe.lora_mode != LoraMode::Auto {
                lora_mode_row(ui, recipe);
            }
            optional_row(
                ui,
                "Threads",
                &mut recipe.threads,
                4,
                ROWS.threads.limits,
                0.1,
                "CPU threads. Off: all cores, or all but one if there are more than four.",
            );
            let mapping = "Map model files into memory in place of reading them. Takes less memory where the CPU computes, and ends the program if such a file changes meanwhile.";
            row(ui, "Loading", |ui| ui.checkbox(&mut recipe.memory_map, "Map files").on_hover_text(mapping));
            let tiling = "Decode the picture in tiles: needs less memory, takes slightly longer.";
            row(ui, "VAE tiling", |ui| ui.checkbox(&mut recipe.vae_tiling, "Save memory").on_hover_text(tiling));
            if recipe.vae_tiling {
                let hover = "Side of a tile in values of the latent, 8 pixels each with most models. Smaller tiles need less memory.";
                optional_row(ui, "Tile size", &mut recipe.vae_tile_size, 32, ROWS.vae_tile_size.limits, 0.2, hover);
                let hover = "Part of a tile that its neighbour covers too. More of it hides seams, and takes longer.";
                optional_row(ui, "Tile overlap", &mut recipe.vae_tile_overlap, 0.5, ROWS.vae_tile_overlap.limits, 0.01, hover);
            }
            if uses(FamilySetting::VaeConvScale, recipe.vae_conv_scale) {
                let range = "Scale the VAE's convolutions, against black SDXL pictures.";
                row(ui, "VAE range", |ui| ui.checkbox(&mut recipe.vae_conv_scale, "Safe range").on_hover_text(range));
            }
            let flash = "Flash attention needs less memory and is often faster. Turn it off if pictures are broken.";
            let attention = row(ui, "Attention", |ui| ui.checkbox(&mut recipe.flash_attention, "Flash attention").on_hover_text(flash));
            if attention.changed() {
                // Whoever turns it on wants it.
                recipe.insists_on_flash_attention = recipe.flash_attention;
            }
        });
    });
    if is_pressed {
        commands.push(Command::SetFold(Fold::More, !is_open));
    }
    fold.header_response.on_hover_text("Previews and advanced settings.");
    let changed = changed_details(recipe, &state.shared.usual_recipe());
    if !changed.is_empty() {
        let palette = theme::palette(ui);
        let words = format!("Changed: {}", changed.join(", "));
        ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.weak)).wrap())
            .on_hover_text("These settings differ from those that suit the model.");
    }
}

/// Names of the settings under "More settings" that are not the usual ones of the model.
fn changed_details(recipe: &Recipe, usual: &Recipe) -> Vec<&'static str> {
    let details = Recipe {
        distilled_guidance: recipe.distilled_guidance,
        flow_shift: recipe.flow_shift,
        eta: recipe.eta,
        prediction: recipe.prediction,
        image_guidance: recipe.image_guidance,
        skip_layers: recipe.skip_layers.clone(),
        sigmas: recipe.sigmas.clone(),
        timestep_shift: recipe.timestep_shift,
        sampler_arguments: recipe.sampler_arguments.clone(),
        seamless_x: recipe.seamless_x,
        seamless_y: recipe.seamless_y,
        step_cache: recipe.step_cache.clone(),
        resize_references: recipe.resize_references,
        number_references: recipe.number_references,
        zero_cond_t: recipe.zero_cond_t,
        chroma_dit_mask: recipe.chroma_dit_mask,
        chroma_t5_mask: recipe.chroma_t5_mask,
        chroma_t5_padding: recipe.chroma_t5_padding,
        vae_format: recipe.vae_format,
        weight_type: recipe.weight_type,
        tensor_type_rules: recipe.tensor_type_rules.clone(),
        clip_skip: recipe.clip_skip,
        rng: recipe.rng,
        sampler_rng: recipe.sampler_rng,
        lora_mode: recipe.lora_mode,
        memory_map: recipe.memory_map,
        threads: recipe.threads,
        vae_tiling: recipe.vae_tiling,
        vae_tile_size: recipe.vae_tile_size,
        vae_tile_overlap: recipe.vae_tile_overlap,
        flash_attention: recipe.flash_attention,
        vae_conv_scale: recipe.vae_conv_scale,
        ..usual.clone()
    };
    changed_settings(usual, &details)
}
