//! State of the canvas: the documents that are open, the tools, and how the view is turned.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use eframe::egui::{Vec2, vec2};

use crate::gui::canvas::candidate::{Candidate, CandidateRun, SeedUse};
use crate::gui::canvas::fresh::FreshStrokes;
use crate::gui::canvas::looks::DocumentLooks;
use crate::gui::canvas::moving::{LayerDrag, LayerMove};
use crate::gui::canvas::recovery_state::Recovery;
use crate::gui::canvas::surface::Surface;
use crate::gui::canvas::tool::{Tool, ToolOptions};
use crate::gui::canvas::vision_run::{VisionChoice, VisionRun};
use crate::gui::canvas::work::{Analysis, DocumentNumber};
use crate::gui::create::forming::Origin;
use crate::gui::create::session::SessionPictureId;
use crate::gui::saver::Saver;
use atelier_core::canvas::{
    Document, DocumentContent, Layer, LayerId, LayerKind, LayerText, LayerTransform, PixelRect, Stroke, StrokePoint,
};
use atelier_core::paths::Paths;
use atelier_core::recipe::ImageSource;
use atelier_engine::JobId;
use atelier_language::tr;
use atelier_media::canvas_file::CanvasHome;

/// State of the canvas.
#[derive(Default)]
pub struct State {
    /// The document that is edited, or was last.
    pub document: Option<OpenDocument>,
    /// Other documents, the one edited last at the end.
    pub parked: Vec<OpenDocument>,
    /// Documents that were put away, the last one at the end.
    pub closed: Vec<OpenDocument>,
    /// True while the document is shown in the place of the picture.
    pub is_editing: bool,
    /// The document is shown as a picture, without its tools: it was left.
    pub is_looked_at: bool,
    /// The picture that Create shows.
    pub shown: Option<(ShownPicture, ImageSource)>,
    /// The engine's number of that picture, where it was made in this session.
    pub(crate) shown_origin: Option<Origin>,
    pub tool: Tool,
    /// Settings of the tools.
    pub options: ToolOptions,
    /// The panel of layers is open.
    pub shows_layers: bool,
    /// Rotation of the view in radians, clockwise.
    pub rotation: f32,
    /// Left and right have changed places.
    pub is_flipped: bool,
    /// A picture whose borders continue each other is shown with copies of itself around it.
    pub shows_copies: bool,
    /// A live picture lies over the document that is edited.
    pub(crate) is_covered: bool,
    /// Everything but the picture is hidden.
    pub hides_panels: bool,
    /// The layer whose name is being typed.
    pub renaming: Option<(LayerId, String)>,
    /// A picture or canvas is being read; it is edited with this tool.
    pub(crate) opening: Option<(ShownPicture, Tool)>,
    /// A model that is looking at a document.
    pub vision: Option<VisionRun>,
    pub vision_choice: VisionChoice,
    /// Canvases of earlier sessions.
    pub recovery: Recovery,
    /// Folder of autosaved canvases; `None` keeps none.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) next_number: DocumentNumber,
}

/// A document that is open.
pub struct OpenDocument {
    pub number: DocumentNumber,
    pub document: Document,
    /// The picture that it began with.
    pub origin: Option<ShownPicture>,
    /// Its file, where the person has given it one.
    pub file: Option<PathBuf>,
    pub surface: Surface,
    /// Small looks of it and of its layers.
    pub looks: DocumentLooks,
    /// What the pointer is doing.
    pub gesture: Option<Gesture>,
    /// What would be generated, as of the version it names.
    pub analysis: Option<Analysis>,
    /// The part that the model sees, where the person has drawn it.
    pub crop: Option<PixelRect>,
    /// Pictures that were generated from it.
    pub candidates: Vec<Candidate>,
    /// The candidate that is shown.
    pub shown_candidate: Option<usize>,
    /// Pictures that were generated from it, but for those that the person discarded.
    pub(crate) made: BTreeSet<Origin>,
    /// Jobs that were asked for.
    pub(crate) runs: Vec<CandidateRun>,
    /// What was asked for with a chosen seed, of this version of the document.
    pub(crate) seed_uses: Vec<SeedUse>,
    /// Parts of which pictures are asked for once they are known, in this order.
    pub(crate) wanted_parts: VecDeque<Part>,
    /// It is being analysed.
    pub(crate) is_analysing: bool,
    /// Edits on another thread.
    pub(crate) pending_edits: u32,
    /// What was painted since the live picture that lies over it was made; `None` where none does,
    /// or nothing was.
    pub fresh: Option<FreshStrokes>,
    /// The layer that was moved last.
    pub(crate) moved: Option<LayerMove>,
    /// Words that a layer is to show, and whether some are being drawn.
    pub(crate) wanted_text: Option<(LayerId, LayerText)>,
    pub(crate) is_drawing_text: bool,
    /// The colour when the pointer was pressed.
    pub(crate) ink: [u8; 3],
    /// It was read from the folder of autosaves.
    pub(crate) is_recovered: bool,
    /// End of the last stroke, from which a straight line begins.
    pub(crate) last_point: Option<StrokePoint>,
    /// Its file in the folder of autosaves.
    pub(crate) autosave: Option<PathBuf>,
    /// What is in that file.
    pub(crate) saver: Saver<KeptDocument>,
    /// The version that its own file holds; `None` where this window has not written it.
    pub(crate) version_in_file: Option<u64>,
}

