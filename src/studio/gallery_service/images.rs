//! The thread that makes thumbnails and reads pixels, the newest request first.

use std::sync::Arc;

use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;
use atelier_core::recipe::ImageSource;
use atelier_gallery::{Database, PictureId, PictureSummary, ThumbnailSize, Thumbnails};

use super::message::GalleryEvent;

/// Request to this thread; a newer one of the same kind takes the place of an older one.
#[derive(Debug)]
pub(super) enum ImageRequest {
    /// Thumbnails, the most urgent first.
    Thumbnails(Vec<PictureId>),
    /// Pixels.
    Pixels(Vec<PictureId>),
    Stop,
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
        // The other thread makes the database and says what is wrong with it.
        let (Ok((database, _)), Ok(thumbnails)) =
            (Database::open(&self.paths.gallery_file()), Thumbnails::open(&self.paths.thumbnails_file()))
        else {
            tracing::warn!("no thumbnails can be made");
            return;
        };
        // Wanted, and not made yet.
        let (mut small, mut large): (Vec<PictureId>, Vec<PictureId>) = Default::default();
        loop {
            match request {
                ImageRequest::Stop => return,
                ImageRequest::Thumbnails(ids) => small = ids.into_iter().rev().collect(),
                ImageRequest::Pixels(ids) => large = ids.into_iter().rev().collect(),
            }
            request = loop {
                if let Some(newer) = self.requests.try_next() {
                    break newer;
                }
                if let Some(id) = large.pop() {
                    self.send_pixels(&database, id);
                } else if let Some(id) = small.pop() {
                    self.send_thumbnail(&database, &thumbnails, id);
                } else {
                    break self.requests.wait();
                }
            };
        }
    }

    fn send_pixels(&self, database: &Database, id: PictureId) {
        let result = match summary(database, id) {
            None => Err("This picture is no longer in the gallery.".to_owned()),
            Some(picture) => atelier_media::read_image(&ImageSource::File(picture.path)).map(Arc::new).map_err(|error| error.to_string()),
        };
        self.events.send(GalleryEvent::Pixels(id, result));
    }

    fn send_thumbnail(&self, database: &Database, thumbnails: &Thumbnails, id: PictureId) {
        let pixels =
            summary(database, id).and_then(|picture| match thumbnails.thumbnail(&picture.path, picture.file_hash, ThumbnailSize::Small) {
                Ok(pixels) => Some(pixels),
                Err(error) => {
                    tracing::debug!("no thumbnail of {}: {error}", picture.path.display());
                    None
                }
            });
        self.events.send(GalleryEvent::Thumbnail(id, pixels));
    }
}

fn summary(database: &Database, id: PictureId) -> Option<PictureSummary> {
    database.pictures(&[id]).ok()?.pop()
}
