//! The document that an artist works on: its content, and undo and redo over everything.
//!
//! Every change is one entry of the history, whether pixels, layers or size; changes of one
//! property that follow each other while a control is held are one. What a change returns is the
//! rectangle to be composed anew.

use super::content::DocumentContent;
use super::edit::DocumentEdit;
use super::history::History;
use super::layer::MAX_LAYERS;
use super::{BlendMode, Layer, LayerError, LayerId, LayerKind, LayerText, Mask, PixelRect, TileImage};
use atelier_language::tr;

/// Longest name of a layer in characters.
const LONGEST_NAME: usize = 80;

/// A region that is added to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRegion {
    /// Its name.
    pub name: String,
    /// Its place in the document.
    pub rect: PixelRect,
    /// What it covers there, of the same size.
    pub mask: Mask,
}

/// A document with its history.
#[derive(Clone, Debug)]
pub struct Document {
    content: DocumentContent,
    history: History,
    /// Grows with every change.
    version: u64,
    next_layer: u32,
    /// The newest change goes on while this is true and its name is the same.
    is_held: bool,
}

impl Document {
    /// A document without a history.
    #[must_use]
    pub fn new(content: DocumentContent) -> Self {
        let next_layer = content.layers.iter().map(|layer| layer.id.0 + 1).max().unwrap_or(0);
        Self { content, history: History::default(), version: 0, next_layer, is_held: false }
    }

    /// What it holds now.
    #[must_use]
    pub const fn content(&self) -> &DocumentContent {
        &self.content
    }

