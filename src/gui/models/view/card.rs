//! The card of a model in the grid.

use eframe::egui::{
    Align, Button, Color32, EventFilter, FontId, Id, Label, Layout, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo, pos2,
    vec2,
};

use crate::gui::command::{Command, Commands};
use crate::gui::icons;
use crate::gui::icons::Icon;
use crate::gui::models::ModelsCommand;
use crate::gui::models::view::{colour_of, downloads, named_button, small};
use crate::gui::models::{Around, Availability, Entry, ModelCard, ModelKind, Status, queue};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::theme::Palette;
use crate::gui::widgets::command_control;
use atelier_core::format::file_size;
use atelier_core::sentences::list;

/// Height of a card, in points.
pub(crate) const HEIGHT: f32 = 134.0;
const RADIUS: f32 = 9.0;
const INSIDE: f32 = 12.0;

/// The id of a card's widget.
pub(crate) fn id(model: &str) -> Id {
    Id::unique(("model card", model))
}

/// Draws a card.
pub(crate) fn card(ui: &mut Ui, state: &State, commands: &mut Commands, card: &ModelCard, around: Around, rect: Rect) {
    let palette = theme::palette(ui);
    let view = &state.models;
    let selected = view.selected.as_deref() == Some(card.id.as_str());
    let job = view.job(card);
    let response = ui.interact(rect, id(&card.id), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, selected && view.open, said(state, card, around, job)));
    let fill = if response.hovered() { palette.raised } else { palette.panel };
    ui.painter().rect_filled(rect, RADIUS, fill);
    let edge = if selected && view.open { palette.accent } else { palette.line };
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
        state_chip(ui, card, around, job, &palette);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add(Label::new(crate::gui::widgets::bold(&card.name).size(theme::BODY).color(palette.strong)).truncate());
        });
    });
    ui.add(Label::new(small(line_of(card), palette.text)).truncate());
    match job {
        Some(job) => {
            let failed = matches!(job.status, Status::Failed(_));
            ui.add(Label::new(small(queue::words(job), if failed { palette.error } else { palette.weak })).truncate())
                .on_hover_text(queue::words(job));
            ui.add_space(5.0);
            downloads::bar(ui, job, &card.name);
        }
        None => about(ui, card, &palette),
    }
    let bottom = Rect::from_min_max(pos2(rect.left() + INSIDE, rect.bottom() - 36.0), pos2(rect.right() - 9.0, rect.bottom() - 8.0));
    ui.scope_builder(UiBuilder::new().max_rect(bottom).layout(Layout::right_to_left(Align::Center)), |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        action(ui, state, commands, card, job);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| fit(ui, state, card, around, &palette));
    });
    if response.clicked() {
        let command = if selected && view.open { ModelsCommand::Close } else { ModelsCommand::Open(card.id.clone()) };
        commands.push(Command::Models(command));
    }
}

/// The card in words, for who does not see it.
fn said(state: &State, card: &ModelCard, around: Around, job: Option<&Entry>) -> String {
    let word = job.map_or(card.availability.label(), |it| queue::word(&it.status));
    let mut words = vec![card.name.clone(), word.to_owned()];
    if around.in_memory {
        words.push("in memory".into());
    }
    words.push(card.bytes.map_or_else(|| "size unknown".into(), file_size));
    if card.kind == ModelKind::Model && card.availability != Availability::Listed {
        words.push(around.fits.label(state.models.memory).into());
    } else {
        words.push(card.kind.label().into());
    }
    words.join(", ")
}

