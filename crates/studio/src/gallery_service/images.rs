//! The thread that makes thumbnails and reads pixels, the newest request first.

use std::collections::VecDeque;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;
use atelier_core::reading::ReadingMarks;
use atelier_core::recipe::{ImageSource, Rgb8};
use atelier_gallery::{Database, GalleryError, PictureId, PictureSummary, ThumbnailSize, Thumbnails};
use atelier_language::tr;
use atelier_media::decode_jpeg;

use super::message::GalleryEvent;

/// Thumbnails that are read at once; between two such steps a newer request is looked for.
const BATCH: usize = 16;
/// Threads that decode them.
const MAX_THREADS: usize = 4;

/// Request to this thread; a newer one of the same kind takes the place of an older one.
#[derive(Debug)]
pub(super) enum ImageRequest {
    /// Thumbnails, the most urgent first.
    Thumbnails(Vec<PictureId>),
    /// Pixels.
    Pixels(Vec<PictureId>),
    Stop,
}

/// What has not been sent yet.
#[derive(Default)]
struct Wanted {
    /// The most urgent last.
    pixels: Vec<PictureId>,
    /// The most urgent first.
    thumbnails: VecDeque<PictureId>,
    /// Pictures whose thumbnail has to be made from their file, the most urgent first.
    unmade: VecDeque<PictureSummary>,
}

/// State of this thread.
pub(super) struct Images {
    paths: Paths,
    events: Arc<Mailbox<GalleryEvent>>,
    requests: Arc<Mailbox<ImageRequest>>,
}

impl Images {
    pub(super) fn new(paths: &Paths, events: Arc<Mailbox<GalleryEvent>>, requests: Arc<Mailbox<ImageRequest>>) -> Self {
        Self { paths: paths.clone(), events, requests }
    }

    /// Works until [`ImageRequest::Stop`].
    pub(super) fn run(self) {
        let mut request = self.requests.wait();
        let (database, thumbnails) = loop {
            // The other thread makes the database and says what is wrong with it.
            match (Database::open(&self.paths.gallery_file()), Thumbnails::open(&self.paths.thumbnails_file())) {
                (Ok((database, _)), Ok(thumbnails)) => break (database, thumbnails),
                (Err(error), _) | (_, Err(error)) => tracing::warn!("no thumbnails can be made now: {error}"),
            }
            if matches!(request, ImageRequest::Stop) {
                return;
            }
            // A disk may have come back by then.
            request = self.requests.wait();
        };
        let marks = ReadingMarks::open(&self.paths.reading_marks());
        let mut wanted = Wanted::default();
        loop {
            match request {
                ImageRequest::Stop => return,
                ImageRequest::Thumbnails(ids) => {
                    wanted.thumbnails = ids.into_iter().collect();
                    wanted.unmade.clear();
                }
                ImageRequest::Pixels(ids) => wanted.pixels = ids.into_iter().rev().collect(),
            }
            request = loop {
                if let Some(newer) = self.requests.try_next() {
                    break newer;
                }
                if let Some(id) = wanted.pixels.pop() {
                    self.send_pixels(&database, &marks, id);
                } else if !wanted.thumbnails.is_empty() {
                    let first = wanted.thumbnails.drain(..wanted.thumbnails.len().min(BATCH)).collect::<Vec<_>>();
                    wanted.unmade.extend(self.send_kept_thumbnails(&database, &thumbnails, &first));
                } else if let Some(picture) = wanted.unmade.pop_front() {
                    self.send_thumbnail(&thumbnails, &marks, &picture);
                } else {
                    break self.requests.wait();
                }
            };
        }
    }

    /// The picture that was looked at last is shown at the start too, so it is marked as one that
    /// is read unasked.
    fn send_pixels(&self, database: &Database, marks: &ReadingMarks, id: PictureId) {
        let result = match summary(database, id) {
            None => Err(tr!("studio-this-picture-is-no").to_owned()),
            Some(picture) => read_marked(marks, &picture.path).map(Arc::new).map_err(|error| error.to_string()),
        };
        self.events.send(GalleryEvent::Pixels(id, result));
    }

    /// Sends those of the thumbnails that the database keeps, decoded on several threads. Returns
    /// the pictures without one.
    fn send_kept_thumbnails(&self, database: &Database, thumbnails: &Thumbnails, ids: &[PictureId]) -> Vec<PictureSummary> {
        let pictures = database.pictures(ids).unwrap_or_default();
        for unknown in ids.iter().filter(|id| !pictures.iter().any(|picture| picture.id == **id)) {
            self.events.send(GalleryEvent::Thumbnail(*unknown, None));
        }
        let jpegs: Vec<Option<Vec<u8>>> =
            pictures.iter().map(|picture| thumbnails.find(picture.file_hash, ThumbnailSize::Small).ok().flatten()).collect();
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let parts = pictures.chunks(BATCH.div_ceil(threads)).zip(jpegs.chunks(BATCH.div_ceil(threads)));
        thread::scope(|scope| {
            let decoding: Vec<_> =
                parts.map(|(pictures, jpegs)| (pictures, scope.spawn(move || self.send_decoded(pictures, jpegs)))).collect();
            // After a panic of the decoder.
            decoding.into_iter().flat_map(|(pictures, thread)| thread.join().unwrap_or_else(|_| pictures.to_vec())).collect()
        })
    }

    /// Sends these thumbnails; returns the pictures whose thumbnail is not there or damaged.
    fn send_decoded(&self, pictures: &[PictureSummary], jpegs: &[Option<Vec<u8>>]) -> Vec<PictureSummary> {
        let mut unmade = Vec::new();
        for (picture, jpeg) in pictures.iter().zip(jpegs) {
            match jpeg.as_ref().and_then(|jpeg| decode_jpeg(jpeg).ok()) {
                Some(pixels) => self.events.send(GalleryEvent::Thumbnail(picture.id, Some(pixels))),
                None => unmade.push(picture.clone()),
            }
        }
        unmade
    }

    fn send_thumbnail(&self, thumbnails: &Thumbnails, marks: &ReadingMarks, picture: &PictureSummary) {
        let pixels = match thumbnails.thumbnail(marks, &picture.path, picture.file_hash, ThumbnailSize::Small) {
            Ok(pixels) => Some(pixels),
            Err(error) => {
                tracing::debug!("no thumbnail of {}: {error}", picture.path.display());
                None
            }
        };
        self.events.send(GalleryEvent::Thumbnail(picture.id, pixels));
    }
}

fn summary(database: &Database, id: PictureId) -> Option<PictureSummary> {
    database.pictures(&[id]).ok()?.pop()
}

fn read_marked(marks: &ReadingMarks, path: &Path) -> Result<Rgb8, GalleryError> {
    Ok(marks.read(path, || atelier_media::read_image(&ImageSource::File(path.to_owned())))??)
}
