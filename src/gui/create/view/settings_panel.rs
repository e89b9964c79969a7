//! The panel on the left: prompt, model, size and everything else that the next picture is made
//! with.
//!
//! Widgets change a copy of the recipe; one command carries the copy when it differs.

use eframe::egui::{
    Align, Button, ComboBox, Frame, Id, Key, Label, Layout, Margin, Panel, Response, RichText, ScrollArea, TextEdit, Ui, UiBuilder, vec2,
};

use crate::gui::canvas::command::without_prompt;
use crate::gui::canvas::state::Intent;
use crate::gui::command::{Commands, keys_text};
use crate::gui::create::Command;
use crate::gui::create::panel_setting::Shown;
use crate::gui::create::view::count::count_button;
use crate::gui::create::view::step_cache::step_cache_rows;
use crate::gui::create::view::text_row::text_row;
use crate::gui::create::view::{
    embeddings, kept, larger, loras, missing_fonts, model, prompt_field, recent_settings, size, steps, unknown_words,
};
use crate::gui::devices;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::guides::view::{control_steps_rows, guides_section};
use crate::gui::icons::Icon;
use crate::gui::live;
use crate::gui::phrases;
use crate::gui::queue;
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::styles::view::style_row;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{Scale, WHOLE, bold, command_control, icon_button, optional_row, row, setting_row, slider_row, whole_number};
use crate::settings::{Fold, PreviewChoice};
use atelier_core::recipe::{
    FamilySetting, LoraMode, PredictionType, ROWS, Recipe, Rng, RulesError, SHARE, Sampler, Scheduler, Seed, SkipLayers, TensorType,
    TileSize, VaeFormat, changed_settings,
};
use atelier_core::sd_cli::numbers;
use atelier_core::sentences::{sentence, with_commas};
use atelier_language::tr;

/// Space between the panel's edge and its controls, in points.
const EDGE: i8 = 16;
/// Height of the button that matters, in points.
const GENERATE_HEIGHT: f32 = 40.0;

pub(crate) fn settings_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    generate_panel(ui, state, commands);
    let mut recipe = state.shared.next.recipe.clone();
    // A style, or an embedding, of a name that was completed: they change the recipe with the prompt.
    let mut after = Commands::default();
    ScrollArea::vertical().id_salt("settings scroll").auto_shrink([false, false]).show(ui, |ui| {
        let margin = Margin { left: EDGE, right: EDGE, top: 8, bottom: 16 };
        Frame::new().inner_margin(margin).show(ui, |ui| {
            prompt_field::prompt_fields(ui, state, &mut recipe, commands, &mut after);
            unknown_words::unknown_words_line(ui, state, commands);
            missing_fonts::missing_fonts_line(ui, state);
            style_row(ui, state, commands);
            loras::lora_chips(ui, state);
            steps::earlier_steps_row(ui, state, commands);
            model::model_section(ui, state, commands);
            size::size_section(ui, state, &mut recipe, commands);
            recent_settings::recent_settings_row(ui, state, commands);
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
    commands.append(after);
    if state.create.wanted_setting.is_some() {
        if widgets::is_row_wanted(ui.ctx()) {
            ui.ctx().request_repaint();
        } else {
            commands.push(Command::SettingShown);
        }
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
    // What is known of memory and time is about models of this computer.
    let is_elsewhere = state.shared.next.studio.is_some();
    if !is_elsewhere {
        devices::view::shortage_hint(ui, state, commands);
    }
    let is_canvas = state.canvas.edited().is_some() && state.shared.screen == Screen::Create;
    let ready = if is_canvas { state.shared.next.ready().or_else(without_prompt) } else { state.shared.next.ready_anywhere() };
    if let Err(unmet) = ready {
        ui.label(RichText::new(unmet.sentence()).color(palette.weak));
    } else if let Some(advice) = state.shared.next.advice().filter(|_| !is_elsewhere) {
        ui.label(RichText::new(advice).color(palette.warn));
    }
    // The engine has looked at the files: a part that is missing, or does not belong to the others.
    if let Some(failure) = state.devices.board.estimate_error.as_ref().filter(|_| state.shared.screen == Screen::Create && !is_elsewhere) {
        ui.add(Label::new(RichText::new(failure).color(palette.warn)).wrap());
    }
    if !is_elsewhere {
        devices::view::time_line(ui, state);
    }
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
        let is_saving = command == queue::Command::SaveEdit.into();
        let intent = state.canvas.intent().filter(|_| has_switch && !state.live.is_on && !is_saving);
        let label = intent.map_or(command.label(), Intent::label).to_owned();
        let label = if is_saving {
            tr!("create-save-the-job").to_owned()
        } else if state.shared.is_queue_standing() && !(has_switch && state.live.is_on) {
            tr!("create-waiting", command = command.label(), waiting_count = state.shared.waiting_count())
        } else {
            label
        };
        let keys =
            crate::gui::command::Command::from(Command::Generate).shortcut().map(|it| keys_text(ui.ctx(), it.keys)).unwrap_or_default();
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
            ui.label(RichText::new(tr!("create-waiting-in-the-queue", waiting)).color(palette.weak));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                command_control(ui, state, commands, Command::ClearQueue, |ui| {
                    ui.button(tr!("create-clear")).accessible_name(Command::ClearQueue.label())
                });
            });
        });
    }
}