/// A picture that Create shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownPicture {
    /// One of this session.
    Session(SessionPictureId),
    /// The live picture of this job.
    Live(JobId),
}

/// What tells the states of an autosaved document apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptDocument {
    pub(crate) version: u64,
    pub(crate) home: Option<CanvasHome>,
}

impl OpenDocument {
    pub(crate) fn new(number: DocumentNumber, content: DocumentContent, origin: Option<ShownPicture>, autosave: Option<PathBuf>) -> Self {
        Self {
            number,
            document: Document::new(content),
            origin,
            file: None,
            surface: Surface::default(),
            looks: DocumentLooks::default(),
            gesture: None,
            analysis: None,
            crop: None,
            candidates: Vec::new(),
            shown_candidate: None,
            made: BTreeSet::new(),
            runs: Vec::new(),
            seed_uses: Vec::new(),
            wanted_parts: VecDeque::new(),
            is_analysing: false,
            pending_edits: 0,
            fresh: None,
            moved: None,
            wanted_text: None,
            is_drawing_text: false,
            ink: [0; 3],
            is_recovered: false,
            last_point: None,
            autosave,
            saver: Saver::new(KeptDocument::default()),
            version_in_file: None,
        }
    }

    /// The same without its textures, which are made anew where it is shown.
    pub(crate) fn without_textures(self) -> Self {
        Self { surface: Surface::default(), ..self }
    }

    /// True where something was painted that is in no file, not even a backup.
    pub(crate) fn is_unsaved(&self) -> bool {
        let version = self.document.version();
        self.saver.written().version != version && self.version_in_file != Some(version)
    }

    /// True where its own file does not hold what it is now; one without a file has something to be
    /// saved once something was painted.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        let version = self.document.version();
        self.version_in_file != Some(version) && (version > 0 || self.is_recovered)
    }

    /// Its file's name without the ending, where it has one.
    #[must_use]
    pub fn name(&self) -> String {
        let stem = self.file.as_ref().and_then(|file| file.file_stem());
        stem.map_or_else(|| tr!("canvas-canvas").to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// What a backup of it holds now.
    pub(crate) fn backup_content(&self) -> KeptDocument {
        let version = self.document.version();
        // A name that is no text cannot be written down.
        let file = self.file.as_ref().filter(|file| file.to_str().is_some());
        let home = |file: &PathBuf| CanvasHome { file: file.clone(), is_unchanged: self.version_in_file == Some(version) };
        KeptDocument { version, home: file.map(home) }
    }

    /// The words of a layer, also those that are not drawn yet.
    #[must_use]
    pub fn text_of<'a>(&'a self, layer: &'a Layer) -> Option<&'a LayerText> {
        let wanted = self.wanted_text.as_ref().filter(|(id, _)| *id == layer.id).map(|(_, text)| text);
        layer.text.as_ref().map(|text| wanted.unwrap_or(text))
    }

    /// The move of the current layer that goes on, or a new one; `None` where the layer is empty.
    pub(crate) fn layer_move(&self) -> Option<LayerMove> {
        let version = self.document.version();
        let layer = self.document.content().current_layer();
        if let Some(moved) = self.moved.as_ref().filter(|it| it.layer == layer.id && it.version == version) {
            return Some(moved.clone());
        }
        let bounds = self.looks.bounds(layer.id, version).unwrap_or_else(|| layer.pixels.pixel_bounds());
        let by = LayerTransform::default();
        (!bounds.is_empty()).then(|| LayerMove { layer: layer.id, version, from: layer.pixels.clone(), bounds, by })
    }

    /// The layer whose selection is grown, shrunk or softened: the current one where it selects a
    /// part, else the mask.
    #[must_use]
    pub fn selection(&self) -> Option<LayerId> {
        let (content, current) = (self.document.content(), self.document.content().current_layer());
        let selects = matches!(current.kind, LayerKind::Mask | LayerKind::Region { .. });
        if selects { Some(current.id) } else { content.mask_layer() }
    }

    /// The part that the model will see, where a part is generated.
    #[must_use]
    pub fn shown_crop(&self) -> Option<PixelRect> {
        let crop = self.current_analysis()?.crop;
        (!crop.is_empty()).then(|| self.crop.unwrap_or(crop))
    }

    /// The part that is generated now.
    #[must_use]
    pub fn part(&self) -> Part {
        let layer = self.document.content().current_layer();
        if matches!(layer.kind, LayerKind::Region { .. }) && layer.has_effect() { Part::Region(layer.id) } else { Part::Masked }
    }

    /// The regions of which something can be generated, from the bottom.
    pub(crate) fn regions(&self) -> impl Iterator<Item = LayerId> + '_ {
        let layers = self.document.content().layers().iter();
        layers.filter(|layer| matches!(layer.kind, LayerKind::Region { .. }) && layer.has_effect()).map(|layer| layer.id)
    }

    /// What would be generated now, where that is known.
    #[must_use]
    pub fn current_analysis(&self) -> Option<&Analysis> {
        let (version, region) = (self.document.version(), self.part().region());
        self.analysis.as_ref().filter(|analysis| analysis.basis.version == version && analysis.basis.region == region)
    }
}