/// Where it is, in a word with a dot.
fn state_chip(ui: &mut Ui, card: &ModelCard, around: Around, job: Option<&Entry>, palette: &Palette) {
    let (word, colour, hover) = if around.in_memory {
        ("in memory", palette.accent, "Its weights are in memory, so the next picture begins at once.")
    } else if let Some(job) = job {
        let colour = match job.status {
            Status::Running => palette.accent,
            Status::Waiting | Status::Paused(_) => palette.weak,
            Status::Failed(_) => palette.error,
        };
        (queue::word(&job.status), colour, "It is in the queue of downloads.")
    } else {
        let colour = match card.availability {
            Availability::BuiltIn | Availability::OnDisk | Availability::InPlace => palette.compute,
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

/// Family, size and licence in a line.
fn line_of(card: &ModelCard) -> String {
    let mut words: Vec<String> = Vec::new();
    if card.kind != ModelKind::Model {
        words.push(card.kind.label().into());
    }
    words.extend(card.family.clone());
    let about = if card.availability == Availability::Catalogue && card.is_estimate { "about " } else { "" };
    words.push(card.bytes.map_or_else(|| "size unknown".into(), |bytes| format!("{about}{}", file_size(bytes))));
    if let Some(terms) = &card.licence {
        words.push(terms.notes().map_or_else(|| terms.name().to_owned(), str::to_owned));
    }
    words.join(" · ")
}

fn about(ui: &mut Ui, card: &ModelCard, palette: &Palette) {
    let (text, colour) = if !card.missing.is_empty() {
        let names: Vec<String> = card.missing.iter().map(|it| it.what.clone()).collect();
        let bytes = card.missing_bytes().map(|it| format!(" (about {})", file_size(it))).unwrap_or_default();
        (format!("Needs {}{bytes}", list(&names)), palette.warn)
    } else if let Some(problem) = card.problems.first() {
        (problem.clone(), if card.availability == Availability::Listed { palette.weak } else { palette.error })
    } else if card.trigger_words.is_empty() {
        (card.description.clone(), palette.weak)
    } else {
        (format!("Say: {}", card.trigger_words.join(", ")), palette.weak)
    };
    // Two lines, and no more.
    let font = FontId::proportional(theme::SMALL);
    let mut job = eframe::egui::text::LayoutJob::simple(text, font, colour, ui.available_width());
    job.wrap.max_rows = 2;
    ui.add(Label::new(job));
}

/// Whether it fits, and what else is to be known.
fn fit(ui: &mut Ui, state: &State, card: &ModelCard, around: Around, palette: &Palette) {
    if card.kind == ModelKind::Model && card.availability != Availability::Listed {
        dot(ui, colour_of(around.fits, palette));
        let words = small(around.fits.label(state.models.memory), palette.text);
        ui.add(Label::new(words).truncate()).on_hover_text(state.models.why_fits(card, around));
    }
    if card.is_estimate {
        let told = "Not every exact size and sum of its files is known yet: sizes are estimates, and a file may have moved.";
        ui.add(Label::new(small("unchecked", palette.weak)).truncate()).on_hover_text(told);
    }
}

/// The one thing to do with it next.
fn action(ui: &mut Ui, state: &State, commands: &mut Commands, card: &ModelCard, job: Option<&Entry>) {
    let view = &state.models;
    let id = card.id.clone();
    if let Some(job) = job {
        return downloads::controls(ui, state, commands, job);
    }
    match card.availability {
        Availability::BuiltIn | Availability::OnDisk | Availability::InPlace if matches!(card.kind, ModelKind::Model | ModelKind::Lora) => {
            named_button(ui, state, commands, ModelsCommand::Use(id), &card.name);
        }
        Availability::Incomplete => {
            named_button(ui, state, commands, ModelsCommand::GetMissing(id), &card.name);
        }
        Availability::Catalogue | Availability::Damaged => {
            let asks = view.asks(card);
            named_button(ui, state, commands, ModelsCommand::Get(id), &card.name);
            if asks && let Some(terms) = &card.licence {
                let (rect, response) = ui.allocate_exact_size(vec2(16.0, 22.0), Sense::hover());
                icons::paint(ui.painter(), rect, Icon::Locked, Stroke::new(1.0, theme::palette(ui).weak));
                response.on_hover_text(format!("Its licence is shown first: {}", terms.name()));
            }
        }
        Availability::BuiltIn | Availability::OnDisk | Availability::InPlace | Availability::Listed => {
            command_control(ui, state, commands, Command::Models(ModelsCommand::Open(id)), |ui| ui.add(Button::new("Details")));
        }
    }
}