fn sampling(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    ui.add_space(9.0);
    let hover = tr!("create-steps-guidance-sampler-and");
    let summary = sampling_summary(recipe);
    let is_open = state.create.open_folds.contains(&Fold::Sampling);
    let (fold, is_pressed) = widgets::fold(ui, tr!("create-sampling-2"), &summary, is_open, |ui| {
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
    parts.extend([tr!("create-steps-of", steps), tr!("create-guidance-2", guidance)]);
    parts.extend(recipe.seed.map(|seed| tr!("create-seed-3", seed)));
    parts.extend(recipe.words_seed.map(|seed| tr!("create-choices-of", seed)));
    parts.join(", ")
}

fn sampling_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    setting_row(
        ui,
        tr!("create-steps"),
        &mut recipe.steps,
        1..=100,
        ROWS.steps.limits,
        &Scale { logarithmic: true, ..WHOLE },
        tr!("create-number-of-sampling-steps"),
    );
    let guidance = Scale { step: 0.1, decimals: 1, logarithmic: false };
    setting_row(
        ui,
        tr!("create-guidance"),
        &mut recipe.guidance,
        1.0..=20.0,
        ROWS.guidance.limits,
        &guidance,
        tr!("create-guidance-cfg-scale-how"),
    );
    draft_row(ui, state, recipe, commands);
    choice_row(ui, tr!("create-sampler"), &mut recipe.sampler, Sampler::ALL, Sampler::label, tr!("create-sampling-method"));
    choice_row(ui, tr!("create-scheduler"), &mut recipe.scheduler, Scheduler::ALL, Scheduler::label, tr!("create-noise-schedule"));
    seed_row(ui, state, recipe, commands);
    blend_rows(ui, state, recipe, commands);
    if Shown::Choices.check(&state.shared, recipe).is_ok() {
        choices_row(ui, state, recipe, commands);
    }
}

fn choice_row<T: Copy + PartialEq>(ui: &mut Ui, label: &str, value: &mut Option<T>, all: &[T], name: fn(T) -> &'static str, hover: &str) {
    choice_row_or(ui, label, value, tr!("create-models-default"), all, name, hover);
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
    row(ui, tr!("create-seed-2"), |ui| {
        let buttons = 2.0 * (widgets::ROW_HEIGHT + 2.0) + ui.spacing().item_spacing.x;
        let width = ui.available_width() - buttons;
        let what = tr!("create-random-seed-the-same");
        let hover = state.create.last_seed.map_or_else(|| what.to_owned(), |last| tr!("create-the-last-one-was", what, last));
        seed_edit(ui, width, &SEED, &mut recipe.seed).on_hover_text(hover).accessible_name(tr!("create-seed-2"));
        ui.spacing_mut().item_spacing.x = 2.0;
        icon_button(ui, state, commands, Icon::Dice, Command::RollSeed);
        let icon = if recipe.seed.is_some() { Icon::Locked } else { Icon::Unlocked };
        icon_button(ui, state, commands, icon, Command::LockSeed);
    });
}

/// A field of a seed.
struct SeedField {
    /// Name of its id.
    name: &'static str,
    /// What it stands for while it has no digits.
    empty: Option<Seed>,
    /// The text that it shows then, where that is no seed.
    hint: fn() -> &'static str,
}

const SEED: SeedField = SeedField { name: "seed", empty: None, hint: || tr!("create-random") };
const SECOND_SEED: SeedField = SeedField { name: "second-seed", empty: Some(Seed(0)), hint: || "" };
const SEED_OF_CHOICES: SeedField = SeedField { name: "seed-of-choices", empty: None, hint: || tr!("create-as-the-seed") };

/// A text field of a seed, which has more digits than a field of numbers keeps.
fn seed_edit(ui: &mut Ui, width: f32, SeedField { name, empty, hint }: &SeedField, seed: &mut Option<Seed>) -> Response {
    let empty = *empty;
    let field = Id::unique(name);
    let id = field.with("text");
    let read = |digits: &str| if digits.is_empty() { Some(empty) } else { digits.parse().ok().map(Some) };
    // The typed text stays until the field is left, so that a half-typed number is not corrected
    // under the cursor.
    let typed = ui.data(|data| data.get_temp::<String>(id)).filter(|typed| read(typed) == Some(*seed));
    let mut text = typed.clone().unwrap_or_else(|| seed.map_or_else(String::new, |seed| seed.to_string()));
    let edit = TextEdit::singleline(&mut text)
        .id(field)
        .hint_text(empty.map_or_else(|| hint().to_owned(), |seed| seed.to_string()))
        // The largest of 64 bits.
        .char_limit(20);
    let response = widgets::line_edit(ui, width, edit);
    if response.changed() {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        // One that is too large leaves the field as it was.
        *seed = read(&digits).unwrap_or(*seed);
        ui.data_mut(|data| data.insert_temp(id, digits));
    }
    if typed.is_some() && (!response.has_focus() || ui.input(|input| input.key_pressed(Key::Enter))) {
        ui.data_mut(|data| data.remove::<String>(id));
    }
    response
}

/// A check box that shows and changes a switch of the recipe by one command for each of its states.
fn switch(ui: &mut Ui, state: &State, commands: &mut Commands, is_on: bool, label: &str, command: fn(bool) -> Command) {
    let mut on = is_on;
    command_control(ui, state, commands, command(!is_on), |ui| ui.checkbox(&mut on, label).accessible_name(command(true).label()));
}

/// The switch of drafts, and their last step.
fn draft_row(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    row(ui, tr!("create-stop-early"), |ui| {
        switch(ui, state, commands, recipe.last_step.is_some(), "", Command::MakeDrafts);
        let most = recipe.steps.saturating_sub(1).max(1);
        if let Some(last) = &mut recipe.last_step {
            let hover = tr!("create-the-last-step-to");
            ui.add(whole_number(last, 1..=most).prefix(tr!("create-after-step")))
                .on_hover_text(hover)
                .accessible_name(tr!("create-last-step"));
        }
    });
}

/// The switch of a second seed, that seed, and how far its noise is taken.
fn blend_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    row(ui, tr!("create-blend"), |ui| {
        switch(ui, state, commands, recipe.seed_blend.is_some(), "", Command::BlendSeeds);
        if let Some(blend) = &mut recipe.seed_blend {
            let hover = tr!("create-variation-seed-blended-with");
            let width = ui.available_width() - widgets::ROW_HEIGHT - 2.0 - ui.spacing().item_spacing.x;
            let mut seed = Some(blend.seed);
            seed_edit(ui, width, &SECOND_SEED, &mut seed).on_hover_text(hover).accessible_name(tr!("create-second-seed"));
            blend.seed = seed.unwrap_or_default();
            icon_button(ui, state, commands, Icon::Dice, Command::RollSecondSeed);
        }
    });
    if let Some(blend) = &mut recipe.seed_blend {
        let hundredth = Scale { step: 0.01, decimals: 2, logarithmic: false };
        let hover = tr!("create-variation-strength-0-is");
        slider_row(ui, tr!("create-amount"), &mut blend.amount, SHARE, &hundredth, hover);
    }
}

