//! Thumbnails on the graphics card: the least recently drawn go first, by bytes.

use std::cell::Cell;
use std::collections::HashMap;

use atelier_gallery::PictureId;
use eframe::egui::TextureHandle;

/// Bytes of thumbnails on the graphics card.
const MAX_BYTES: usize = 256 << 20;

/// Thumbnails on the graphics card.
#[derive(Default)]
pub struct Thumbnails {
    textures: HashMap<PictureId, Thumbnail>,
    bytes: usize,
    /// Number of the frame that is drawn.
    frame: Cell<u64>,
}

struct Thumbnail {
    /// `None`: it cannot be made.
    texture: Option<TextureHandle>,
    drawn: Cell<u64>,
}

impl Thumbnail {
    fn bytes(&self) -> usize {
        self.texture.as_ref().map_or(0, TextureHandle::byte_size)
    }
}

impl Thumbnails {
    /// Begins a frame: what is drawn from now on is newer.
    pub(crate) fn begin_frame(&self) {
        self.frame.set(self.frame.get() + 1);
    }

    /// The thumbnail of this picture, where it is there; it counts as drawn.
    #[must_use]
    pub fn get(&self, id: PictureId) -> Option<&TextureHandle> {
        let thumbnail = self.textures.get(&id)?;
        thumbnail.drawn.set(self.frame.get());
        thumbnail.texture.as_ref()
    }

    /// True where the thumbnail is there or cannot be made.
    #[must_use]
    pub fn is_known(&self, id: PictureId) -> bool {
        self.textures.contains_key(&id)
    }

    /// Keeps a thumbnail, `None` where it cannot be made, and lets those go that were not drawn for
    /// longest.
    pub(crate) fn insert(&mut self, id: PictureId, texture: Option<TextureHandle>) {
        self.remove(id);
        let thumbnail = Thumbnail { texture, drawn: Cell::new(self.frame.get()) };
        self.bytes += thumbnail.bytes();
        self.textures.insert(id, thumbnail);
        if self.bytes > MAX_BYTES {
            self.make_room();
        }
    }

    /// Forgets a thumbnail: its file changed.
    pub(crate) fn remove(&mut self, id: PictureId) {
        if let Some(old) = self.textures.remove(&id) {
            self.bytes -= old.bytes();
        }
    }

    /// Down to three quarters at once, so that the sorting is paid for rarely.
    fn make_room(&mut self) {
        let mut oldest: Vec<(u64, PictureId)> = self.textures.iter().map(|(id, it)| (it.drawn.get(), *id)).collect();
        oldest.sort_unstable();
        for (_, id) in oldest {
            if self.bytes <= MAX_BYTES / 4 * 3 {
                break;
            }
            self.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{ColorImage, Context, TextureOptions};

    #[test]
    fn what_was_drawn_last_stays_and_the_bytes_are_bounded() {
        let ctx = Context::default();
        let mut thumbnails = Thumbnails::default();
        // 4 MiB each: 64 fit.
        let texture = || ctx.load_texture("test", ColorImage::filled([1024, 1024], crate::gui::theme::UNTINTED), TextureOptions::LINEAR);
        for id in 0..64 {
            thumbnails.insert(PictureId(id), Some(texture()));
        }
        thumbnails.begin_frame();
        assert!(thumbnails.get(PictureId(0)).is_some());
        thumbnails.insert(PictureId(64), Some(texture()));
        assert!(thumbnails.bytes <= MAX_BYTES);
        assert!(thumbnails.is_known(PictureId(0)) && thumbnails.is_known(PictureId(64)) && !thumbnails.is_known(PictureId(1)));
        thumbnails.insert(PictureId(1), None);
        assert!(thumbnails.is_known(PictureId(1)) && thumbnails.get(PictureId(1)).is_none());
    }
}
