//! Lines above the view that wait for an answer and keep nobody from painting.

use std::path::PathBuf;

use eframe::egui::{Align, Frame, Label, Layout, Margin, Panel, RichText, Ui};

use crate::gui::canvas;
use crate::gui::canvas::recovery_state::Recovery;
use crate::gui::command::{Command, Commands};
use crate::gui::icons::{self, Icon};
use crate::gui::program;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{command_button, sides};
use atelier_language::tr;
use atelier_studio::updates::{UpdateChoice, Version};

/// A line with its buttons from left to right, the one that matters first.
struct Banner {
    icon: Icon,
    words: String,
    buttons: Vec<Command>,
}

/// Draws the line that is most urgent, where there is one.
pub(crate) fn banner(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(Banner { icon, words, buttons }) = most_urgent(state) else { return };
    let palette = theme::palette(ui);
    let outer = Frame::new().fill(palette.canvas).inner_margin(Margin { left: 14, right: 14, top: 0, bottom: 8 });
    Panel::top("program banner").resizable(false).show_separator_line(false).frame(outer).show(ui, |ui| {
        Frame::new()
            .fill(palette.raised)
            .stroke((1.0, palette.line))
            .corner_radius(theme::RADIUS + 2)
            .inner_margin(Margin::symmetric(12, 8))
            .show(ui, |ui| {
                let left = |ui: &mut Ui| {
                    let (rect, _) = ui.allocate_exact_size(eframe::egui::vec2(20.0, 20.0), eframe::egui::Sense::hover());
                    icons::paint(ui.painter(), rect, icon, palette.text);
                    ui.add(Label::new(RichText::new(words).color(palette.text)).wrap());
                };
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    sides(ui, "banner", left, |ui| {
                        for command in buttons {
                            command_button(ui, state, commands, command);
                        }
                    });
                });
            });
    });
}

/// Canvases of earlier sessions: those that could not be opened, then those that wait.
fn backups(recovery: &Recovery) -> Option<Banner> {
    let named = |(path, reason): &(PathBuf, String)| format!("{} ({reason})", path.display());
    if !recovery.problems.is_empty() {
        let files = recovery.problems.iter().map(named).collect::<Vec<_>>().join("; ");
        return Some(Banner {
            icon: Icon::Warning,
            words: tr!("program-some-canvases-could-not", files),
            buttons: vec![canvas::Command::ShowBackups.into(), canvas::Command::DismissBackups.into()],
        });
    }
    let count = recovery.waiting.len();
    let is_offered = recovery.is_offered && count > 0;
    is_offered.then(|| Banner {
        icon: Icon::Reuse,
        words: match count {
            1 => tr!("program-a-canvas-of-an").to_owned(),
            _ => tr!("program-canvases-of-earlier-sessions", count),
        },
        buttons: vec![canvas::Command::OpenBackup.into(), canvas::Command::PutBackupsOff.into()],
    })
}

fn most_urgent(state: &State) -> Option<Banner> {
    if let Some(banner) = backups(&state.canvas.recovery) {
        return Some(banner);
    }
    let program::State { crash, updates, .. } = &state.program;
    if let Some(crash) = crash {
        let name = crash.report.file_name().unwrap_or_default().to_string_lossy();
        return Some(Banner {
            icon: Icon::Warning,
            words: tr!("program-atelier-crashed-last-time", name),
            buttons: vec![program::Command::ShowCrashReport.into(), program::Command::DismissCrashReport.into()],
        });
    }
    if let Some(release) = &updates.release {
        return Some(Banner {
            icon: Icon::Reuse,
            words: tr!("program-version-of-atelier-is", version = release.version, of_program = Version::of_program()),
            buttons: vec![program::Command::OpenReleasePage.into(), program::Command::DismissRelease.into()],
        });
    }
    let is_question = updates.feed.is_some() && updates.settings.choice == UpdateChoice::Unasked;
    is_question.then(|| Banner {
        icon: Icon::Reuse,
        words: tr!("program-may-atelier-check-for").to_owned(),
        buttons: vec![program::Command::SetWeeklyUpdates(true).into(), program::Command::SetWeeklyUpdates(false).into()],
    })
}
