//! Effects of the commands that concern the program itself. Nothing here waits.

use std::path::PathBuf;
use std::time::SystemTime;

use eframe::egui::OpenUrl;

use crate::gui::context::Context;
use crate::gui::program::command::Command;
use crate::gui::program::state::{State, Updates};
use crate::gui::workers::Worker;
use atelier_core::device::Device;
use atelier_language::tr;
use atelier_studio::crash_report::{LastCrash, Watch};
use atelier_studio::installed;
use atelier_studio::updates::{Release, UpdateChoice, UpdateError, Version};

/// Looks for what came with the program.
pub(crate) fn start(context: &Context<'_>) {
    context.run(Worker::Files, installed::find_licences, |licences, features, _| {
        if let Some(path) = licences {
            features.program.licences = Some(path);
        }
    });
}

/// Watches this window from now on, and looks whether the last one ended as it should.
pub(crate) fn watch(state: &mut State, watch: Watch, context: &Context<'_>) {
    state.watch = Some(watch.clone());
    context.run(
        Worker::Files,
        move || watch.begin(),
        |crash, features, _| {
            if let Some(crash) = crash {
                features.program.crash = Some(crash);
            }
        },
    );
}

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::OpenAbout => state.is_about_open = true,
        Command::CloseAbout => state.is_about_open = false,
        Command::OpenPlace(_, folder, file) => context.show_folder(folder, file),
        Command::CopyDetails(text) => {
            context.egui.copy_text(text);
            context.notice(tr!("common-copied"));
        }
        Command::ShowLicences => {
            if let Some(path) = state.licences.clone() {
                context.show_file(path);
            }
        }
        Command::ShowCrashReport => {
            if let Some(LastCrash { report }) = &state.crash {
                let folder = report.parent().map(PathBuf::from).unwrap_or_default();
                context.show_folder(folder, Some(report.clone()));
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
        let seen = updates.settings.seen;
        context.run_alone(
            "updates",
            move || feed.check(seen),
            move |checked, features, context| {
                let result = checked.unwrap_or_else(|error| Err(UpdateError::Fetch(error.to_string())));
                updates_checked(features.program, result, on_demand, context);
            },
        );
    }
}

/// The newest version is known, or is not.
fn updates_checked(state: &mut State, result: Result<Release, UpdateError>, on_demand: bool, context: &mut Context<'_>) {
    let updates = &mut state.updates;
    updates.is_checking = false;
    match result {
        Ok(release) => {
            updates.settings.checked_secs = now_secs();
            updates.settings.seen = Some(release.version);
            updates.release = Some(release).filter(|it| it.version > Version::of_program());
            if on_demand && updates.release.is_none() {
                context.notice(tr!("program-atelier-is-up-to"));
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
        let (watch, devices) = (watch.clone(), devices.to_vec());
        context.background.run_silently(Worker::Files, move || watch.set_devices(&devices));
    }
}
