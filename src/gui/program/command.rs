//! Commands that concern the program itself. Their effects are in [`crate::gui::program::update`].

use std::path::PathBuf;

use atelier_language::tr;

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
            Self::OpenAbout => (tr!("program-about-atelier"), tr!("program-show-version-licences-and")),
            Self::CloseAbout => (tr!("common-close"), tr!("program-close")),
            Self::OpenPlace(Place::Models, ..) => (tr!("program-open-the-models-folder"), tr!("program-open-the-folder-of")),
            Self::OpenPlace(Place::Pictures, ..) => {
                (tr!("program-open-the-pictures-folder"), tr!("program-open-the-folder-of-your-pictures"))
            }
            Self::OpenPlace(Place::Settings, ..) => {
                (tr!("program-open-the-settings-folder"), tr!("program-open-the-folder-of-your-settings"))
            }
            Self::OpenPlace(Place::Logs, ..) => (tr!("program-open-the-logs-folder"), tr!("program-open-the-folder-of-the-log")),
            Self::CopyDetails(_) => (tr!("program-copy-details"), tr!("program-copy-versions-system-and")),
            Self::ShowLicences => (tr!("program-licences"), tr!("program-show-the-licences-of")),
            Self::ShowCrashReport => (tr!("program-show-the-file"), tr!("program-show-the-report-in")),
            Self::DismissCrashReport => (tr!("program-dismiss"), tr!("program-dismiss-the-file-is")),
            Self::SetWeeklyUpdates(true) => (tr!("program-once-a-week"), tr!("program-ask-a-server-once")),
            Self::SetWeeklyUpdates(false) => (tr!("program-no"), tr!("program-check-for-new-versions")),
            Self::CheckForUpdates => (tr!("program-check-for-updates"), tr!("program-ask-a-server-for")),
            Self::OpenReleasePage => (tr!("program-open-the-page"), tr!("program-open-the-page-of")),
            Self::DismissRelease => (tr!("program-later"), tr!("program-dismiss-until-the-next")),
        }
    }

    fn enabled(&self, state: &State, _: &Shared) -> Result<(), &'static str> {
        match self {
            Self::ShowLicences => state.licences.as_ref().map(drop).ok_or(tr!("program-the-licences-page-is")),
            Self::ShowCrashReport | Self::DismissCrashReport => state.crash.as_ref().map(drop).ok_or(tr!("program-there-is-no-report")),
            Self::CheckForUpdates => (!state.updates.is_checking).then_some(()).ok_or(tr!("program-already-checking")),
            Self::OpenReleasePage | Self::DismissRelease => state.updates.release.as_ref().map(drop).ok_or(tr!("program-there-is-no-new")),
            Self::SetWeeklyUpdates(_) | Self::OpenAbout | Self::CloseAbout | Self::OpenPlace(..) | Self::CopyDetails(_) => Ok(()),
        }
    }
}
