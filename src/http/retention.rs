//! How long pictures of others are kept: what nobody wanted to keep goes to the trash of the system
//! after some days. Nothing else is touched: not what the person at the machine or the programs of
//! this computer made, not what anybody marked or went on from, not what a client asked to save.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use atelier_core::recipe::{ImageSource, Recipe};
use atelier_gallery::queue::Owner;
use atelier_gallery::{
    Database, FileIdentity, GalleryError, Order, PictureDetails, PictureId, PictureKind, PictureState, Query, Trash, TrashReport,
};

use super::clock::DAY_SECS;

const DAY_MS: i64 = DAY_SECS * 1000;
/// Pictures that are read at a time.
const CHUNK: usize = 500;
/// The folder, in that of an owner, of pictures that a client asked to save.
const SAVED: &str = "Saved";

/// Days that pictures of others are kept which nobody wanted to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention(u32);

impl Retention {
    /// The longest one, in days.
    pub const MAX_DAYS: u32 = 36_500;
    /// In days, where nobody chose.
    pub const USUAL_DAYS: u32 = 7;

    /// So many days; 0: for ever.
    #[must_use]
    pub fn of_days(days: u32) -> Self {
        Self(days.min(Self::MAX_DAYS))
    }

    /// 0: for ever.
    #[must_use]
    pub const fn days(self) -> u32 {
        self.0
    }

    /// Days that this owner's pictures are kept; `None`: for ever, as those of the person at the
    /// machine and of the programs of this computer, which are that person's too.
    #[must_use]
    pub fn days_of(self, owner: &Owner) -> Option<u32> {
        (self.0 > 0 && !owner.is_person() && !owner.is_this_computer()).then_some(self.0)
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self(Self::USUAL_DAYS)
    }
}

/// Where an owner's pictures lie that a client asked to save; `folder`: that of the owner. Like the
/// owner, it outlives the index.
pub(super) fn saved_folder(folder: &Path) -> PathBuf {
    folder.join(SAVED)
}

/// True for a picture in an owner's folder, saved or not.
pub(super) fn is_in(file: &Path, folder: &Path) -> bool {
    file.parent().is_some_and(|parent| parent == folder || parent == saved_folder(folder))
}

/// The files that pictures of a recipe begin with or are guided by.
pub(super) fn files_of(recipe: &Recipe) -> Vec<PathBuf> {
    let file = |source: &ImageSource| match source {
        ImageSource::File(path) => Some(path.clone()),
        ImageSource::Pixels(_) => None,
    };
    recipe.pictures().chain(recipe.starts()).filter_map(file).collect()
}

/// Moves the pictures of others that are kept no longer to the trash. `shared`: the folder of the
/// owners' folders; `in_use`: files that jobs begin with which may not be in the queue's table yet,
/// asked for last of all. Blocks.
pub(super) fn remove_old(
    gallery: &mut Database,
    shared: &Path,
    retention: Retention,
    in_use: &dyn Fn() -> BTreeSet<PathBuf>,
    now_ms: i64,
    trash: &mut dyn Trash,
) -> Result<TrashReport, GalleryError> {
    if retention.days() == 0 {
        return Ok(TrashReport::default());
    }
    let mut due = Vec::new();
    for ids in gallery.search(&Query::parse("has:owner"), Order::Oldest)?.chunks(CHUNK) {
        for summary in gallery.pictures(ids)? {
            let age_ms = now_ms.saturating_sub(summary.created_ms);
            if age_ms < i64::from(retention.days()) * DAY_MS || !summary.path.starts_with(shared) {
                continue;
            }
            // A file that somebody wrote over since is another picture.
            let is_same = || FileIdentity::read(&summary.path).is_ok_and(|it| it.hash == summary.file_hash);
            if gallery.picture(summary.id)?.is_some_and(|it| is_due(&it, shared, retention)) && is_same() {
                due.push(summary);
            }
        }
    }
    if due.is_empty() {
        return Ok(TrashReport::default());
    }
    // Jobs of every process, the person's among them.
    let open: Vec<PathBuf> = gallery.jobs()?.iter().filter(|job| !job.state.is_ended()).flat_map(|job| files_of(&job.recipe)).collect();
    let in_use: BTreeSet<PathBuf> = open.into_iter().chain(in_use()).map(|file| real(&file)).collect();
    let unused: Vec<PictureId> = due.iter().filter(|it| !in_use.contains(&real(&it.path))).map(|it| it.id).collect();
    gallery.move_to_trash(&unused, trash)
}

/// A file however its path is written; one that is gone as it is.
fn real(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// True for a picture that lies where it was made for its owner, and that nobody marked or went on
/// from.
fn is_due(picture: &PictureDetails, shared: &Path, retention: Retention) -> bool {
    let PictureDetails { summary, tags, boards, note, owner, children, .. } = picture;
    let is_unmarked = summary.rating == 0
        && summary.flag.is_none()
        && tags.is_empty()
        && boards.is_empty()
        && note.trim().is_empty()
        && children.is_empty();
    let lies_there = summary.path.parent() == Some(&*shared.join(owner.folder_name()));
    let is_made_here = summary.kind == PictureKind::Kept && summary.state == PictureState::Here;
    retention.days_of(owner).is_some() && lies_there && is_made_here && is_unmarked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_others_are_kept_for_some_days_and_those_of_this_computer_for_ever() {
        let anna = Owner::named("Anna");
        assert_eq!(Retention::default().days_of(&anna), Some(7));
        assert_eq!(Retention::of_days(0).days_of(&anna), None);
        assert_eq!(Retention::of_days(u32::MAX).days(), Retention::MAX_DAYS);
        for own in [Owner::person(), Owner::this_computer()] {
            assert_eq!(Retention::default().days_of(&own), None);
        }
    }

    #[test]
    fn a_saved_picture_is_its_owners_too_and_one_of_a_deeper_folder_is_not() {
        let folder = Path::new("/p/Shared/Anna");
        for (file, is_of) in
            [("a.png", true), ("Saved/a.png", true), ("Saved/more/a.png", false), ("../Ben/a.png", false), ("Other/a.png", false)]
        {
            assert_eq!(is_in(&folder.join(file), folder), is_of, "{file}");
        }
    }
}