/// What the pointer is doing, in pixels of the document.
pub enum Gesture {
    Stroke(Box<Stroke>),
    /// It draws round a part. True takes away.
    Lasso(Vec<(f32, f32)>, bool),
    /// It draws a rectangle from one corner to another. True takes away.
    Rectangle((f32, f32), (f32, f32), bool),
    /// It draws a line along which a gradient falls. True takes away.
    Gradient((f32, f32), (f32, f32), bool),
    Pipette,
    /// It moves, scales or turns the current layer.
    Move(Box<LayerDrag>),
    /// It drags borders of the picture: the frame so far.
    Frame(FrameDrag),
    /// It drags borders of the part that the model sees.
    Crop(FrameDrag),
}

/// A drag of the picture's borders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameDrag {
    /// The borders that move.
    pub edges: Edges,
    pub from: (f32, f32),
    /// The frame before.
    pub before: PixelRect,
    pub frame: PixelRect,
}

/// Borders of a rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    pub left: bool,
    /// The upper one.
    pub top: bool,
    pub right: bool,
    /// The lower one.
    pub bottom: bool,
}

impl Edges {
    /// The borders of a rectangle that a place is near to.
    #[must_use]
    pub fn near(rect: PixelRect, (x, y): (f32, f32), reach: f32) -> Self {
        let (left, top, right, bottom) = (rect.left as f32, rect.top as f32, rect.right() as f32, rect.bottom() as f32);
        let is_beside = x > left - reach && x < right + reach && y > top - reach && y < bottom + reach;
        let near = |one: f32, other: f32| is_beside && (one - other).abs() < reach;
        Self { left: near(x, left), top: near(y, top), right: near(x, right), bottom: near(y, bottom) }
    }

    /// True where no border is.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        !(self.left || self.top || self.right || self.bottom)
    }
}

/// The part of a document that is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What is masked or empty; all of it where nothing is.
    Masked,
    /// What a region covers, by the region's words.
    Region(LayerId),
}

impl Part {
    /// The region, where it is one.
    #[must_use]
    pub const fn region(self) -> Option<LayerId> {
        match self {
            Self::Masked => None,
            Self::Region(layer) => Some(layer),
        }
    }
}

/// What Generate does with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Generates the masked part.
    Masked,
    /// Generates what the current region covers.
    Region,
    /// Generates what was added at a border.
    Extend(&'static str),
    /// Generates all of it, starting from the picture.
    Rework,
}

impl Intent {
    /// The words on the button.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Masked => tr!("canvas-inpaint-the-masked-part"),
            Self::Region => tr!("canvas-generate-this-region"),
            Self::Extend(label) => label,
            Self::Rework => tr!("canvas-rework-the-picture"),
        }
    }
}

impl State {
    /// The state at the start of this person's window.
    #[must_use]
    pub fn new(paths: Option<Paths>) -> Self {
        let folder = paths.as_ref().map(Paths::canvases);
        Self { folder, recovery: Recovery { paths, ..Recovery::default() }, ..Self::default() }
    }