/// The seed of what is chosen in the prompts.
fn choices_row(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    row(ui, tr!("create-choices"), |ui| {
        let width = ui.available_width() - widgets::ROW_HEIGHT - 2.0 - ui.spacing().item_spacing.x;
        let hover = tr!("create-seed-of-what-is");
        seed_edit(ui, width, &SEED_OF_CHOICES, &mut recipe.words_seed).on_hover_text(hover).accessible_name(tr!("create-seed-of-choices"));
        icon_button(ui, state, commands, Icon::Dice, Command::RollWordsSeed);
    });
}

fn rng_row(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = tr!("create-random-number-generator-of");
    row(ui, tr!("create-noise"), |ui| {
        let combo = ComboBox::from_id_salt("Noise")
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(rng_words(recipe.rng))
            .show_ui(ui, |ui| {
                for rng in Rng::ALL {
                    ui.selectable_value(&mut recipe.rng, *rng, rng_words(*rng));
                }
            });
        combo.response.on_hover_text(hover).accessible_name(tr!("create-noise"));
    });
}

fn rng_words(rng: Rng) -> &'static str {
    match rng {
        Rng::StdDefault => tr!("create-noise-of-the-library"),
        Rng::Cuda | Rng::Cpu => rng.label(),
    }
}

fn prediction_words(prediction: PredictionType) -> &'static str {
    match prediction {
        PredictionType::Eps => tr!("create-predicts-noise"),
        PredictionType::V => tr!("create-predicts-velocity"),
        PredictionType::EdmV => tr!("create-predicts-velocity-of-edm"),
        PredictionType::Sd3Flow => tr!("create-predicts-flow-of-sd3"),
        PredictionType::FluxFlow => tr!("create-predicts-flow-of-flux"),
        PredictionType::Flux2Flow => tr!("create-predicts-flow-of-flux-2"),
    }
}

