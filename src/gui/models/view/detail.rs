//! Details of a model: commands, download, variants, files, settings, licence, disk space.

use std::sync::atomic::Ordering;

use eframe::egui::{Align, Button, Frame, Grid, Label, Layout, Margin, ProgressBar, RichText, ScrollArea, Ui, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::create;
use crate::gui::due;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::models;
use crate::gui::models::view::controls::{colour_of, named_button};
use crate::gui::models::view::downloads;
use crate::gui::models::{Availability, FileCheck, ModelCard, ModelKind, Stage, Status, queue};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{bold, icon_button, small};
use atelier_core::format::file_size;
use atelier_language::{catalogue_text, tr};

/// Seconds between two looks at the progress of a copy.
const PROGRESS_SECS: f64 = 0.5;

pub(crate) fn detail_panel(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    ScrollArea::vertical().id_salt(("model details", &model.id)).auto_shrink([false, false]).show(ui, |ui| {
        Frame::new().inner_margin(Margin { left: 18, right: 18, top: 10, bottom: 18 }).show(ui, |ui| {
            head(ui, state, commands, model);
            actions(ui, state, commands, model);
            download_section(ui, state, commands, model);
            prompts(ui, state, commands, model);
            variants(ui, state, commands, model);
            files(ui, state, model);
            missing(ui, model);
            trigger_words(ui, commands, state, model);
            pairs(ui, tr!("models-recommended-settings"), &model.default_lines());
            pairs(ui, tr!("models-from-its-trainer"), &model.trainer_notes);
            licence(ui, state, commands, model);
            disk_section(ui, state, commands, model);
        });
        widgets::follow_focus(ui);
    });
}

/// Name, availability, description, problems, fit.
fn head(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    let palette = theme::palette(ui);
    let status = state.models.status(&model.id);
    ui.horizontal_top(|ui| {
        ui.vertical(|ui| {
            ui.set_width(ui.available_width() - widgets::ROW_HEIGHT - 8.0);
            ui.add(Label::new(bold(&model.name).size(theme::HEADING).color(palette.strong)).wrap());
        });
        icon_button(ui, state, commands, Icon::Close, Command::Models(models::Command::CloseDetails));
    });
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let mut line = vec![if status.in_memory { tr!("models-in-memory-2") } else { model.availability.label() }.to_owned()];
        line.extend(model.family.clone());
        if model.kind != ModelKind::Model {
            line.push(model.kind_label().into());
        }
        ui.label(RichText::new(line.join(" · ")).color(palette.weak)).on_hover_text(model.availability.tooltip());
    });
    if !model.description.is_empty() {
        ui.add(Label::new(RichText::new(catalogue_text(&model.description)).color(palette.text)).wrap());
    }
    for problem in &model.problems {
        let colour = if model.availability == Availability::Listed { palette.warn } else { palette.error };
        ui.add(Label::new(RichText::new(problem).color(colour)).wrap());
    }
    if model.kind == ModelKind::Model && model.availability != Availability::Listed {
        let size = match model.bytes {
            None => tr!("models-its-size-is-not").to_owned(),
            Some(bytes) if model.is_estimate => tr!("models-about-of-weights", value = file_size(bytes)),
            Some(bytes) => tr!("models-of-weights", size = file_size(bytes)),
        };
        let words = format!("{size}: {}", status.fit.label(state.models.memory));
        ui.label(RichText::new(words).color(colour_of(status.fit, &palette))).on_hover_text(state.models.fit_sentence(model, status));
        if let Some(predictions) = state.models.predictions.get(&model.id) {
            ui.add(Label::new(small(&predictions.sentence, palette.text)).wrap());
        }
        if let Some(time) = state.models.picture_time(model) {
            let colour = if time.is_too_slow() { palette.warn } else { palette.text };
            ui.add(Label::new(small(time.sentence(), colour)).wrap());
        }
    }
    if model.is_estimate {
        let words = tr!("models-some-sizes-of-this");
        ui.add(Label::new(small(words, palette.weak)).wrap());
    }
}