    /// The state at the start of a window beside another one, whose canvases it leaves alone.
    /// `folder`: its own, of autosaved canvases.
    #[must_use]
    pub fn beside(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// The document that is shown in the place of the picture.
    #[must_use]
    pub fn edited(&self) -> Option<&OpenDocument> {
        self.document.as_ref().filter(|_| self.is_editing)
    }

    /// True where the panel of layers is in sight.
    #[must_use]
    pub fn has_layers_panel(&self) -> bool {
        self.shows_layers && !self.hides_panels && self.edited().is_some()
    }

    /// The document that is shown in the place of the picture, to be changed.
    pub(crate) fn edited_mut(&mut self) -> Option<&mut OpenDocument> {
        self.document.as_mut().filter(|_| self.is_editing)
    }

    /// An open document, whether it is shown or not.
    pub(crate) fn open_document_mut(&mut self, number: DocumentNumber) -> Option<&mut OpenDocument> {
        self.open_documents_mut().find(|document| document.number == number)
    }

    /// The open documents, the one that is edited first.
    pub(crate) fn open_documents(&self) -> impl Iterator<Item = &OpenDocument> {
        self.document.iter().chain(&self.parked)
    }

    /// The open documents, the one that is edited first.
    pub(crate) fn open_documents_mut(&mut self) -> impl Iterator<Item = &mut OpenDocument> {
        self.document.iter_mut().chain(&mut self.parked)
    }

    /// The document that is shown as a picture, because it was left.
    #[must_use]
    pub fn looked_at(&self) -> Option<&OpenDocument> {
        self.document.as_ref().filter(|_| self.is_looked_at && !self.is_editing)
    }

    /// The document in sight, whether it is edited or only looked at.
    #[must_use]
    pub fn in_sight(&self) -> Option<&OpenDocument> {
        self.edited().or_else(|| self.looked_at())
    }

    /// A live picture lies over the document that is edited, or no longer: what was painted since
    /// is kept apart only as long as there is one.
    pub(crate) fn set_covered(&mut self, is_covered: bool) {
        self.is_covered = is_covered;
        if !is_covered {
            self.open_documents_mut().for_each(|document| document.fresh = None);
        }
    }

    /// The document in sight, to be changed.
    pub(crate) fn in_sight_mut(&mut self) -> Option<&mut OpenDocument> {
        self.document.as_mut().filter(|_| self.is_editing || self.is_looked_at)
    }

    /// The open documents in the order in which they were opened.
    #[must_use]
    pub fn in_order(&self) -> Vec<&OpenDocument> {
        let mut all: Vec<&OpenDocument> = self.open_documents().collect();
        all.sort_by_key(|document| document.number);
        all
    }

    /// Size of the document that is shown, in pixels.
    #[must_use]
    pub fn shown_size_px(&self) -> Option<Vec2> {
        self.in_sight().map(|it| vec2(it.document.content().width() as f32, it.document.content().height() as f32))
    }

    /// What Generate does, where a document is shown.
    #[must_use]
    pub fn intent(&self) -> Option<Intent> {
        let document = self.edited()?;
        let content = document.document.content();
        if document.part().region().is_some() {
            return Some(Intent::Region);
        }
        if content.layers().iter().any(|layer| layer.kind == LayerKind::Mask && layer.has_effect()) {
            return Some(Intent::Masked);
        }
        let Some(analysis) = &document.analysis else { return Some(Intent::Rework) };
        let (hole, all) = (analysis.uncovered, content.bounds());
        if hole.is_empty() {
            return Some(if analysis.mask.is_some() { Intent::Masked } else { Intent::Rework });
        }
        // Holes at several sides reach from one border to the other.
        let label = match (hole.left == 0, hole.top == 0, hole.right() == all.right(), hole.bottom() == all.bottom()) {
            (false, true, true, true) => tr!("canvas-outpaint-to-the-right"),
            (true, true, false, true) => tr!("canvas-outpaint-to-the-left"),
            (true, true, true, false) => tr!("canvas-outpaint-upwards"),
            (true, false, true, true) => tr!("canvas-outpaint-downwards"),
            (false, ..) | (true, false, ..) | (true, true, false, false) => tr!("canvas-outpaint-the-empty-part"),
            (true, true, true, true) => tr!("canvas-outpaint-the-picture"),
        };
        Some(Intent::Extend(label))
    }
}