fn lora_mode_row(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = tr!("create-when-loras-are-applied");
    row(ui, tr!("create-loras"), |ui| {
        let combo = ComboBox::from_id_salt("LoRAs")
            .width(ui.available_width())
            .icon(widgets::chevron)
            .selected_text(lora_mode_words(recipe.lora_mode))
            .show_ui(ui, |ui| {
                for mode in LoraMode::ALL {
                    ui.selectable_value(&mut recipe.lora_mode, *mode, lora_mode_words(*mode));
                }
            });
        combo.response.on_hover_text(hover).accessible_name(tr!("create-loras"));
    });
}

fn lora_mode_words(mode: LoraMode) -> &'static str {
    match mode {
        LoraMode::Auto => tr!("create-lora-mode-automatic"),
        LoraMode::Immediately => tr!("create-merge-into-weights"),
        LoraMode::AtRuntime => tr!("create-at-run-time"),
    }
}

fn prediction_row(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = tr!("create-what-the-model-predicts");
    let (value, name) = (&mut recipe.prediction, prediction_words);
    choice_row_or(ui, tr!("create-prediction"), value, tr!("create-as-the-file-says"), PredictionType::ALL, name, hover);
}

/// Settings of models of single families.
fn family_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let is_shown = |setting, recipe: &Recipe| Shown::KnownUse(setting).check(&state.shared, recipe).is_ok();
    if is_shown(FamilySetting::ZeroCondT, recipe) {
        row(ui, tr!("create-zero-timestep"), |ui| {
            ui.checkbox(&mut recipe.zero_cond_t, tr!("create-of-references")).on_hover_text(tr!("create-reference-pictures-at-a"))
        });
    }
    if is_shown(FamilySetting::ChromaMasks, recipe) {
        row(ui, tr!("create-chroma-masks"), |ui| {
            ui.checkbox(&mut recipe.chroma_dit_mask, tr!("create-picture")).on_hover_text(tr!("create-hide-padding-from-the"));
            ui.checkbox(&mut recipe.chroma_t5_mask, tr!("create-words-2")).on_hover_text(tr!("create-hide-padding-from-the-t5"));
            let padding = whole_number(&mut recipe.chroma_t5_padding, ROWS.chroma_t5_padding.limits);
            ui.add(padding).on_hover_text(tr!("create-words-of-padding-that")).accessible_name(tr!("create-words-of-padding"));
        });
    }
    if is_shown(FamilySetting::VaeFormat, recipe) {
        let (value, hover) = (&mut recipe.vae_format, tr!("create-latents-that-a-vae"));
        choice_row_or(ui, tr!("create-vae-format"), value, tr!("create-as-the-model-has"), VaeFormat::ALL, VaeFormat::label, hover);
    }
}

