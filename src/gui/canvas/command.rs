//! Commands of the canvas. Their effect is in [`crate::gui::canvas::update`]; nothing here changes
//! anything.

use std::path::PathBuf;

use eframe::egui::{Key, Modifiers};

use crate::gui::canvas::state::State;
use crate::gui::canvas::tool::{Tool, ToolOptions};
use crate::gui::canvas::vision_models;
use crate::gui::canvas::work::{CanvasExport, DocumentNumber};
use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::{Screen, Shared};
use crate::gui::shortcut::Shortcut;
use atelier_core::canvas::{BlendMode, LayerId, LayerKind, LayerText, StrokePoint};
use atelier_language::tr;
use atelier_library::ModelKind;
use atelier_studio::next_recipe::UnmetRequirement;

/// Something that the pointer did, in pixels of the document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointerInput {
    /// It was pressed.
    Press {
        at: StrokePoint,
        /// Shift was held.
        shift: bool,
        /// Alt was held.
        alt: bool,
        /// How far a finger is from what it means.
        reach: f32,
    },
    Move {
        at: StrokePoint,
        /// Shift is held.
        shift: bool,
    },
    /// It was let go.
    Release,
}

/// What can be done with an open document as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentAction {
    Save,
    SaveAs,
    Export(CanvasExport),
    Close,
}

impl DocumentAction {
    /// Those that the menu of an open document offers.
    pub const OFFERED: [Self; 6] = [
        Self::Save,
        Self::SaveAs,
        Self::Export(CanvasExport::Png),
        Self::Export(CanvasExport::OpenRaster),
        Self::Export(CanvasExport::Layers),
        Self::Close,
    ];

    /// The command that does it with the document in sight.
    const fn of_sight(self) -> Command {
        match self {
            Self::Save => Command::Save,
            Self::SaveAs => Command::SaveAs,
            Self::Export(form) => Command::Export(form),
            Self::Close => Command::Close,
        }
    }
}

