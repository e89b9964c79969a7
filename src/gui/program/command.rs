//! Commands that concern the program itself. Their effects are in [`crate::gui::program::update`].

use std::path::PathBuf;

use crate::gui::feature_command::FeatureCommand;
use crate::gui::program::state::State;
use crate::gui::shared::Shared;

/// A folder that About names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Models,
    Pictures,
    Settings,
    Logs,
}

/// Command that concerns the program itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show About.
    OpenAbout,
    /// Put About away.
    CloseAbout,
    /// Show a folder of About in the file manager, with this file marked where there is one.
    OpenPlace(Place, PathBuf, Option<PathBuf>),
    /// Put versions, system and devices on the clipboard.
    CopyDetails(String),
    ShowLicences,
    /// Show the crash report in the file manager.
    ShowCrashReport,
    /// Put the word about the crash away.
    DismissCrashReport,
    /// Look for new versions once a week, or never.
    SetWeeklyUpdates(bool),
    /// Look for a new version now.
    CheckForUpdates,
    /// Open the page of the new version.
    OpenReleasePage,
    /// Put the word about the new version away.
    DismissRelease,
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] =
        &[Self::OpenAbout, Self::ShowLicences, Self::ShowCrashReport, Self::CheckForUpdates, Self::OpenReleasePage];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAbout => ("About Atelier", "Show version, licences and folders."),
            Self::CloseAbout => ("Close", "Close."),
            Self::OpenPlace(Place::Models, ..) => ("Open the models folder", "Open the folder of downloaded models in your file manager."),
            Self::OpenPlace(Place::Pictures, ..) => ("Open the pictures folder", "Open the folder of your pictures in your file manager."),
            Self::OpenPlace(Place::Settings, ..) => ("Open the settings folder", "Open the folder of your settings in your file manager."),
            Self::OpenPlace(Place::Logs, ..) => ("Open the logs folder", "Open the folder of the log files in your file manager."),
            Self::CopyDetails(_) => ("Copy details", "Copy versions, system and devices, for support."),
            Self::ShowLicences => ("Licences", "Show the licences of Atelier and its components."),
            Self::ShowCrashReport => ("Show the file", "Show the report in your file manager. Read it before you share it."),
            Self::DismissCrashReport => ("Dismiss", "Dismiss. The file is kept."),
            Self::SetWeeklyUpdates(true) => ("Once a week", "Ask a server once a week for one small file. Nothing about you is sent."),
            Self::SetWeeklyUpdates(false) => ("No", "Check for new versions only when you ask in the menu."),
            Self::CheckForUpdates => {
                ("Check for updates", "Ask a server for one small file that names the newest version. Nothing about you is sent.")
            }
            Self::OpenReleasePage => ("Open the page", "Open the page of the new version in your browser."),
            Self::DismissRelease => ("Later", "Dismiss until the next check."),
        }
    }

    fn enabled(&self, state: &State, _: &Shared) -> Result<(), &'static str> {
        match self {
            Self::ShowLicences => state.licences.as_ref().map(drop).ok_or("The licences page is part of the installed program."),
            Self::ShowCrashReport | Self::DismissCrashReport => state.crash.as_ref().map(drop).ok_or("There is no report."),
            Self::CheckForUpdates => (!state.updates.is_checking).then_some(()).ok_or("Already checking."),
            Self::OpenReleasePage | Self::DismissRelease => state.updates.release.as_ref().map(drop).ok_or("There is no new version."),
            Self::SetWeeklyUpdates(_) | Self::OpenAbout | Self::CloseAbout | Self::OpenPlace(..) | Self::CopyDetails(_) => Ok(()),
        }
    }
}