fn actions(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    if state.models.download_of(model).is_some() && !model.availability.is_ready() {
        return;
    }
    let id = model.id.clone();
    let next = match model.availability {
        Availability::Catalogue | Availability::Damaged => Some(models::Command::Download(id)),
        Availability::Incomplete => Some(models::Command::DownloadMissing(id)),
        Availability::BuiltIn | Availability::OnDisk | Availability::InPlace => {
            matches!(model.kind, ModelKind::Model | ModelKind::Lora).then_some(models::Command::Use(id))
        }
        Availability::Listed => None,
    };
    ui.add_space(4.0);
    ui.horizontal_wrapped(|ui| {
        theme::accented(ui, |ui| {
            let Some(command) = next else { return };
            // The card has a button of the same name.
            let button = Button::new(command.label()).min_size(vec2(104.0, 28.0));
            let name = tr!("models-now", command = command.label(), name = model.name);
            widgets::command_control(ui, state, commands, Command::Models(command), |ui| ui.add(button).accessible_name(name));
        });
        if model.availability == Availability::Catalogue && model.kind == ModelKind::Model {
            named_button(
                ui,
                state,
                commands,
                models::Command::DownloadAndGenerate(model.id.clone()),
                &tr!("models-with", name = model.name),
            );
        }
        // Another size than the one that is here.
        if model.availability.is_ready() && state.models.variant(model).is_some_and(|it| !it.on_disk) {
            named_button(ui, state, commands, models::Command::Download(model.id.clone()), &tr!("models-this-size-of", name = model.name));
        }
        if let Some(folder) = &model.folder {
            named_button(ui, state, commands, models::Command::OpenFolder(folder.clone()), &model.name);
        }
    });
}

/// Prompts that it does well: before a model is here there is no picture of it.
fn prompts(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    if model.examples.is_empty() {
        return;
    }
    let colour = theme::palette(ui).text;
    title(ui, tr!("models-good-at"));
    for example in &model.examples {
        let command = create::Command::TakeExample(Box::new(example.clone()));
        let button = Button::new(small(&example.prompt, colour)).wrap();
        widgets::command_control(ui, state, commands, command, |ui| ui.add(button));
    }
}

/// Progress and commands of its download.
fn download_section(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    let Some(download) = state.models.download_of(model) else { return };
    let palette = theme::palette(ui);
    title(ui, tr!("models-download"));
    let failed = matches!(download.status, Status::Failed(_));
    ui.add(Label::new(small(queue::status_line(download), if failed { palette.error } else { palette.text })).wrap());
    downloads::bar(ui, download, &tr!("models-in-its-details", name = download.name));
    downloads::advice(ui, state, commands, download);
    ui.horizontal(|ui| {
        let id = download.id.clone();
        let of = tr!("models-now-2", name = download.name);
        match download.status {
            Status::Waiting | Status::Running => named_button(ui, state, commands, models::Command::Pause(id.clone()), &of),
            Status::Paused(_) => named_button(ui, state, commands, models::Command::Resume(id.clone()), &of),
            Status::Failed(_) => named_button(ui, state, commands, models::Command::Retry(id.clone()), &of),
        };
        named_button(ui, state, commands, models::Command::Cancel(id), &of);
    });
}

fn variants(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    if model.variants.is_empty() {
        return;
    }
    let palette = theme::palette(ui);
    title(ui, tr!("models-sizes"));
    let chosen = state.models.variant(model).map(|it| it.name.clone());
    for variant in &model.variants {
        let name = if variant.name.is_empty() { tr!("models-usual") } else { variant.words() };
        let bytes = variant.bytes.map_or_else(|| tr!("models-size-unknown-2").into(), file_size);
        let fits = state.models.memory.map(|it| it.fits(variant.bytes));
        let note = if variant.on_disk { Some(tr!("models-on-disk")) } else { fits.map(|it| it.label(state.models.memory)) };
        let line = [name, &bytes].into_iter().chain(note).collect::<Vec<_>>().join(" · ");
        let command = models::Command::ChooseVariant(model.id.clone(), variant.name.clone());
        let tooltip = command.tooltip();
        if ui.radio(chosen.as_deref() == Some(variant.name.as_str()), line).on_hover_text(tooltip).clicked() {
            commands.push(Command::Models(command));
        }
        if !variant.description.is_empty() {
            ui.add(Label::new(small(catalogue_text(&variant.description), palette.weak)).wrap());
        }
    }
}