/// The types that weights get as a model is loaded.
fn weight_rows(ui: &mut Ui, recipe: &mut Recipe) {
    let hover = tr!("create-convert-weights-as-the");
    let (value, name) = (&mut recipe.weight_type, TensorType::label);
    choice_row_or(ui, tr!("create-weight-type"), value, tr!("create-as-in-the-file"), TensorType::ALL, name, hover);
    let hover = tr!("create-types-of-weights-by");
    let own = recipe.tensor_type_rules.to_string();
    text_row(ui, tr!("create-type-rules"), "^model\\.=q8_0, ^vae=f16", &own, hover, |text| {
        recipe.tensor_type_rules = text.parse().map_err(|error: RulesError| sentence(&error.to_string()))?;
        Ok(())
    });
}

/// Settings of the sampling that few pictures need, without those that the model does not use.
fn guidance_rows(ui: &mut Ui, state: &State, recipe: &mut Recipe) {
    let is_shown = |setting, recipe: &Recipe| Shown::Used(setting).check(&state.shared, recipe).is_ok();
    if is_shown(FamilySetting::ImageGuidance, recipe) {
        let hover = tr!("create-how-much-the-result");
        optional_row(ui, tr!("create-image-cfg"), &mut recipe.image_guidance, 1.5, ROWS.image_guidance.limits, 0.05, hover);
    }
    if is_shown(FamilySetting::SkipLayers, recipe) {
        let mut scale = recipe.skip_layers.as_ref().map(|skip| skip.scale);
        let before = scale;
        let hover = tr!("create-skip-layer-guidance-better");
        optional_row(ui, tr!("create-skip-layers"), &mut scale, SkipLayers::default().scale, SkipLayers::SCALES, 0.05, hover);
        if scale != before {
            recipe.skip_layers = scale.map(|scale| SkipLayers { scale, ..recipe.skip_layers.take().unwrap_or_default() });
        }
        if let Some(skip) = &mut recipe.skip_layers {
            let (own, hover) = (with_commas(&skip.layers), tr!("create-numbers-of-the-layers"));
            text_row(ui, tr!("create-skipped-layers"), "7, 8, 9", &own, hover, |text| {
                skip.layers = numbers(text).map_err(|reason| sentence(&reason))?;
                Ok(())
            });
            let hundredth = Scale { step: 0.01, decimals: 2, logarithmic: false };
            slider_row(ui, tr!("create-skip-start"), &mut skip.start, SHARE, &hundredth, tr!("create-part-of-the-steps-skip-start"));
            slider_row(ui, tr!("create-skip-end"), &mut skip.end, SHARE, &hundredth, tr!("create-part-of-the-steps-skip-end"));
        }
    }
    if is_shown(FamilySetting::TimestepShift, recipe) {
        let hover = tr!("create-timestep-shift-of-distilled");
        optional_row(ui, tr!("create-step-shift"), &mut recipe.timestep_shift, 250, ROWS.timestep_shift.limits, 1.0, hover);
    }
    let hover = tr!("create-seamless-tiling-opposite-edges");
    row(ui, tr!("create-seamless"), |ui| {
        ui.checkbox(&mut recipe.seamless_x, tr!("create-left-right")).on_hover_text(hover);
        ui.checkbox(&mut recipe.seamless_y, tr!("create-top-bottom")).on_hover_text(hover)
    });
    step_cache_rows(ui, state, recipe);
    let hover = tr!("create-noise-levels-of-the-steps-separated");
    text_row(ui, tr!("create-sigmas"), "14.6, 7.8, 3.5, 0", &with_commas(&recipe.sigmas), hover, |text| {
        recipe.sigmas = numbers(text).map_err(|reason| sentence(&reason))?;
        Ok(())
    });
    let own = recipe.sampler_arguments.clone();
    text_row(ui, tr!("create-arguments"), "apg_eta=1", &own, tr!("create-further-arguments-of-the"), |text| {
        text.clone_into(&mut recipe.sampler_arguments);
        Ok(())
    });
    control_steps_rows(ui, state, recipe);
    if Shown::References.check(&state.shared, recipe).is_ok() {
        let hover = tr!("create-bring-reference-pictures-to");
        row(ui, tr!("create-references"), |ui| {
            ui.checkbox(&mut recipe.resize_references, tr!("create-resize")).on_hover_text(hover);
            ui.checkbox(&mut recipe.number_references, tr!("create-number")).on_hover_text(hover)
        });
    }
}