/// A command of the canvas.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Take a tool; the picture that is shown becomes a document where there is none.
    SetTool(Tool),
    Leave,
    /// Go on with the document that was edited last.
    Resume,
    /// Edit the next of the open documents.
    NextDocument,
    /// Edit this open document.
    ShowDocument(DocumentNumber),
    /// Do something with an open document, whether it is in sight or not.
    ForDocument(DocumentNumber, DocumentAction),
    /// Put the document away.
    Close,
    /// Open the document again that was put away last.
    Reopen,
    /// Open the newest canvas of an earlier session that waits.
    OpenBackup,
    /// Offer canvases of earlier sessions no more, until the next start.
    PutBackupsOff,
    /// Show where canvases are that could not be opened.
    ShowBackups,
    /// Say no more which canvases could not be opened.
    DismissBackups,
    /// The pointer was used on the document.
    Pointer(Vec<PointerInput>),
    /// Undo the last change of the document.
    Undo,
    /// Make the change again that was undone last.
    Redo,
    /// Make the brush smaller.
    Smaller,
    /// Make the brush larger.
    Larger,
    /// Make the brush softer.
    Softer,
    /// Make the brush harder.
    Harder,
    /// Change the settings of the tools.
    SetOptions(Box<ToolOptions>),
    /// Open the panel of layers, or close it.
    ToggleLayers,
    /// Add a layer above the current one.
    AddLayer(LayerKind),
    /// Make the current layer one of another kind.
    SetKind(LayerKind),
    /// Set the words of a region.
    SetWords(LayerId, String),
    /// Remove the current layer.
    RemoveLayer,
    /// Copy the current layer.
    DuplicateLayer,
    /// Paint on this layer.
    SelectLayer(LayerId),
    /// Move the current layer up.
    RaiseLayer,
    /// Move the current layer down.
    LowerLayer,
    /// Type a layer's name, or stop.
    EditName(Option<(LayerId, String)>),
    /// Give a layer the name that was typed.
    SaveName,
    /// Show or hide a layer.
    SetVisible(LayerId, bool),
    /// Lock or unlock a layer.
    SetLocked(LayerId, bool),
    /// Set a layer's opacity, 0 to 255.
    SetOpacity(LayerId, u8),
    SetBlend(LayerId, BlendMode),
    /// Keep the opacity of a layer's pixels, or no longer.
    SetAlphaLocked(LayerId, bool),
    /// Move a layer to this index, from the bottom.
    MoveLayer(LayerId, usize),
    /// Make the current layer and the one below it one.
    MergeDown,
    /// Add a layer of text.
    AddText,
    SetText(LayerId, LayerText),
    GrowMask,
    ShrinkMask,
    /// Soften the edge of the mask.
    FeatherMask,
    /// Make the background of the current layer transparent, by a model that the person has.
    CutOut,
    /// Add a region for each face and hand, by detectors that the person has.
    FindRegions,
    /// End the model that is looking at a canvas.
    CancelVision,
    /// Cut out with this model.
    ChooseCutoutModel(PathBuf),
    /// Ask this detector, or not.
    UseDetector(PathBuf, bool),
    /// Show models of this kind that there are.
    GetModel(ModelKind),
    /// The control that changes a layer was let go.
    Release,
    /// Empty the current layer.
    ClearLayer,
    /// Exchange what is masked with what is not.
    InvertMask,
    MaskAll,
    /// Turn the view to the left.
    TurnLeft,
    /// Turn the view to the right.
    TurnRight,
    /// Show the view upright.
    Upright,
    /// Exchange left and right of the view.
    Flip,
    /// Show copies of the picture around it, or not.
    ToggleCopies,
    /// Generate what the document asks for.
    Generate,
    /// Generate what each region covers, by its words.
    GenerateRegions,
    ShowCandidate(usize),
    /// Show the candidate after this one.
    NextCandidate,
    /// Show the candidate before this one.
    PreviousCandidate,
    /// Make the candidate a layer.
    Accept,
    /// Put the candidate away.
    Discard,
    /// Put all candidates away.
    DiscardAll,
    /// Open a canvas of a file.
    Open,
    OpenFile(PathBuf),
    /// Write the document to its file.
    Save,
    /// Write the document to a file.
    SaveAs,
    Export(CanvasExport),
    /// Hide everything but the picture, or show it again.
    HidePanels,
    /// Fill the screen, or not.
    FullScreen,
}

impl FeatureCommand for Command {
    type State = State;

