//! Effects of the commands that concern the program itself. Nothing here waits.

use std::path::PathBuf;
use std::time::SystemTime;

use eframe::egui::OpenUrl;

use crate::gui::context::Context;
use crate::gui::files::FileTask;
use crate::gui::program::command::Command;
use crate::gui::program::state::{State, Updates};
use atelier_core::device::Device;
use atelier_studio::crash_report::{LastCrash, Watch};
use atelier_studio::updates::{Release, UpdateChoice, UpdateError, Version};

/// Looks for what came with the program.
pub(crate) fn start(context: &Context<'_>) {
    context.workers.file(FileTask::FindLicences);
}

/// Watches this window from now on, and looks whether the last one ended as it should.
pub(crate) fn watch(state: &mut State, watch: Watch, context: &Context<'_>) {
    context.workers.file(FileTask::BeginWatch(watch.clone()));
    state.watch = Some(watch);
}

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::OpenAbout => state.is_about_open = true,
        Command::CloseAbout => state.is_about_open = false,
        Command::OpenPlace(_, folder, file) => context.workers.file(FileTask::OpenFolder(folder, file)),
        Command::CopyDetails(text) => {
            context.egui.copy_text(text);
            context.notice("Copied");
        }
        Command::ShowLicences => {
            if let Some(path) = state.licences.clone() {
                context.workers.file(FileTask::OpenFile(path));
            }
        }
        Command::ShowCrashReport => {
            if let Some(LastCrash { report }) = &state.crash {
                let folder = report.parent().map(PathBuf::from).unwrap_or_default();
                context.workers.file(FileTask::OpenFolder(folder, Some(report.clone())));
            }
        }
        Command::DismissCrashReport => state.crash = None,
        Command::SetWeeklyUpdates(weekly) => {
            state.updates.settings.choice = if weekly { UpdateChoice::Weekly } else { UpdateChoice::Off };
        }
        Command::CheckForUpdates => check(&mut state.updates, true, context),
        Command::OpenReleasePage => {
            if let Some(Release { page, .. }) = state.updates.release.take() {
                context.egui.open_url(OpenUrl::new_tab(page));
            }
        }
        Command::DismissRelease => state.updates.release = None,
    }
}

/// Looks for a new version where it is time to.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    let updates = &mut state.updates;
    if !updates.is_checking && !updates.has_failed && updates.settings.is_due(now_secs()) {
        check(updates, false, context);
    }
}

fn check(updates: &mut Updates, on_demand: bool, context: &Context<'_>) {
    if let Some(feed) = updates.feed.clone() {
        updates.is_checking = true;
        context.workers.check_updates(feed, updates.settings.seen, on_demand);
    }
}

/// The newest version is known, or is not.
pub(crate) fn updates_checked(state: &mut State, result: Result<Release, UpdateError>, on_demand: bool, context: &mut Context<'_>) {
    let updates = &mut state.updates;
    updates.is_checking = false;
    match result {
        Ok(release) => {
            updates.settings.checked_secs = now_secs();
            updates.settings.seen = Some(release.version);
            updates.release = Some(release).filter(|it| it.version > Version::of_program());
            if on_demand && updates.release.is_none() {
                context.notice("Atelier is up to date.");
            }
        }
        Err(error) => {
            updates.has_failed = true;
            tracing::warn!("could not check for updates: {error}");
            if on_demand {
                context.notice(error.to_string());
            }
        }
    }
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The engine has named its devices.
pub(crate) fn devices_listed(state: &State, devices: &[Device], context: &Context<'_>) {
    if let Some(watch) = &state.watch {
        context.workers.file(FileTask::NoteDevices(watch.clone(), devices.to_vec()));
    }
}