fn more(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    ui.add_space(8.0);
    let is_shown = |setting, recipe: &Recipe| Shown::Used(setting).check(&state.shared, recipe).is_ok();
    let is_open = state.create.open_folds.contains(&Fold::More);
    let changed = changed_details(recipe, &state.shared.usual_recipe());
    let summary = match changed.len() {
        0 => tr!("create-models-defaults").to_owned(),
        count => tr!("create-settings-changed", count, names = changed.join(", ")),
    };
    let (fold, is_pressed) = widgets::fold(ui, tr!("create-more-settings"), &summary, is_open, |ui| {
        ui.scope_builder(UiBuilder::new(), |ui| {
            row(ui, tr!("create-previews"), |ui| {
                for choice in PreviewChoice::ALL {
                    let command = Command::SetPreview(choice);
                    let name = tr!("create-previews-2", choice = choice.label());
                    let shown = ui.selectable_label(state.create.preview == choice, choice.label()).on_hover_text(choice.tooltip());
                    if shown.accessible_name(name).clicked() {
                        commands.push(command);
                    }
                }
            });
            phrases::view::switch_row(ui, state, commands);
            if is_shown(FamilySetting::DistilledGuidance, recipe) {
                let distilled = Scale { step: 0.1, decimals: 1, logarithmic: false };
                let (value, limits) = (&mut recipe.distilled_guidance, ROWS.distilled_guidance.limits);
                let hover = tr!("create-distilled-guidance-for-models");
                setting_row(ui, tr!("create-distilled"), value, 0.0..=10.0, limits, &distilled, hover);
            }
            if is_shown(FamilySetting::FlowShift, recipe) {
                let hover = tr!("create-flow-shift-of-flow");
                optional_row(ui, tr!("create-flow-shift"), &mut recipe.flow_shift, 3.0, ROWS.flow_shift.limits, 0.05, hover);
            }
            optional_row(ui, tr!("create-eta"), &mut recipe.eta, 1.0, ROWS.eta.limits, 0.01, tr!("create-noise-that-ancestral-samplers"));
            if is_shown(FamilySetting::ClipSkip, recipe) {
                let hover = tr!("create-clip-layers-to-skip");
                optional_row(ui, tr!("create-clip-skip"), &mut recipe.clip_skip, 1, ROWS.clip_skip.limits, 0.05, hover);
            }
            guidance_rows(ui, state, recipe);
            prediction_row(ui, recipe);
            family_rows(ui, state, recipe);
            weight_rows(ui, recipe);
            rng_row(ui, recipe);
            let hover = tr!("create-random-number-generator-of-the-noise");
            choice_row_or(ui, tr!("create-sampler-noise"), &mut recipe.sampler_rng, tr!("create-as-the-noise"), Rng::ALL, rng_words, hover);
            if Shown::Loras.check(&state.shared, recipe).is_ok() {
                lora_mode_row(ui, recipe);
            }
            optional_row(ui, tr!("create-threads"), &mut recipe.threads, 4, ROWS.threads.limits, 0.1, tr!("create-cpu-threads-off-all"));
            let mapping = tr!("create-map-model-files-into");
            row(ui, tr!("create-loading"), |ui| ui.checkbox(&mut recipe.memory_map, tr!("create-map-files")).on_hover_text(mapping));
            let tiling = tr!("create-decode-the-picture-in");
            row(ui, tr!("create-vae-tiling"), |ui| ui.checkbox(&mut recipe.vae_tiling, tr!("create-save-memory")).on_hover_text(tiling));
            if recipe.vae_tiling {
                tile_size_row(ui, recipe);
                let hover = tr!("create-part-of-a-tile");
                optional_row(ui, tr!("create-tile-overlap"), &mut recipe.vae_tile_overlap, 0.5, ROWS.vae_tile_overlap.limits, 0.01, hover);
            }
            if is_shown(FamilySetting::VaeConvScale, recipe) {
                let range = tr!("create-scale-the-vaes-convolutions");
                row(ui, tr!("create-vae-range"), |ui| {
                    ui.checkbox(&mut recipe.vae_conv_scale, tr!("create-safe-range")).on_hover_text(range)
                });
            }
            let flash = tr!("create-flash-attention-needs-less");
            let attention = row(ui, tr!("create-attention"), |ui| {
                ui.checkbox(&mut recipe.flash_attention, tr!("create-flash-attention")).on_hover_text(flash)
            });
            if attention.changed() {
                // Whoever turns it on wants it.
                recipe.insists_on_flash_attention = recipe.flash_attention;
            }
        });
    });
    if is_pressed {
        commands.push(Command::SetFold(Fold::More, !is_open));
    }
    let mut hover = tr!("create-previews-and-advanced-settings").to_owned();
    if changed.is_empty() {
        fold.header_response.on_hover_text(hover);
        return;
    }
    let words = tr!("create-changed", changed = changed.join(", "));
    if is_open {
        let palette = theme::palette(ui);
        ui.add(Label::new(RichText::new(&words).size(theme::SMALL).color(palette.weak)).wrap())
            .on_hover_text(tr!("create-these-settings-differ-from"));
    } else {
        // The line of the fold has not room for all of them.
        hover.extend(["\n", &words]);
    }
    fold.header_response.on_hover_text(hover);
}

/// Draws the sides of VAE tiles: one number, or two with an x between them.
fn tile_size_row(ui: &mut Ui, recipe: &mut Recipe) {
    let own = recipe.vae_tile_size.map(|size| size.to_string()).unwrap_or_default();
    text_row(ui, tr!("create-tile-size"), "32x16", &own, tr!("create-side-of-a-tile"), |text| {
        let size = Some(text).filter(|text| !text.trim().is_empty()).map(str::parse::<TileSize>).transpose();
        recipe.vae_tile_size = size.map_err(|reason| sentence(&reason))?.map(|size| size.within(&ROWS.vae_tile_size.limits));
        Ok(())
    });
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
