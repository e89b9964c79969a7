//! Checks of this machine for Atelier: devices and drivers, folders, settings, model files, the
//! display. Each finding says what to do.
//!
//! Nothing is repaired and nothing is left behind; one empty file per folder is made and removed,
//! to see that it can be written. Not here: how findings are shown.

mod finding;
mod folders;
mod models;
mod settings;
mod subject;
mod system;

pub use finding::{Finding, Health};
pub use subject::{Display, Subject};

/// Runs every check and calls `report` with each finding, as soon as it is known. Blocks; reading
/// all models' sums takes minutes.
pub fn examine(subject: &Subject<'_>, report: &mut dyn FnMut(Finding)) {
    report(system::program());
    system::devices(subject, report);
    report(system::display(subject.display));
    models::builtin(&subject.builtin, report);
    match &subject.paths {
        Err(error) => report(Finding::broken("Folders", format!("{error}."), "")),
        Ok(paths) => {
            folders::check(paths, report);
            settings::check(paths, report);
            if (subject.go_on)() {
                models::check(paths, subject, report);
            }
        }
    }
}

#[cfg(test)]
mod tests;