    /// Number of the present state; it grows with every change, undo and redo too.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Name of the change that would be undone.
    #[must_use]
    pub fn next_undo(&self) -> Option<&'static str> {
        self.history.next_undo()
    }

    /// Name of the change that would be made again.
    #[must_use]
    pub fn next_redo(&self) -> Option<&'static str> {
        self.history.next_redo()
    }

    /// Bytes that undo and redo keep beside the content.
    #[must_use]
    pub fn history_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Forgets what can be undone and made again.
    pub fn forget_history(&mut self) {
        self.history.clear();
    }

    /// Undoes the newest change. Returns the rectangle that looks different; `None` where there is
    /// nothing to undo.
    pub fn undo(&mut self) -> Option<PixelRect> {
        let content = self.history.undo(&self.content)?;
        Some(self.go_to(content))
    }

    /// Makes the change again that was undone last. Returns the rectangle that looks different.
    pub fn redo(&mut self) -> Option<PixelRect> {
        let content = self.history.redo(&self.content)?;
        Some(self.go_to(content))
    }

    fn go_to(&mut self, content: DocumentContent) -> PixelRect {
        let difference = content.difference(&self.content);
        self.content = content;
        self.version += 1;
        self.is_held = false;
        difference
    }

    /// Ends a change that goes on: the next one of the same name is one of its own.
    pub const fn release(&mut self) {
        self.is_held = false;
    }

    /// Takes a content over that was made from the present one, as a change of this name.
    pub fn replace(&mut self, name: &'static str, content: DocumentContent) -> PixelRect {
        let difference = content.difference(&self.content);
        let before = std::mem::replace(&mut self.content, content);
        self.next_layer = self.next_layer.max(self.content.layers.iter().map(|layer| layer.id.0 + 1).max().unwrap_or(0));
        self.history.push(name, before, &self.content);
        self.version += 1;
        self.is_held = false;
        difference
    }

    /// Carries out an edit, which takes time in proportion to its area.
    ///
    /// # Errors
    /// Where the layer cannot be changed, or the size is not possible.
    pub fn apply(&mut self, edit: &DocumentEdit) -> Result<PixelRect, LayerError> {
        let content = self.content.edited(edit)?;
        Ok(self.replace(edit.name(), content))
    }

    /// Makes a layer the one that is painted on. No change of its own in the history.
    pub fn select_layer(&mut self, id: LayerId) {
        if self.content.layer(id).is_some() {
            self.content.current = id;
        }
    }

    /// Adds a layer above the current one, with these pixels or without any, and makes it the
    /// current one.
    ///
    /// # Errors
    /// Where there are too many layers, or the pixels have another size.
    pub fn add_layer(&mut self, kind: LayerKind, name: &str, pixels: Option<TileImage>) -> Result<LayerId, LayerError> {
        let pixels = pixels.unwrap_or_else(|| TileImage::new(self.content.width, self.content.height));
        if self.content.layers.len() >= MAX_LAYERS {
            return Err(LayerError::TooMany);
        }
        if pixels.bounds() != self.content.bounds() {
            return Err(LayerError::Size);
        }
        let id = LayerId(self.next_layer);
        let at = self.index_of(self.content.current).map_or(self.content.layers.len(), |at| at + 1);
        self.change(tr!("core-add-a-layer"), |content| {
            content.layers.insert(at, Layer::new(id, kind, shortened(name), pixels));
            content.current = id;
            Ok(())
        })?;
        Ok(id)
    }

    /// Adds these regions above all layers, as one change of this name. The last one is the current
    /// layer then.
    ///
    /// # Errors
    /// Where there would be too many layers, or a region lies elsewhere.
    pub fn add_regions(&mut self, change: &'static str, regions: &[NewRegion]) -> Result<PixelRect, LayerError> {
        let bounds = self.content.bounds();
        if self.content.layers.len() + regions.len() > MAX_LAYERS {
            return Err(LayerError::TooMany);
        }
        let has_place = |region: &NewRegion| {
            let is_whole = (region.rect.width, region.rect.height) == (region.mask.width(), region.mask.height());
            is_whole && region.rect.intersection(&bounds) == region.rect
        };
        if !regions.iter().all(has_place) {
            return Err(LayerError::OtherSize);
        }
        let first = self.next_layer;
        self.change(change, |content| {
            for (id, NewRegion { name, rect, mask }) in (first..).map(LayerId).zip(regions) {
                let pixels = TileImage::new(bounds.width, bounds.height);
                let mut layer = Layer::new(id, LayerKind::Region { words: String::new() }, shortened(name), pixels);
                let [red, green, blue] = layer.ink([0; 3]);
                layer.pixels.change(*rect, true, |x, y, run| {
                    let row = mask.row((y as i32 - rect.top) as u32);
                    for (pixel, value) in run.chunks_exact_mut(4).zip(&row[(x as i32 - rect.left) as usize..]) {
                        pixel.copy_from_slice(&if *value == 0 { [0; 4] } else { [red, green, blue, *value] });
                    }
                });
                layer.pixels.drop_blank_tiles();
                content.layers.push(layer);
                content.current = id;
            }
            Ok(())
        })
    }

    /// Makes pixels that were generated a layer above the picture, as one change with putting away
    /// what marked their part: the region is hidden; without one the masks are emptied.
    ///
    /// # Errors
    /// Where there are too many layers, or the pixels have another size.
    pub fn accept_candidate(&mut self, name: &str, pixels: TileImage, region: Option<LayerId>) -> Result<PixelRect, LayerError> {
        if self.content.layers.len() >= MAX_LAYERS {
            return Err(LayerError::TooMany);
        }
        if pixels.bounds() != self.content.bounds() {
            return Err(LayerError::Size);
        }
        let id = LayerId(self.next_layer);
        self.change(tr!("core-accept-a-candidate"), |content| {
            let above = content.layers.iter().rposition(|layer| layer.kind.is_picture()).map_or(0, |at| at + 1);
            for layer in &mut content.layers {
                if region == Some(layer.id) {
                    layer.visible = false;
                } else if region.is_none() && layer.kind == LayerKind::Mask && layer.visible {
                    layer.pixels = TileImage::new(content.width, content.height);
                }
            }
            content.layers.insert(above, Layer::new(id, LayerKind::Paint, shortened(name), pixels));
            Ok(())
        })
    }

    /// Removes a layer.
    ///
    /// # Errors
    /// Where it is the only one, or locked.
    pub fn remove_layer(&mut self, id: LayerId) -> Result<PixelRect, LayerError> {
        let at = self.index_of(id)?;
        if self.content.layers.len() == 1 {
            return Err(LayerError::Last);
        }
        if self.content.layers[at].locked {
            return Err(LayerError::Locked);
        }
        self.change(tr!("core-remove-a-layer"), |content| {
            content.layers.remove(at);
            if content.current == id {
                content.current = content.layers[at.saturating_sub(1).min(content.layers.len() - 1)].id;
            }
            Ok(())
        })
    }

    /// Adds a copy of a layer above it, and makes it the current one.
    ///
    /// # Errors
    /// Where there is no such layer, or too many.
    pub fn duplicate_layer(&mut self, id: LayerId) -> Result<PixelRect, LayerError> {
        let at = self.index_of(id)?;
        if self.content.layers.len() >= MAX_LAYERS {
            return Err(LayerError::TooMany);
        }
        let copy = LayerId(self.next_layer);
        self.change(tr!("core-copy-a-layer"), |content| {
            let layer = content.layers[at].clone();
            let name = shortened(&tr!("core-copy", name = layer.name));
            content.layers.insert(at + 1, Layer { id: copy, name, ..layer });
            content.current = copy;
            Ok(())
        })
    }

    /// Moves a layer to this index, counted from the bottom.
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn move_layer(&mut self, id: LayerId, to: usize) -> Result<PixelRect, LayerError> {
        let at = self.index_of(id)?;
        let to = to.min(self.content.layers.len() - 1);
        if at == to {
            return Ok(PixelRect::default());
        }
        self.change(tr!("core-move-a-layer"), |content| {
            let layer = content.layers.remove(at);
            content.layers.insert(to, layer);
            Ok(())
        })
    }

    /// Renames a layer; an empty name changes nothing.
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn rename_layer(&mut self, id: LayerId, name: &str) -> Result<PixelRect, LayerError> {
        let name = shortened(name);
        if name.is_empty() || self.content.layer(id).is_some_and(|layer| layer.name == name) {
            return Ok(PixelRect::default());
        }
        self.change(tr!("core-rename-a-layer"), |content| content.layer_mut(id).map(|layer| layer.name = name))
    }

    /// Shows or hides a layer.
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn set_visible(&mut self, id: LayerId, visible: bool) -> Result<PixelRect, LayerError> {
        let name = if visible { tr!("core-show-a-layer") } else { tr!("core-hide-a-layer") };
        self.change(name, |content| content.layer_mut(id).map(|layer| layer.visible = visible))
    }

    /// Locks a layer, or unlocks it.
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn set_locked(&mut self, id: LayerId, locked: bool) -> Result<PixelRect, LayerError> {
        let name = if locked { tr!("core-lock-a-layer") } else { tr!("core-unlock-a-layer") };
        self.change(name, |content| content.layer_mut(id).map(|layer| layer.locked = locked))
    }

    /// Sets how a layer's colours meet those below.
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn set_blend(&mut self, id: LayerId, blend: BlendMode) -> Result<PixelRect, LayerError> {
        self.change(tr!("core-blend-mode-of-a"), |content| content.layer_mut(id).map(|layer| layer.blend = blend))
    }

    /// Keeps how opaque the pixels of a layer are as it is, or no longer.
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn set_alpha_locked(&mut self, id: LayerId, locked: bool) -> Result<PixelRect, LayerError> {
        let name = if locked { tr!("core-lock-transparency") } else { tr!("core-unlock-transparency") };
        self.change(name, |content| content.layer_mut(id).map(|layer| layer.alpha_locked = locked))
    }

    /// Adds a layer above the current one that shows words, with the pixels made from them, and
    /// makes it the current one.
    ///
    /// # Errors
    /// Where there are too many layers, or the pixels have another size.
    pub fn add_text(&mut self, name: &str, text: LayerText, pixels: TileImage) -> Result<LayerId, LayerError> {
        let id = self.add_layer(LayerKind::Paint, name, Some(pixels))?;
        // Part of the change that added it.
        self.content.layer_mut(id)?.text = Some(text.checked());
        Ok(id)
    }

    /// Gives a layer other words, with the pixels made from them. One change until
    /// [`Self::release`].
    ///
    /// # Errors
    /// Where the layer cannot be changed, or the pixels have another size.
    pub fn set_text(&mut self, id: LayerId, text: LayerText, pixels: TileImage) -> Result<PixelRect, LayerError> {
        self.content.changeable(id)?;
        if pixels.bounds() != self.content.bounds() {
            return Err(LayerError::Size);
        }
        self.go_on(tr!("core-text-of-a-layer"), |content| {
            let layer = content.layer_mut(id)?;
            (layer.text, layer.pixels) = (Some(text.checked()), pixels);
            Ok(())
        })
    }

    /// Sets a layer's opacity. One change until [`Self::release`].
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn set_opacity(&mut self, id: LayerId, opacity: u8) -> Result<PixelRect, LayerError> {
        self.go_on(tr!("core-opacity-of-a-layer"), |content| content.layer_mut(id).map(|layer| layer.opacity = opacity))
    }

    /// Makes a layer one of another kind; its pixels stay. A layer of that kind already keeps its
    /// words.
    ///
    /// # Errors
    /// Where there is no such layer, or it is locked.
    pub fn set_kind(&mut self, id: LayerId, kind: LayerKind) -> Result<PixelRect, LayerError> {
        self.change(tr!("core-use-of-a-layer"), |content| {
            let layer = content.layer_mut(id)?;
            if layer.locked {
                return Err(LayerError::Locked);
            }
            if !layer.kind.is_like(&kind) {
                layer.opacity = kind.usual_opacity();
                layer.kind = kind;
            }
            Ok(())
        })
    }

    /// Sets the words of a region; other layers have none. One change until [`Self::release`].
    ///
    /// # Errors
    /// Where there is no such layer.
    pub fn set_words(&mut self, id: LayerId, text: &str) -> Result<PixelRect, LayerError> {
        self.go_on(tr!("core-prompt-of-a-region"), |content| {
            if let LayerKind::Region { words } = &mut content.layer_mut(id)?.kind {
                *words = text.chars().take(LayerKind::MAX_WORDS).collect();
            }
            Ok(())
        })
    }

    /// Begins a change of the pixels of the current layer that goes on until
    /// [`Self::finish_pixels`] or [`Self::restore_pixels`].
    ///
    /// # Errors
    /// Where the layer cannot be changed.
    pub(super) fn begin_pixels(&self) -> Result<DocumentContent, LayerError> {
        self.content.changeable(self.content.current)?;
        Ok(self.content.clone())
    }

    /// The pixels of a layer, to be changed by a stroke.
    pub(super) fn pixels_mut(&mut self, id: LayerId) -> Option<&mut TileImage> {
        self.version += 1;
        self.content.layer_mut(id).ok().map(|layer| &mut layer.pixels)
    }

    /// Notes a change of pixels that began with this content.
    pub(super) fn finish_pixels(&mut self, name: &'static str, before: DocumentContent) {
        // Painted on, they are the words' no longer.
        if let Ok(layer) = self.content.layer_mut(before.current()) {
            layer.text = None;
        }
        self.history.push(name, before, &self.content);
        self.version += 1;
        self.is_held = false;
    }

    fn index_of(&self, id: LayerId) -> Result<usize, LayerError> {
        self.content.layers.iter().position(|layer| layer.id == id).ok_or(LayerError::Missing)
    }

    /// Makes a change of its own; where it fails, nothing has changed.
    fn change(
        &mut self,
        name: &'static str,
        change: impl FnOnce(&mut DocumentContent) -> Result<(), LayerError>,
    ) -> Result<PixelRect, LayerError> {
        let mut content = self.content.clone();
        change(&mut content)?;
        if content == self.content {
            return Ok(PixelRect::default());
        }
        Ok(self.replace(name, content))
    }

    /// Makes a change that is one with the newest where that has the same name and is held.
    fn go_on(
        &mut self,
        name: &'static str,
        change: impl FnOnce(&mut DocumentContent) -> Result<(), LayerError>,
    ) -> Result<PixelRect, LayerError> {
        let goes_on = self.is_held && self.history.last().is_some_and(|(last, _)| last == name) && self.next_redo().is_none();
        let mut content = self.content.clone();
        change(&mut content)?;
        let difference = if goes_on {
            let difference = content.difference(&self.content);
            self.content = content;
            self.version += 1;
            difference
        } else {
            self.replace(name, content)
        };
        self.is_held = true;
        Ok(difference)
    }
}

fn shortened(name: &str) -> String {
    name.trim().chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect()
}