fn files(ui: &mut Ui, state: &State, model: &ModelCard) {
    let palette = theme::palette(ui);
    title(ui, tr!("models-files"));
    let download = state.models.download_of(model);
    for file in &model.files {
        let coming = download.and_then(|it| it.progress.files.iter().find(|it| it.name == file.name));
        let (words, colour) = match (coming.map(|it| (it.stage, it.bytes, it.total)), &file.path) {
            (Some((Stage::Done, ..)), _) | (None, Some(_)) => (tr!("models-here").to_owned(), palette.good),
            (Some((Stage::Loading, bytes, Some(total))), _) if total > 0 => {
                (format!("{} %", (bytes as f64 / total as f64 * 100.0).floor()), palette.accent)
            }
            (Some((stage, ..)), _) => (stage_word(stage).to_owned(), palette.weak),
            (None, None) if model.availability == Availability::Catalogue => (String::new(), palette.weak),
            (None, None) => (tr!("models-missing").to_owned(), palette.error),
        };
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.horizontal(|ui| {
                ui.label(small(file.role.label(), palette.weak));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let bytes = file.bytes.map_or_else(|| tr!("models-size-unknown-2").into(), file_size);
                    ui.label(small(bytes, palette.text));
                    ui.label(small(words, colour));
                });
            });
            let name = widgets::middle_elided(ui, &file.name, ui.available_width());
            let hover = file.path.as_ref().map_or_else(|| file.name.clone(), |it| it.display().to_string());
            ui.add(Label::new(RichText::new(name).color(palette.text)).truncate()).on_hover_text(hover);
            if let Some(facts) = &file.facts {
                ui.add(Label::new(small(&facts.words, palette.weak)).truncate());
            }
        });
        ui.add_space(2.0);
    }
}

fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Waiting => tr!("models-waits"),
        Stage::Checking => tr!("models-checking"),
        Stage::Loading => tr!("models-is-downloading"),
        Stage::Shared => tr!("models-comes-with-another-model"),
        Stage::Retrying => tr!("models-retrying"),
        Stage::Finishing => tr!("models-finishing"),
        Stage::Done => tr!("models-here"),
    }
}

fn missing(ui: &mut Ui, model: &ModelCard) {
    if model.missing.is_empty() {
        return;
    }
    let palette = theme::palette(ui);
    title(ui, tr!("models-still-missing"));
    for part in &model.missing {
        let words = match (part.file_name(), part.bytes()) {
            (Some(file), Some(bytes)) => tr!("models-about-2", file, bytes = file_size(bytes)),
            (Some(file), None) => tr!("models-size-unknown", file),
            (None, _) => tr!("models-no-download-source-is-known-add").to_owned(),
        };
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.add(Label::new(small(part.what.trim_start_matches("the "), palette.weak)).wrap());
            ui.add(Label::new(RichText::new(words).color(palette.warn)).wrap());
        });
    }
}

/// Trigger words, each a button that copies it.
fn trigger_words(ui: &mut Ui, commands: &mut Commands, state: &State, model: &ModelCard) {
    if model.trigger_words.is_empty() {
        return;
    }
    title(ui, tr!("models-trigger-words"));
    ui.horizontal_wrapped(|ui| {
        for word in &model.trigger_words {
            let command = models::Command::CopyTriggerWord(word.clone());
            widgets::command_control(ui, state, commands, Command::Models(command), |ui| ui.button(word));
        }
    });
}

