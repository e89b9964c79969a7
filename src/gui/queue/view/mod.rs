//! The queue's panel: the question after a crash, what concerns all jobs, and a row for each.

mod row;
mod words;

use eframe::egui::{Align, CollapsingHeader, DragAndDrop, Frame, Label, Layout, Margin, RichText, ScrollArea, Sense, Stroke, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::create;
use crate::gui::due;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::queue::command::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bold, command_button, command_control, empty_sign, heading, icon_button};
use atelier_gallery::queue::PauseMode;
use atelier_language::tr;
use atelier_studio::queue::CrashAnswer;

/// Space round what the panel has.
pub(crate) const MARGIN: Margin = Margin { left: 14, right: 12, top: 4, bottom: 10 };
/// Space between two rows, in points.
const GAP: f32 = 6.0;

/// Draws what the panel has.
pub(crate) fn queue_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    header(ui, state, commands);
    question(ui, state, commands);
    editing(ui, state, commands);
    rows(ui, state, commands);
}

fn header(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let queue = &state.shared.queue;
    let age_secs = queue.at.elapsed().as_secs_f64();
    heading(ui, tr!("queue-queue"), |ui| {
        if queue.pause == PauseMode::No {
            icon_button(ui, state, commands, Icon::Pause, Command::Pause);
        } else {
            icon_button(ui, state, commands, Icon::Play, Command::Resume);
        }
        command_control(ui, state, commands, Command::Toggle, |ui| {
            crate::gui::widgets::bare_icon(ui, Icon::Close, tr!("queue-hide-the-queue"))
        });
    });
    let summary = words::summary(queue, age_secs);
    ui.add(Label::new(RichText::new(summary).size(theme::SMALL).color(palette.text)).wrap());
    if queue.ends_in_secs().is_some() {
        due::wake_next_second(ui.ctx());
    }
    CollapsingHeader::new(tr!("queue-all-jobs")).icon(crate::gui::widgets::fold_chevron).show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            for command in [Command::PauseNow, Command::CancelWaiting, Command::CancelAll] {
                command_button(ui, state, commands, command);
            }
        });
        let mut follows = queue.follows_model;
        let follow = Command::FollowModel(!follows);
        if ui.checkbox(&mut follows, follow.label()).on_hover_text(follow.tooltip()).changed() {
            commands.push(follow);
        }
    });
    if Command::ForgetEnded.enabled(&state.queue, &state.shared).is_ok() {
        command_button(ui, state, commands, Command::ForgetEnded);
    }
    ui.add_space(4.0);
}

/// The one question after the program ended without a word.
fn question(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(text) = words::question(&state.shared.queue) else { return };
    card(ui, &text, |ui| {
        theme::accented(ui, |ui| command_button(ui, state, commands, Command::Answer(CrashAnswer::BeginAgain)));
        command_button(ui, state, commands, Command::Answer(CrashAnswer::Leave));
        command_button(ui, state, commands, Command::Answer(CrashAnswer::Cancel));
    });
}

/// What is being done with the job whose settings are in the Create view.
fn editing(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if state.queue.editing.is_some() {
        card(ui, tr!("queue-the-settings-of-a"), |ui| {
            theme::accented(ui, |ui| command_button(ui, state, commands, Command::SaveEdit));
            command_button(ui, state, commands, Command::StopEdit);
        });
    }
}

fn card(ui: &mut Ui, text: &str, buttons: impl FnOnce(&mut Ui)) {
    let palette = theme::palette(ui);
    let frame = Frame::new().fill(palette.raised).stroke((1.0, palette.accent)).corner_radius(theme::RADIUS);
    frame.inner_margin(Margin::same(10)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.add(Label::new(RichText::new(text).color(palette.text)).wrap());
        ui.horizontal_wrapped(buttons);
    });
    ui.add_space(GAP);
}

fn rows(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let queue = &state.shared.queue;
    if queue.rows.is_empty() {
        ui.add_space(24.0);
        ui.with_layout(Layout::top_down(Align::Center), |ui| {
            empty_sign(ui, Icon::List);
            ui.label(bold(tr!("queue-nothing-waits-2")).color(palette.strong));
            let hint = tr!("queue-write-a-prompt-and-add");
            ui.add(Label::new(RichText::new(hint).color(palette.weak)).wrap());
            ui.add_space(6.0);
            theme::accented(ui, |ui| command_button(ui, state, commands, create::Command::Enqueue));
        });
        return;
    }
    ui.spacing_mut().item_spacing.y = GAP;
    let end = usize::from(DragAndDrop::has_payload_of_type::<row::DraggedJob>(ui.ctx()));
    let open = queue.rows.iter().filter(|row| !row.job.state.is_ended()).count();
    ScrollArea::vertical().auto_shrink([false, false]).show_rows(ui, row::HEIGHT, queue.rows.len() + end, |ui, range| {
        for at in range {
            // The end of what waits is a drop target too.
            match (at.cmp(&open), end) {
                (std::cmp::Ordering::Equal, 1) => last_place(ui, commands),
                (std::cmp::Ordering::Greater, 1) => row::draw(ui, state, commands, at - 1),
                _ => row::draw(ui, state, commands, at),
            }
        }
    });
}

fn last_place(ui: &mut Ui, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), row::HEIGHT), Sense::hover());
    ui.painter().text(
        rect.center(),
        eframe::egui::Align2::CENTER_CENTER,
        tr!("queue-drop-here-to-move"),
        eframe::egui::TextStyle::Body.resolve(ui.style()),
        palette.weak,
    );
    if response.dnd_hover_payload::<row::DraggedJob>().is_some() {
        ui.painter().hline(rect.x_range(), rect.top(), Stroke::new(2.0, palette.accent));
    }
    if let Some(dragged) = response.dnd_release_payload::<row::DraggedJob>() {
        commands.push(Command::Move(dragged.0, None));
    }
}
