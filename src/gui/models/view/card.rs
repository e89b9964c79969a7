//! Card of a model in the grid.

use eframe::egui::{
    Align, Button, Color32, EventFilter, FontId, Id, Label, Layout, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, Ui, UiBuilder,
    WidgetInfo, pos2, vec2,
};

use crate::gui::command::{Command, Commands};
use crate::gui::icons;
use crate::gui::icons::Icon;
use crate::gui::models;
use crate::gui::models::view::controls::{colour_of, named_button};
use crate::gui::models::view::downloads;
use crate::gui::models::{Availability, CardStatus, FitLevel, JobSnapshot, ModelCard, ModelKind, PictureTime, Status, queue};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::theme::Palette;
use crate::gui::widgets;
use crate::gui::widgets::{command_control, small};
use atelier_core::format::file_size;
use atelier_core::sentences::list;
use atelier_language::{catalogue_text, tr};

/// Height of a card, in points.
pub(crate) const HEIGHT: f32 = 134.0;
const RADIUS: f32 = 9.0;
/// Side of the last picture made with a model, in points.
const PICTURE_SIDE: f32 = 58.0;
/// Space between a card's edge and its contents, in points.
const INSIDE: f32 = 12.0;

/// Id of a card's widget.
pub(crate) fn id(model: &str) -> Id {
    Id::unique(("model card", model))
}

/// The card, in `rect`.
pub(crate) fn card(ui: &mut Ui, state: &State, commands: &mut Commands, card: &ModelCard, status: CardStatus, rect: Rect) {
    let palette = theme::palette(ui);
    let view = &state.models;
    let selected = view.selected.as_deref() == Some(card.id.as_str());
    let download = view.download_of(card);
    let response = ui.interact(rect, id(&card.id), Sense::click());
    response
        .widget_info(|| WidgetInfo::selected(Role::Button, true, selected && view.is_open, accessible_text(state, card, status, download)));
    let fill = if response.hovered() { palette.raised } else { palette.panel };
    ui.painter().rect_filled(rect, RADIUS, fill);
    let edge = if selected && view.is_open { palette.accent } else { palette.line };
    ui.painter().rect_stroke(rect, RADIUS, Stroke::new(1.0, edge), StrokeKind::Inside);
    if response.has_focus() {
        ui.painter().rect_stroke(rect, RADIUS, Stroke::new(2.0, palette.accent), StrokeKind::Inside);
        // The arrow keys go from card to card (`crate::gui::models::view::keys`).
        let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|it| it.set_focus_lock_filter(response.id, arrows));
    }
    if selected && view.focus_card {
        response.request_focus();
    }
    let mut inside = ui.new_child(UiBuilder::new().max_rect(rect.shrink(INSIDE)).layout(Layout::top_down(Align::LEFT)));
    let ui = &mut inside;
    ui.spacing_mut().item_spacing.y = 3.0;
    ui.allocate_ui_with_layout(vec2(ui.available_width(), 18.0), Layout::right_to_left(Align::Center), |ui| {
        state_chip(ui, card, status, download, &palette);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add(Label::new(widgets::bold(view.telling_name(card)).size(theme::BODY).color(palette.strong)).truncate());
        });
    });
    let picture = last_picture(state, card).or_else(|| example(state, card));
    let bottom = Rect::from_min_max(pos2(rect.left() + INSIDE, rect.bottom() - 36.0), pos2(rect.right() - 9.0, rect.bottom() - 8.0));
    // Between the name and the lowest line, and beside the picture.
    let mut words = Rect::from_min_max(pos2(rect.left() + INSIDE, ui.cursor().top()), pos2(rect.right() - INSIDE, bottom.top()));
    if let Some((texture, name, hover)) = picture {
        let corner = pos2(rect.right() - INSIDE - PICTURE_SIDE, rect.top() + INSIDE + 22.0);
        let at = Rect::from_min_size(corner, vec2(PICTURE_SIDE, PICTURE_SIDE));
        widgets::paint_square(ui, texture, at);
        let shown = ui.interact(at, id(&card.id).with("picture"), Sense::hover());
        shown.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        shown.on_hover_text(hover);
        words.max.x = at.left() - 8.0;
    }
    ui.scope_builder(UiBuilder::new().max_rect(words).layout(Layout::top_down(Align::LEFT)), |ui| {
        ui.add(Label::new(small(facts_line(card), palette.text)).truncate());
        match download {
            Some(download) => {
                let failed = matches!(download.status, Status::Failed(_));
                ui.add(Label::new(small(queue::status_line(download), if failed { palette.error } else { palette.weak })).truncate())
                    .on_hover_text(queue::status_line(download));
                ui.add_space(5.0);
                downloads::bar(ui, download, &card.name);
            }
            None => description(ui, card, &palette),
        }
    });
    ui.scope_builder(UiBuilder::new().max_rect(bottom).layout(Layout::left_to_right(Align::Center)), |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let left = |ui: &mut Ui| fit_line(ui, state, card, status, &palette);
        widgets::sides(ui, &card.id, left, |ui| action(ui, state, commands, card, download));
    });
    if response.clicked() {
        let command = if selected && view.is_open { models::Command::CloseDetails } else { models::Command::OpenDetails(card.id.clone()) };
        commands.push(Command::Models(command));
    }
}