fn pairs(ui: &mut Ui, head: &str, pairs: &[(&'static str, String)]) {
    if pairs.is_empty() {
        return;
    }
    let palette = theme::palette(ui);
    title(ui, head);
    Grid::new(head).num_columns(2).spacing(vec2(12.0, 3.0)).min_col_width(84.0).min_row_height(0.0).show(ui, |ui| {
        for (name, value) in pairs {
            ui.label(small(*name, palette.weak));
            ui.add(Label::new(small(value, palette.text)).wrap());
            ui.end_row();
        }
    });
}

fn licence(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    let Some(terms) = &model.licence else { return };
    let palette = theme::palette(ui);
    title(ui, tr!("models-licence"));
    let notes = terms.notes().map(|it| format!(" ({it})")).unwrap_or_default();
    ui.add(Label::new(RichText::new(format!("{}{notes}", catalogue_text(terms.name()))).color(palette.text)).wrap());
    if let Some(url) = terms.url() {
        named_button(ui, state, commands, models::Command::OpenLicence(url.to_owned()), "");
    }
}

/// Bytes on disk, integrity check, deletion.
fn disk_section(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    if !model.availability.is_here() {
        return;
    }
    let palette = theme::palette(ui);
    title(ui, tr!("models-on-disk-2"));
    let line = model.bytes.map_or_else(|| tr!("models-its-size-is-not-known").to_owned(), |it| tr!("models-in-all", value = file_size(it)));
    ui.add(Label::new(RichText::new(line).color(palette.text)).wrap());
    if model.shared_bytes > 0 {
        let stays = if model.downloaded { tr!("models-and-are-kept-when") } else { "" };
        let line = tr!("models-are-shared-with-another", shared_bytes = file_size(model.shared_bytes), stays);
        ui.add(Label::new(RichText::new(line).color(palette.text)).wrap());
    }
    if !model.downloaded {
        let words = match model.availability {
            Availability::BuiltIn => tr!("models-part-of-atelier"),
            _ => tr!("models-used-in-place-in"),
        };
        ui.add(Label::new(small(words, palette.weak)).wrap());
        copy_row(ui, state, commands, model);
        return;
    }
    match state.models.checks.get(&model.id) {
        Some(FileCheck::Running { bytes, total }) => {
            let done =
                total.map_or_else(|| file_size(*bytes), |total| tr!("models-of-2", bytes = file_size(*bytes), total = file_size(total)));
            ui.label(RichText::new(tr!("models-verifying", done)).color(palette.text));
        }
        Some(FileCheck::Done(files)) => {
            for file in files {
                let colour = if file.is_right { palette.good } else { palette.error };
                ui.add(Label::new(small(format!("{}: {}", file.name, file.words), colour)).wrap());
            }
        }
        None => {}
    }
    ui.horizontal_wrapped(|ui| {
        let id = || model.id.clone();
        if matches!(state.models.checks.get(&model.id), Some(FileCheck::Running { .. })) {
            named_button(ui, state, commands, models::Command::StopCheck(id()), &model.name);
        } else {
            named_button(ui, state, commands, models::Command::CheckFiles(id()), &tr!("models-of-3", name = model.name));
        }
        named_button(ui, state, commands, models::Command::Delete(id()), &model.name);
    });
    copy_row(ui, state, commands, model);
}

/// The way to a smaller copy, or the progress of one.
fn copy_row(ui: &mut Ui, state: &State, commands: &mut Commands, model: &ModelCard) {
    match &state.models.running_copy {
        Some(copy) if copy.name == model.name => {
            let (done, all) = (copy.progress.done_bytes.load(Ordering::SeqCst), copy.progress.all_bytes.load(Ordering::SeqCst));
            let part = if all > 0 { done as f32 / all as f32 } else { 0.0 };
            let words = tr!("models-of-4", done = file_size(done), all = file_size(all));
            ui.add(ProgressBar::new(part).text(words)).accessible_name(tr!("models-copy-of", name = model.name));
            named_button(ui, state, commands, models::Command::StopCopy, "");
            // Another thread counts.
            due::wake_in(ui.ctx(), PROGRESS_SECS);
        }
        _ if model.copied_file().is_some() => {
            named_button(ui, state, commands, models::Command::CopyModel(model.id.clone()), &tr!("models-of-3", name = model.name));
        }
        _ => {}
    }
}

fn title(ui: &mut Ui, words: &str) {
    ui.add_space(9.0);
    ui.label(bold(words).color(theme::palette(ui).strong));
}
