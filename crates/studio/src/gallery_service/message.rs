//! Messages between the gallery's threads and their caller: plain data both ways.

use std::path::PathBuf;
use std::sync::Arc;

use super::CopyForm;
use atelier_core::mailbox::Mailbox;
use atelier_core::recipe::{ModelFiles, Rgb8};
use atelier_gallery::{Grouping, LatestPictures, Order, PictureDetails, PictureFlag, PictureId, PictureSummary, Query};

/// Request to the gallery.
#[derive(Clone, Debug, PartialEq)]
pub enum GalleryRequest {
    /// Search; the newest search counts.
    Search(Search),
    /// Summaries of these pictures; the newest request counts.
    Summaries(Vec<PictureId>),
    /// Everything known of these pictures; the newest request counts.
    Details(Vec<PictureId>),
    /// Thumbnails of these pictures, the most urgent first. Takes the place of the last request:
    /// what is no longer wanted is not made.
    Thumbnails(Vec<PictureId>),
    /// Pixels of these pictures, for the large look and for comparing. Takes the place of the last
    /// request.
    Pixels(Vec<PictureId>),
    /// Change a mark of these pictures.
    Mark(Vec<PictureId>, Mark),
    /// Move these pictures to the system's trash.
    Trash(Vec<PictureId>),
    /// Take the pictures back from the trash that went there last.
    RestoreTrashed,
    /// Keep a search under a name.
    SaveSearch(String, String),
    /// Forget the search of this name.
    DeleteSearch(String),
    /// Index the pictures of this folder.
    AddFolder(PathBuf),
    /// Index the pictures of these folders, and copy these picture files into the folder of
    /// finished pictures.
    Import(Vec<PathBuf>),
    /// Do not index this folder any longer. Its files stay as they are.
    ForgetFolder(PathBuf),
    /// Look through all folders again.
    Rescan,
    /// A picture was kept or changed by somebody else.
    Refresh,
    /// Write copies of these pictures into a folder.
    Export(Vec<PictureId>, Export),
    /// Summaries of these pictures, for a command of this number; every request is answered.
    SummariesOf(Vec<PictureId>, u64),
    /// The person's best pictures made with the model of these files; the newest request counts.
    BestOf(ModelFiles),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// Text as it was typed.
    pub text: String,
    /// Order of the pictures.
    pub order: Order,
    /// Groups under headings.
    pub grouping: Option<Grouping>,
}

/// Mark of a person on a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Rating, 0 (none) to 5.
    Rating(u8),
    /// Pick, reject or neither.
    Flag(Option<PictureFlag>),
    AddTag(String),
    RemoveTag(String),
    Note(String),
}

/// Settings of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Folder of the copies; nothing there is replaced.
    pub folder: PathBuf,
    /// Name of the copies, of which all but one get a number; without letters each has that of its
    /// picture.
    pub name: String,
    pub form: CopyForm,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub search: Search,
    /// All pictures found, in order.
    pub ids: Vec<PictureId>,
    /// Groups in order: heading, and number of pictures. One without a heading where nothing is
    /// grouped.
    pub groups: Vec<(String, usize)>,
    /// The search as it was understood.
    pub query: Query,
    /// Why nothing could be searched for.
    pub problem: Option<String>,
    /// Number of all pictures of the index.
    pub total: usize,
}

/// Event of the gallery.
#[derive(Debug)]
pub enum GalleryEvent {
    /// Pictures of the newest search.
    Found(Arc<Found>),
    /// Pictures that were found before may have changed.
    Changed,
    /// The first mark that was not answered yet is written, or given up: what is read from here on
    /// has it.
    Marked,
    /// Summaries that were asked for.
    Summaries(Vec<PictureSummary>),
    /// Summaries for the command of this number.
    SummariesOf(u64, Vec<PictureSummary>),
    /// Everything known of a picture; `None` where it is gone.
    Details(PictureId, Option<Box<PictureDetails>>),
    /// Thumbnail of a picture; `None` where it cannot be made.
    Thumbnail(PictureId, Option<Rgb8>),
    /// Pixels of a picture, or a sentence.
    Pixels(PictureId, Result<Arc<Rgb8>, String>),
    /// Folders, saved searches and the like.
    Overview(Arc<Overview>),
    /// The newest pictures, newest first: at the start, and once an index that was begun anew knows
    /// some.
    Newest(Vec<PictureSummary>),
    /// The person's best pictures made with the model of these files.
    BestOf(ModelFiles, Vec<PictureSummary>),
    /// A scan goes on: the folder, and pictures looked at; `None` once none does.
    Scanning(Option<(PathBuf, u64)>),
    /// So many pictures went to the trash.
    Trashed(usize),
    /// These pictures came back from the trash.
    Restored(Vec<PictureId>),
    /// A line for the person.
    Notice(String),
}

/// What the window shows beside the pictures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Folders whose pictures are indexed.
    pub folders: Vec<FolderSummary>,
    /// Number of pictures that were saved by name in folders that are not indexed.
    pub loose_pictures: u64,
    /// Kept searches: name and text.
    pub saved_searches: Vec<(String, String)>,
    /// The newest picture of each model and LoRA.
    pub latest: LatestPictures,
}

/// A folder whose pictures are indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSummary {
    pub path: PathBuf,
    /// Atelier keeps its pictures there.
    pub is_own: bool,
    /// It is there now.
    pub is_here: bool,
    /// Number of its pictures in the index.
    pub pictures: u64,
}

/// Predicate over unread requests: true for those that `request` makes worthless.
pub(super) fn request_is_replaced_by(request: &GalleryRequest) -> impl Fn(&GalleryRequest) -> bool + use<> {
    let is_state = matches!(
        request,
        GalleryRequest::Search(_)
            | GalleryRequest::Summaries(_)
            | GalleryRequest::Details(_)
            | GalleryRequest::Refresh
            | GalleryRequest::Rescan
            | GalleryRequest::BestOf(_)
    );
    let kind = std::mem::discriminant(request);
    move |unread| is_state && std::mem::discriminant(unread) == kind
}

/// Sends an event in place of the unread ones that it outdates.
pub(super) fn send_event(events: &Mailbox<GalleryEvent>, event: GalleryEvent) {
    let outdates = is_replaced_by(&event);
    events.send_replacing(event, outdates);
}

/// Predicate over unread events: true for those that `event` makes worthless.
fn is_replaced_by(event: &GalleryEvent) -> impl Fn(&GalleryEvent) -> bool + use<> {
    let is_state = matches!(event, GalleryEvent::Found(_) | GalleryEvent::Changed | GalleryEvent::Overview(_) | GalleryEvent::Scanning(_));
    let kind = std::mem::discriminant(event);
    move |unread| is_state && std::mem::discriminant(unread) == kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_search_replaces_an_older_one_and_marks_are_never_dropped() {
        let search = |text: &str| GalleryRequest::Search(Search { text: text.into(), ..Search::default() });
        assert!(request_is_replaced_by(&search("b"))(&search("a")));
        assert!(!request_is_replaced_by(&search("b"))(&GalleryRequest::Rescan));
        let mark = || GalleryRequest::Mark(vec![PictureId(1)], Mark::Rating(3));
        assert!(!request_is_replaced_by(&mark())(&mark()));
        assert!(is_replaced_by(&GalleryEvent::Scanning(None))(&GalleryEvent::Scanning(None)));
        assert!(!is_replaced_by(&GalleryEvent::Trashed(1))(&GalleryEvent::Trashed(1)));
    }
}