/// The last picture made with a model, with its name and what it is.
fn last_picture<'a>(state: &'a State, card: &ModelCard) -> Option<(&'a TextureHandle, String, &'static str)> {
    let texture = state.gallery.thumbnails.get(state.gallery.latest_of_card(card)?)?;
    Some((texture, tr!("models-last-picture-of", name = card.name), tr!("models-the-last-picture-made")))
}

/// The picture of an example that comes with a model, where that is chosen.
fn example<'a>(state: &'a State, card: &ModelCard) -> Option<(&'a TextureHandle, String, &'static str)> {
    let examples = &state.create.examples;
    let is_its = card.availability == Availability::BuiltIn && state.shared.next.uses_builtin();
    let texture = examples.looks.first()?.as_ref().filter(|_| is_its && examples.is_of(&state.shared.next.recipe.files))?;
    Some((texture, tr!("models-an-example-of", name = card.name), tr!("models-a-picture-that-this-model")))
}

/// Accessible name of the card.
fn accessible_text(state: &State, card: &ModelCard, status: CardStatus, download: Option<&JobSnapshot>) -> String {
    let word = download.map_or(card.availability.label(), |it| queue::status_word(&it.status));
    let mut words = vec![state.models.telling_name(card), word.to_owned()];
    if status.in_memory {
        words.push(tr!("models-in-memory-2").into());
    }
    words.push(card.bytes.map_or_else(|| tr!("models-size-unknown-2").into(), file_size));
    if card.kind == ModelKind::Model && card.availability != Availability::Listed {
        words.push(status.fit.label(state.models.memory).into());
        words.extend(state.models.picture_time(card).map(PictureTime::words));
    } else {
        words.push(card.kind_label().into());
    }
    words.join(", ")
}

/// Word with a coloured dot: in memory, status of its download, or availability.
fn state_chip(ui: &mut Ui, card: &ModelCard, status: CardStatus, download: Option<&JobSnapshot>, palette: &Palette) {
    let (word, colour, hover) = if status.in_memory {
        (tr!("models-in-memory-2"), palette.accent, tr!("models-its-weights-are-in"))
    } else if let Some(download) = download {
        let colour = match download.status {
            Status::Running => palette.accent,
            Status::Waiting | Status::Paused(_) => palette.weak,
            Status::Failed(_) => palette.error,
        };
        (queue::status_word(&download.status), colour, tr!("models-in-the-download-queue"))
    } else {
        let colour = match card.availability {
            Availability::BuiltIn | Availability::OnDisk | Availability::InPlace => palette.good,
            Availability::Incomplete => palette.warn,
            Availability::Damaged => palette.error,
            Availability::Catalogue | Availability::Listed => palette.weak,
        };
        (card.availability.label(), colour, card.availability.tooltip())
    };
    ui.add(Label::new(small(word, colour)).sense(Sense::hover())).on_hover_text(hover);
    dot(ui, colour);
}

fn dot(ui: &mut Ui, colour: Color32) {
    let (rect, _) = ui.allocate_exact_size(vec2(7.0, 7.0), Sense::hover());
    ui.painter().circle_filled(rect.center(), 3.5, colour);
}

/// Line with kind, family, size and licence.
fn facts_line(card: &ModelCard) -> String {
    let mut words: Vec<String> = Vec::new();
    if card.kind != ModelKind::Model {
        words.push(card.kind_label().into());
    }
    words.extend(card.family.clone());
    let is_estimate = card.availability == Availability::Catalogue && card.is_estimate;
    words.push(match card.bytes {
        None => tr!("models-size-unknown-2").into(),
        Some(bytes) if is_estimate => tr!("models-about-3", size = file_size(bytes)),
        Some(bytes) => file_size(bytes),
    });
    if let Some(terms) = &card.licence {
        words.push(terms.notes().unwrap_or_else(|| catalogue_text(terms.name())).to_owned());
    }
    words.join(" · ")
}