    const KEYS: &'static [(Self, Shortcut)] = &[
        (Self::Reopen, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::T)),
        (Self::Harder, Shortcut::when_idle(Modifiers::SHIFT, Key::CloseBracket)),
        (Self::Softer, Shortcut::when_idle(Modifiers::SHIFT, Key::OpenBracket)),
        (Self::InvertMask, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::I)),
        (Self::MergeDown, Shortcut::while_typing(Modifiers::COMMAND, Key::E)),
        (Self::GrowMask, Shortcut::when_idle(Modifiers::COMMAND, Key::CloseBracket)),
        (Self::ShrinkMask, Shortcut::when_idle(Modifiers::COMMAND, Key::OpenBracket)),
        (Self::FeatherMask, Shortcut::while_typing(Modifiers::SHIFT, Key::F6)),
        (Self::AddText, Shortcut::when_idle(Modifiers::SHIFT, Key::T)),
        (Self::SetTool(Tool::Gradient), Shortcut::when_idle(Modifiers::SHIFT, Key::G)),
        (Self::SetTool(Tool::Rectangle), Shortcut::when_idle(Modifiers::SHIFT, Key::L)),
        (Self::SetTool(Tool::Brush), Shortcut::when_idle(Modifiers::NONE, Key::B)),
        (Self::SetTool(Tool::Eraser), Shortcut::when_idle(Modifiers::NONE, Key::E)),
        (Self::SetTool(Tool::Mask), Shortcut::when_idle(Modifiers::NONE, Key::M)),
        (Self::SetTool(Tool::Wand), Shortcut::when_idle(Modifiers::NONE, Key::A)),
        (Self::SetTool(Tool::Move), Shortcut::when_idle(Modifiers::NONE, Key::T)),
        (Self::SetTool(Tool::Lasso), Shortcut::when_idle(Modifiers::NONE, Key::L)),
        (Self::SetTool(Tool::Bucket), Shortcut::when_idle(Modifiers::NONE, Key::G)),
        (Self::SetTool(Tool::Pipette), Shortcut::when_idle(Modifiers::NONE, Key::K)),
        (Self::SetTool(Tool::Frame), Shortcut::when_idle(Modifiers::NONE, Key::C)),
        (Self::Smaller, Shortcut::when_idle(Modifiers::NONE, Key::OpenBracket)),
        (Self::Larger, Shortcut::when_idle(Modifiers::NONE, Key::CloseBracket)),
        (Self::ToggleLayers, Shortcut::while_typing(Modifiers::NONE, Key::F7)),
        (Self::TurnLeft, Shortcut::when_idle(Modifiers::NONE, Key::Num4)),
        (Self::Upright, Shortcut::when_idle(Modifiers::NONE, Key::Num5)),
        (Self::TurnRight, Shortcut::when_idle(Modifiers::NONE, Key::Num6)),
        (Self::Flip, Shortcut::when_idle(Modifiers::NONE, Key::H)),
        (Self::ToggleCopies, Shortcut::when_idle(Modifiers::NONE, Key::W)),
        (Self::ClearLayer, Shortcut::when_idle(Modifiers::NONE, Key::Delete)),
        (Self::Accept, Shortcut::when_idle(Modifiers::NONE, Key::Enter)),
        (Self::Discard, Shortcut::when_idle(Modifiers::NONE, Key::Backspace)),
        (Self::NextCandidate, Shortcut::when_idle(Modifiers::NONE, Key::Period)),
        (Self::PreviousCandidate, Shortcut::when_idle(Modifiers::NONE, Key::Comma)),
        (Self::HidePanels, Shortcut::when_idle(Modifiers::NONE, Key::Tab)),
        (Self::FullScreen, Shortcut::while_typing(Modifiers::NONE, Key::F11)),
    ];

    const OFFERED: &'static [Self] = &[
        Self::Leave,
        Self::Resume,
        Self::NextDocument,
        Self::OpenBackup,
        Self::Close,
        Self::AddLayer(LayerKind::Paint),
        Self::AddLayer(LayerKind::Mask),
        Self::AddLayer(LayerKind::Region { words: String::new() }),
        Self::AddLayer(LayerKind::Control),
        Self::AddLayer(LayerKind::Reference),
        Self::SetKind(LayerKind::Paint),
        Self::SetKind(LayerKind::Mask),
        Self::SetKind(LayerKind::Region { words: String::new() }),
        Self::SetKind(LayerKind::Control),
        Self::SetKind(LayerKind::Reference),
        Self::GenerateRegions,
        Self::AddText,
        Self::MergeDown,
        Self::CutOut,
        Self::FindRegions,
        Self::GrowMask,
        Self::ShrinkMask,
        Self::FeatherMask,
        Self::RemoveLayer,
        Self::DuplicateLayer,
        Self::RaiseLayer,
        Self::LowerLayer,
        Self::InvertMask,
        Self::MaskAll,
        Self::DiscardAll,
        Self::Open,
        Self::Save,
        Self::SaveAs,
        Self::Export(CanvasExport::Png),
        Self::Export(CanvasExport::Layers),
        Self::Export(CanvasExport::OpenRaster),
    ];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::SetTool(tool) => tool.words(),
            Self::Leave => (tr!("canvas-leave-the-canvas"), tr!("canvas-put-the-tools-away")),
            Self::Resume => (tr!("canvas-go-back-to-the"), tr!("canvas-continue-with-the-canvas")),
            Self::NextDocument => (tr!("canvas-next-canvas"), tr!("canvas-switch-to-the-next")),
            Self::ShowDocument(_) => (tr!("canvas-edit-this-canvas"), tr!("canvas-go-back-to-this")),
            Self::ForDocument(_, action) => action.of_sight().words(),
            Self::Close => (tr!("canvas-close-the-canvas"), tr!("canvas-close-this-canvas-you")),
            Self::Reopen => (tr!("canvas-reopen-the-closed-canvas"), tr!("canvas-reopen-the-canvas-that")),
            Self::OpenBackup => (tr!("canvas-open-the-next-canvas"), tr!("canvas-open-the-newest-canvas")),
            Self::PutBackupsOff => (tr!("common-not-now"), tr!("canvas-keep-these-canvases-closed")),
            Self::ShowBackups => (tr!("canvas-show-the-file"), tr!("canvas-show-the-file-of")),
            Self::DismissBackups => (tr!("canvas-leave-it-there"), tr!("canvas-dismiss-this-message-the")),
            Self::Pointer(_) => (tr!("canvas-use-the-tool"), tr!("canvas-use-the-tool-on")),
            Self::Undo => (tr!("canvas-undo"), tr!("canvas-undo-the-last-change")),
            Self::Redo => (tr!("canvas-redo"), tr!("canvas-redo-the-last-undone")),
            Self::Smaller => (tr!("canvas-smaller-brush"), tr!("canvas-make-the-brush-smaller")),
            Self::Larger => (tr!("canvas-larger-brush"), tr!("canvas-make-the-brush-larger")),
            Self::Softer => (tr!("canvas-softer-brush"), tr!("canvas-make-the-edge-of")),
            Self::Harder => (tr!("canvas-harder-brush"), tr!("canvas-make-the-edge-of-the-brush")),
            Self::SetOptions(_) => (tr!("canvas-set-the-tool"), tr!("canvas-change-the-settings-of")),
            Self::ToggleLayers => (tr!("canvas-layers"), tr!("canvas-see-the-layers-of")),
            Self::AddLayer(LayerKind::Mask) => (tr!("canvas-add-a-mask"), tr!("canvas-add-an-inpainting-mask")),
            Self::AddLayer(LayerKind::Region { .. }) => (tr!("canvas-add-a-region"), tr!("canvas-add-a-region-a")),
            Self::AddLayer(LayerKind::Control) => (tr!("canvas-add-a-control-layer"), tr!("canvas-add-a-layer-whose")),
            Self::AddLayer(LayerKind::Reference) => (tr!("canvas-add-a-reference-layer"), tr!("canvas-add-a-layer-with")),
            Self::AddLayer(LayerKind::Paint) => (tr!("canvas-add-a-layer"), tr!("canvas-add-an-empty-layer")),
            Self::SetKind(LayerKind::Paint) => (tr!("canvas-use-the-layer-as"), tr!("canvas-use-this-layer-as")),
            Self::SetKind(LayerKind::Mask) => (tr!("canvas-use-the-layer-as-a-mask"), tr!("canvas-use-this-layer-as-an-inpainting")),
            Self::SetKind(LayerKind::Region { .. }) => (tr!("canvas-use-the-layer-as-a-region"), tr!("canvas-use-this-layer-as-a-region")),
            Self::SetKind(LayerKind::Control) => (tr!("canvas-use-the-layer-for"), tr!("canvas-use-this-layer-as-the-control")),
            Self::SetKind(LayerKind::Reference) => {
                (tr!("canvas-use-the-layer-as-a-reference"), tr!("canvas-use-this-layer-as-a-reference"))
            }
            Self::SetWords(..) => (tr!("canvas-prompt-of-the-region"), tr!("canvas-what-this-region-should")),
            Self::RemoveLayer => (tr!("canvas-remove-the-layer"), tr!("canvas-remove-this-layer")),
            Self::DuplicateLayer => (tr!("canvas-copy-the-layer"), tr!("canvas-add-a-copy-of")),
            Self::SelectLayer(_) => (tr!("canvas-paint-on-this-layer"), tr!("canvas-paint-on-this-layer-2")),
            Self::RaiseLayer => (tr!("canvas-move-the-layer-up"), tr!("canvas-move-this-layer-above")),
            Self::LowerLayer => (tr!("canvas-move-the-layer-down"), tr!("canvas-move-this-layer-below")),
            Self::EditName(_) => (tr!("canvas-rename-the-layer"), tr!("canvas-give-this-layer-another")),
            Self::SaveName => (tr!("canvas-keep-the-name"), tr!("canvas-keep-this-name")),
            Self::SetVisible(_, true) => (tr!("canvas-show-the-layer"), tr!("canvas-show-this-layer")),
            Self::SetVisible(_, false) => (tr!("canvas-hide-the-layer"), tr!("canvas-hide-this-layer")),
            Self::SetLocked(_, true) => (tr!("canvas-lock-the-layer"), tr!("canvas-protect-this-layer-from")),
            Self::SetLocked(_, false) => (tr!("canvas-unlock-the-layer"), tr!("canvas-allow-changes-to-this")),
            Self::SetOpacity(..) => (tr!("canvas-opacity-of-the-layer"), tr!("canvas-how-strongly-this-layer")),
            Self::SetBlend(..) => (tr!("canvas-blend-mode"), tr!("canvas-how-this-layers-colours")),
            Self::SetAlphaLocked(_, true) => (tr!("canvas-lock-transparency"), tr!("canvas-keep-transparent-pixels-of")),
            Self::SetAlphaLocked(_, false) => (tr!("canvas-unlock-transparency"), tr!("canvas-allow-painting-on-transparent")),
            Self::MoveLayer(..) => (tr!("canvas-move-the-layer"), tr!("canvas-move-this-layer-to")),
            Self::MergeDown => (tr!("canvas-merge-down"), tr!("canvas-merge-this-layer-with")),
            Self::AddText => (tr!("canvas-add-text"), tr!("canvas-add-a-text-layer")),
            Self::SetText(..) => (tr!("canvas-text-of-the-layer"), tr!("canvas-the-text-that-this")),
            Self::GrowMask => (tr!("canvas-grow-the-mask"), tr!("canvas-make-the-mask-larger")),
            Self::ShrinkMask => (tr!("canvas-shrink-the-mask"), tr!("canvas-make-the-mask-smaller")),
            Self::FeatherMask => (tr!("canvas-feather-the-mask"), tr!("canvas-soften-the-edge-of")),
            Self::CutOut => (tr!("canvas-cut-out-the-background"), tr!("canvas-make-everything-behind-the")),
            Self::FindRegions => (tr!("canvas-find-faces-and-hands"), tr!("canvas-add-a-region-for")),
            Self::CancelVision => (tr!("common-cancel"), tr!("canvas-end-the-model-the")),
            Self::ChooseCutoutModel(_) => (tr!("canvas-cut-out-model"), tr!("canvas-cut-out-with-this")),
            Self::UseDetector(..) => (tr!("canvas-detector"), tr!("canvas-ask-this-detector-or")),
            Self::GetModel(ModelKind::Detector) => (tr!("canvas-get-a-detector"), tr!("canvas-show-the-detectors-in")),
            Self::GetModel(_) => (tr!("canvas-get-a-cut-out"), tr!("canvas-show-the-cut-out")),
            Self::Release => (tr!("canvas-release"), tr!("canvas-end-this-change")),
            Self::ClearLayer => (tr!("canvas-clear-the-layer"), tr!("canvas-erase-everything-on-this")),
            Self::InvertMask => (tr!("canvas-invert-the-mask"), tr!("canvas-swap-masked-and-unmasked")),
            Self::MaskAll => (tr!("canvas-mask-everything"), tr!("canvas-mask-the-whole-picture")),
            Self::TurnLeft => (tr!("canvas-rotate-the-view-left"), tr!("canvas-rotate-the-view-to")),
            Self::TurnRight => (tr!("canvas-rotate-the-view-right"), tr!("canvas-rotate-the-view-to-the-right")),
            Self::Upright => (tr!("canvas-show-upright"), tr!("canvas-reset-the-rotation-of")),
            Self::Flip => (tr!("canvas-flip-the-view"), tr!("canvas-mirror-the-view-the")),
            Self::ToggleCopies => (tr!("canvas-show-it-tiled"), tr!("canvas-show-copies-of-the")),
            Self::Generate => (tr!("canvas-generate"), tr!("canvas-generate-according-to-the")),
            Self::GenerateRegions => (tr!("canvas-generate-every-region"), tr!("canvas-generate-each-region-with")),
            Self::ShowCandidate(_) => (tr!("canvas-show-this-candidate"), tr!("canvas-preview-this-candidate")),
            Self::NextCandidate => (tr!("canvas-next-candidate"), tr!("canvas-preview-the-next-candidate")),
            Self::PreviousCandidate => (tr!("canvas-previous-candidate"), tr!("canvas-preview-the-previous-candidate")),
            Self::Accept => (tr!("common-accept"), tr!("canvas-make-this-candidate-a")),
            Self::Discard => (tr!("canvas-discard"), tr!("canvas-discard-this-candidate-its")),
            Self::DiscardAll => (tr!("canvas-discard-all"), tr!("canvas-discard-all-candidates-their")),
            Self::Open | Self::OpenFile(_) => (tr!("canvas-open-a-canvas"), tr!("canvas-open-a-canvas-that")),
            Self::Save => (tr!("canvas-save-the-canvas"), tr!("canvas-save-the-canvas-with")),
            Self::SaveAs => (tr!("canvas-save-the-canvas-as"), tr!("canvas-save-the-canvas-with-all-layers")),
            Self::Export(CanvasExport::Png) => (tr!("canvas-export-as-png"), tr!("canvas-export-the-visible-picture")),
            Self::Export(CanvasExport::Layers) => (tr!("canvas-export-the-layers"), tr!("canvas-export-each-layer-as")),
            Self::Export(CanvasExport::OpenRaster) => (tr!("canvas-export-as-openraster"), tr!("canvas-export-the-layers-for")),
            Self::HidePanels => (tr!("canvas-hide-everything-but-the"), tr!("canvas-show-only-the-picture")),
            Self::FullScreen => (tr!("canvas-full-screen"), tr!("canvas-fill-the-screen-or")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::OpenBackup if state.recovery.waiting.is_empty() => return Err(tr!("canvas-there-is-no-canvas")),
            Self::OpenBackup if state.recovery.reading.is_some() => return Err(tr!("canvas-a-canvas-is-already")),
            Self::ForDocument(number, _) | Self::ShowDocument(number) if !state.open_documents().any(|it| it.number == *number) => {
                return Err(tr!("canvas-this-canvas-is-not"));
            }
            Self::ForDocument(_, action) if *action != DocumentAction::Close && shared.dialog_open => {
                return Err(tr!("common-a-file-dialog-is"));
            }
            Self::OpenFile(_)
            | Self::ForDocument(..)
            | Self::ShowDocument(_)
            | Self::FullScreen
            | Self::OpenBackup
            | Self::PutBackupsOff
            | Self::ShowBackups
            | Self::DismissBackups => return Ok(()),
            _ => {}
        }
        if shared.screen != Screen::Create {
            return Err(tr!("canvas-the-canvas-is-in"));
        }
        let document = state.edited();
        let edited = document.ok_or(tr!("canvas-there-is-no-canvas-press-b"));
        let in_sight = state.in_sight().ok_or(tr!("canvas-there-is-no-canvas-press-b"));
        let candidate = || edited.and_then(|it| it.shown_candidate.map(drop).ok_or(tr!("canvas-there-is-no-candidate")));
        let no_dialog = || (!shared.dialog_open).then_some(()).ok_or(tr!("common-a-file-dialog-is"));
        match self {
            Self::CutOut => edited.and_then(|it| vision_models::can_cut_out(state, it)),
            Self::FindRegions => edited.and_then(|_| vision_models::can_find(state, shared)),
            Self::CancelVision => state.vision.as_ref().map(drop).ok_or(tr!("canvas-no-model-is-looking")),
            Self::GrowMask | Self::ShrinkMask | Self::FeatherMask => {
                edited.and_then(|it| it.selection().map(drop).ok_or(tr!("canvas-there-is-no-mask")))
            }
            Self::MergeDown => edited.and_then(|it| {
                let layers = it.document.content().layers();
                let at = layers.iter().position(|layer| layer.id == it.document.content().current());
                let below = at.and_then(|at| at.checked_sub(1)).map(|below| (&layers[below], &layers[below + 1]));
                let can = below.is_some_and(|(below, above)| below.kind.is_like(&above.kind));
                can.then_some(()).ok_or(tr!("canvas-there-is-no-layer"))
            }),
            // It is meant for the canvas that is looked at.
            Self::SetTool(_) if state.looked_at().is_some() => Ok(()),
            Self::SetTool(Tool::Brush | Tool::Mask | Tool::Frame) => {
                let has_picture = document.is_some() || state.document.is_some() || state.shown.is_some();
                has_picture.then_some(()).ok_or(tr!("canvas-there-is-no-picture"))
            }
            Self::Resume => (document.is_none() && state.document.is_some()).then_some(()).ok_or(tr!("canvas-there-is-no-canvas-to-go")),
            Self::NextDocument => (!state.parked.is_empty()).then_some(()).ok_or(tr!("canvas-there-is-no-other")),
            Self::Reopen => (!state.closed.is_empty()).then_some(()).ok_or(tr!("canvas-no-canvas-was-closed")),
            Self::Undo => edited.and_then(|it| it.document.next_undo().map(drop).ok_or(tr!("canvas-nothing-was-changed-yet"))),
            Self::Redo => edited.and_then(|it| it.document.next_redo().map(drop).ok_or(tr!("canvas-nothing-was-undone"))),
            Self::SetKind(LayerKind::Control) | Self::AddLayer(LayerKind::Control) => {
                edited.and(shared.next.takes_control().then_some(()).ok_or(tr!("canvas-choose-a-controlnet-among")))
            }
            Self::SetKind(LayerKind::Reference) | Self::AddLayer(LayerKind::Reference) => edited.and_then(|_| shared.takes_references()),
            Self::GenerateRegions if edited.is_ok_and(|it| it.regions().next().is_none()) => Err(tr!("canvas-all-regions-are-empty")),
            Self::Generate | Self::GenerateRegions => {
                edited.and(shared.next.ready().or_else(without_prompt).map_err(UnmetRequirement::sentence))
            }
            Self::Accept | Self::Discard | Self::DiscardAll | Self::NextCandidate | Self::PreviousCandidate => candidate(),
            Self::ToggleCopies if shared.seamless() == [false; 2] => edited.and(Err(tr!("canvas-the-picture-is-not"))),
            Self::Open => no_dialog(),
            Self::Save | Self::SaveAs | Self::Export(_) => in_sight.map(drop).and_then(|()| no_dialog()),
            Self::Leave | Self::Close => in_sight.map(drop),
            Self::HidePanels => (document.is_some() || state.shown.is_some()).then_some(()).ok_or(tr!("canvas-there-is-no-picture")),
            _ => edited.map(drop),
        }
    }
}

/// A canvas is something to start from: it needs no words.
pub(crate) const fn without_prompt(unmet: UnmetRequirement) -> Result<(), UnmetRequirement> {
    match unmet {
        UnmetRequirement::Prompt => Ok(()),
        unmet => Err(unmet),
    }
}