/// Two lines: what is missing or wrong, else trigger words or the description.
fn description(ui: &mut Ui, card: &ModelCard, palette: &Palette) {
    let (text, colour) = if !card.missing.is_empty() {
        let names: Vec<String> = card.missing.iter().map(|it| it.what.clone()).collect();
        let bytes = card.missing_bytes().map(|it| tr!("models-about", value = file_size(it))).unwrap_or_default();
        (tr!("models-needs", list = list(&names), bytes), palette.warn)
    } else if let Some(problem) = card.problems.first() {
        (problem.clone(), if card.availability == Availability::Listed { palette.weak } else { palette.error })
    } else if card.trigger_words.is_empty() {
        (catalogue_text(&card.description).to_owned(), palette.weak)
    } else {
        (tr!("models-trigger-words-are", trigger_words = card.trigger_words.join(", ")), palette.weak)
    };
    // Two lines, and no more.
    let font = FontId::proportional(theme::SMALL);
    let mut layout = eframe::egui::text::LayoutJob::simple(text, font, colour, ui.available_width());
    layout.wrap.max_rows = 2;
    ui.add(Label::new(layout));
}

/// Fit level, and a mark for sizes that are estimates.
fn fit_line(ui: &mut Ui, state: &State, card: &ModelCard, status: CardStatus, palette: &Palette) {
    if card.kind == ModelKind::Model && card.availability != Availability::Listed {
        let time = state.models.picture_time(card);
        let is_slow = time.is_some_and(PictureTime::is_too_slow);
        dot(ui, if is_slow { palette.warn } else { colour_of(status.fit, palette) });
        // Where it is known how long a picture takes, that it fits goes without saying.
        let words = match time {
            Some(time) if status.fit == FitLevel::Fits => time.words(),
            Some(time) => format!("{}, {}", status.fit.label(state.models.memory), time.words()),
            None => status.fit.label(state.models.memory).to_owned(),
        };
        let hover = match time {
            Some(time) => format!("{} {}", time.sentence(), state.models.fit_sentence(card, status)),
            None => state.models.fit_sentence(card, status).to_owned(),
        };
        ui.add(Label::new(small(words, palette.text)).truncate()).on_hover_text(hover);
    }
    if card.is_estimate {
        let words = tr!("models-some-sizes-and-checksums");
        let name = tr!("models-unchecked");
        let has_room = widgets::text_width(ui, name, theme::SMALL) <= ui.available_width();
        let label = Label::new(small(if has_room { name } else { "?" }, palette.weak));
        ui.add(label.truncate()).on_hover_text(words).accessible_name(name);
    }
}

/// Button of the most useful command, or the controls of its download.
fn action(ui: &mut Ui, state: &State, commands: &mut Commands, card: &ModelCard, download: Option<&JobSnapshot>) {
    let view = &state.models;
    let id = card.id.clone();
    if let Some(download) = download {
        return downloads::controls(ui, state, commands, download);
    }
    match card.availability {
        Availability::BuiltIn | Availability::OnDisk | Availability::InPlace if matches!(card.kind, ModelKind::Model | ModelKind::Lora) => {
            named_button(ui, state, commands, models::Command::Use(id), &card.name);
        }
        Availability::Incomplete => {
            named_button(ui, state, commands, models::Command::DownloadMissing(id), &card.name);
        }
        Availability::Catalogue | Availability::Damaged => {
            if view.needs_licence_prompt(card)
                && let Some(terms) = &card.licence
            {
                let (rect, response) = ui.allocate_exact_size(vec2(16.0, 22.0), Sense::hover());
                icons::paint(ui.painter(), rect, Icon::Locked, theme::palette(ui).weak);
                response.on_hover_text(tr!("models-its-licence-is-shown", name = catalogue_text(terms.name())));
            }
            named_button(ui, state, commands, models::Command::Download(id), &card.name);
        }
        Availability::BuiltIn | Availability::OnDisk | Availability::InPlace | Availability::Listed => {
            command_control(ui, state, commands, Command::Models(models::Command::OpenDetails(id)), |ui| {
                ui.add(Button::new(tr!("models-details")))
            });
        }
    }
}
