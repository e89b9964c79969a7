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
            Self::Leave => {
                ("Leave the canvas", "Put the tools away and look at the picture; once more for other pictures. The canvas stays open.")
            }
            Self::Resume => ("Go back to the canvas", "Continue with the canvas that you edited last."),
            Self::NextDocument => ("Next canvas", "Switch to the next open canvas."),
            Self::ShowDocument(_) => ("Edit this canvas", "Go back to this open canvas."),
            Self::ForDocument(_, action) => action.of_sight().words(),
            Self::Close => ("Close the canvas", "Close this canvas. You can reopen the canvas until Atelier is closed."),
            Self::Reopen => ("Reopen the closed canvas", "Reopen the canvas that was closed last, with its undo history."),
            Self::OpenBackup => ("Open the next canvas", "Open the newest canvas of an earlier session."),
            Self::PutBackupsOff => ("Not now", "Keep these canvases closed. Atelier offers them again at the next start."),
            Self::ShowBackups => ("Show the file", "Show the file of the canvas in your file manager."),
            Self::DismissBackups => ("Leave it there", "Dismiss this message. The file is kept."),
            Self::Pointer(_) => ("Use the tool", "Use the tool on the picture."),
            Self::Undo => ("Undo", "Undo the last change of the canvas."),
            Self::Redo => ("Redo", "Redo the last undone change."),
            Self::Smaller => ("Smaller brush", "Make the brush smaller."),
            Self::Larger => ("Larger brush", "Make the brush larger."),
            Self::Softer => ("Softer brush", "Make the edge of the brush softer."),
            Self::Harder => ("Harder brush", "Make the edge of the brush harder."),
            Self::SetOptions(_) => ("Set the tool", "Change the settings of the tool."),
            Self::ToggleLayers => ("Layers", "See the layers of the canvas, and arrange them."),
            Self::AddLayer(LayerKind::Mask) => ("Add a mask", "Add an inpainting mask: the masked part is regenerated."),
            Self::AddLayer(LayerKind::Region { .. }) => ("Add a region", "Add a region: a part with its own prompt."),
            Self::AddLayer(LayerKind::Control) => ("Add a control layer", "Add a layer whose picture controls the ControlNet."),
            Self::AddLayer(LayerKind::Reference) => ("Add a reference layer", "Add a layer with a reference picture for the model."),
            Self::AddLayer(LayerKind::Paint) => ("Add a layer", "Add an empty layer above this one."),
            Self::SetKind(LayerKind::Paint) => ("Use the layer as paint", "Use this layer as part of the picture."),
            Self::SetKind(LayerKind::Mask) => {
                ("Use the layer as a mask", "Use this layer as an inpainting mask: the masked part is regenerated.")
            }
            Self::SetKind(LayerKind::Region { .. }) => ("Use the layer as a region", "Use this layer as a region with its own prompt."),
            Self::SetKind(LayerKind::Control) => ("Use the layer for control", "Use this layer as the control picture of the ControlNet."),
            Self::SetKind(LayerKind::Reference) => ("Use the layer as a reference", "Use this layer as a reference picture for the model."),
            Self::SetWords(..) => ("Prompt of the region", "What this region should show. Leave empty to use the prompt."),
            Self::RemoveLayer => ("Remove the layer", "Remove this layer."),
            Self::DuplicateLayer => ("Copy the layer", "Add a copy of this layer above it."),
            Self::SelectLayer(_) => ("Paint on this layer", "Paint on this layer."),
            Self::RaiseLayer => ("Move the layer up", "Move this layer above the next one."),
            Self::LowerLayer => ("Move the layer down", "Move this layer below the next one."),
            Self::EditName(_) => ("Rename the layer", "Give this layer another name."),
            Self::SaveName => ("Keep the name", "Keep this name."),
            Self::SetVisible(_, true) => ("Show the layer", "Show this layer."),
            Self::SetVisible(_, false) => ("Hide the layer", "Hide this layer."),
            Self::SetLocked(_, true) => ("Lock the layer", "Protect this layer from changes."),
            Self::SetLocked(_, false) => ("Unlock the layer", "Allow changes to this layer."),
            Self::SetOpacity(..) => ("Opacity of the layer", "How strongly this layer covers the layers below."),
            Self::SetBlend(..) => ("Blend mode", "How this layer's colours mix with the layers below."),
            Self::SetAlphaLocked(_, true) => ("Lock transparency", "Keep transparent pixels of this layer transparent while you paint."),
            Self::SetAlphaLocked(_, false) => ("Unlock transparency", "Allow painting on transparent pixels of this layer."),
            Self::MoveLayer(..) => ("Move the layer", "Move this layer to another place in the list."),
            Self::MergeDown => ("Merge down", "Merge this layer with the layer below."),
            Self::AddText => ("Add text", "Add a text layer."),
            Self::SetText(..) => ("Text of the layer", "The text that this layer shows. Painting on the layer makes it a picture."),
            Self::GrowMask => ("Grow the mask", "Make the mask larger on all sides, by the number of pixels above the canvas."),
            Self::ShrinkMask => ("Shrink the mask", "Make the mask smaller on all sides, by the number of pixels above the canvas."),
            Self::FeatherMask => ("Feather the mask", "Soften the edge of the mask, by the number of pixels above the canvas."),
            Self::CutOut => {
                ("Cut out the background", "Make everything behind the subject of this layer transparent, with a cut-out model.")
            }
            Self::FindRegions => (
                "Find faces and hands",
                "Add a region for each face and hand that a detector finds, to generate each again at a larger size.",
            ),
            Self::CancelVision => ("Cancel", "End the model. The canvas stays as it is."),
            Self::ChooseCutoutModel(_) => ("Cut-out model", "Cut out with this model."),
            Self::UseDetector(..) => ("Detector", "Ask this detector, or not."),
            Self::GetModel(ModelKind::Detector) => ("Get a detector", "Show the detectors in Models."),
            Self::GetModel(_) => ("Get a cut-out model", "Show the cut-out models in Models."),
            Self::Release => ("Release", "End this change."),
            Self::ClearLayer => ("Clear the layer", "Erase everything on this layer."),
            Self::InvertMask => ("Invert the mask", "Swap masked and unmasked areas."),
            Self::MaskAll => ("Mask everything", "Mask the whole picture."),
            Self::TurnLeft => ("Rotate the view left", "Rotate the view to the left. The picture is not changed."),
            Self::TurnRight => ("Rotate the view right", "Rotate the view to the right. The picture is not changed."),
            Self::Upright => ("Show upright", "Reset the rotation of the view."),
            Self::Flip => ("Flip the view", "Mirror the view. The picture is not changed."),
            Self::ToggleCopies => {
                ("Show it tiled", "Show copies of the seamless picture around it, to see its borders. Paint over them too.")
            }
            Self::Generate => ("Generate", "Generate according to the canvas."),
            Self::GenerateRegions => ("Generate every region", "Generate each region with its own prompt, one after another."),
            Self::ShowCandidate(_) => ("Show this candidate", "Preview this candidate."),
            Self::NextCandidate => ("Next candidate", "Preview the next candidate."),
            Self::PreviousCandidate => ("Previous candidate", "Preview the previous candidate."),
            Self::Accept => ("Accept", "Make this candidate a layer. Hold V to see the canvas without it."),
            Self::Discard => ("Discard", "Discard this candidate. Its picture stays in the gallery."),
            Self::DiscardAll => ("Discard all", "Discard all candidates. Their pictures stay in the gallery."),
            Self::Open | Self::OpenFile(_) => ("Open a canvas…", "Open a canvas that you saved."),
            Self::Save => ("Save the canvas", "Save the canvas, with all layers, to its file."),
            Self::SaveAs => ("Save the canvas as…", "Save the canvas, with all layers, to a new file."),
            Self::Export(CanvasExport::Png) => ("Export as PNG…", "Export the visible picture as a PNG file."),
            Self::Export(CanvasExport::Layers) => ("Export the layers…", "Export each layer as a PNG file to a folder."),
            Self::Export(CanvasExport::OpenRaster) => ("Export as OpenRaster…", "Export the layers for Krita and GIMP."),
            Self::HidePanels => ("Hide everything but the picture", "Show only the picture, or show everything again."),
            Self::FullScreen => ("Full screen", "Fill the screen, or go back to a window."),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        const NONE: &str = "There is no canvas. Press B to paint on a picture.";
        match self {
            Self::OpenBackup if state.recovery.waiting.is_empty() => return Err("There is no canvas of an earlier session."),
            Self::OpenBackup if state.recovery.reading.is_some() => return Err("A canvas is already being opened."),
            Self::ForDocument(number, _) | Self::ShowDocument(number) if !state.open_documents().any(|it| it.number == *number) => {
                return Err("This canvas is not open any more.");
            }
            Self::ForDocument(_, action) if *action != DocumentAction::Close && shared.dialog_open => {
                return Err("A file dialog is already open.");
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
            return Err("The canvas is in the Create view.");
        }
        let document = state.edited();
        let edited = document.ok_or(NONE);
        let in_sight = state.in_sight().ok_or(NONE);
        let candidate = || edited.and_then(|it| it.shown_candidate.map(drop).ok_or("There is no candidate."));
        let no_dialog = || (!shared.dialog_open).then_some(()).ok_or("A file dialog is already open.");
        match self {
            Self::CutOut => edited.and_then(|it| vision_models::can_cut_out(state, it)),
            Self::FindRegions => edited.and_then(|_| vision_models::can_find(state, shared)),
            Self::CancelVision => state.vision.as_ref().map(drop).ok_or("No model is looking at a canvas."),
            Self::GrowMask | Self::ShrinkMask | Self::FeatherMask => {
                edited.and_then(|it| it.selection().map(drop).ok_or("There is no mask. Press M and paint one."))
            }
            Self::MergeDown => edited.and_then(|it| {
                let layers = it.document.content().layers();
                let at = layers.iter().position(|layer| layer.id == it.document.content().current());
                let below = at.and_then(|at| at.checked_sub(1)).map(|below| (&layers[below], &layers[below + 1]));
                let can = below.is_some_and(|(below, above)| below.kind.is_like(&above.kind));
                can.then_some(()).ok_or("There is no layer of the same type directly below.")
            }),
            // It is meant for the canvas that is looked at.
            Self::SetTool(_) if state.looked_at().is_some() => Ok(()),
            Self::SetTool(Tool::Brush | Tool::Mask | Tool::Frame) => {
                let has_picture = document.is_some() || state.document.is_some() || state.shown.is_some();
                has_picture.then_some(()).ok_or("There is no picture yet.")
            }
            Self::Resume => (document.is_none() && state.document.is_some()).then_some(()).ok_or("There is no canvas to go back to."),
            Self::NextDocument => (!state.parked.is_empty()).then_some(()).ok_or("There is no other canvas."),
            Self::Reopen => (!state.closed.is_empty()).then_some(()).ok_or("No canvas was closed."),
            Self::Undo => edited.and_then(|it| it.document.next_undo().map(drop).ok_or("Nothing was changed yet.")),
            Self::Redo => edited.and_then(|it| it.document.next_redo().map(drop).ok_or("Nothing was undone.")),
            Self::SetKind(LayerKind::Control) | Self::AddLayer(LayerKind::Control) => {
                edited.and(shared.next.takes_control().then_some(()).ok_or("Choose a ControlNet among the model's files first."))
            }
            Self::SetKind(LayerKind::Reference) | Self::AddLayer(LayerKind::Reference) => edited.and_then(|_| shared.takes_references()),
            Self::GenerateRegions if edited.is_ok_and(|it| it.regions().next().is_none()) => {
                Err("All regions are empty. Add a region and paint on it.")
            }
            Self::Generate | Self::GenerateRegions => {
                edited.and(shared.next.ready().or_else(without_prompt).map_err(UnmetRequirement::sentence))
            }
            Self::Accept | Self::Discard | Self::DiscardAll | Self::NextCandidate | Self::PreviousCandidate => candidate(),
            Self::ToggleCopies if shared.seamless() == [false; 2] => {
                edited.and(Err("The picture is not seamless. Switch seamless tiling on first."))
            }
            Self::Open => no_dialog(),
            Self::Save | Self::SaveAs | Self::Export(_) => in_sight.map(drop).and_then(|()| no_dialog()),
            Self::Leave | Self::Close => in_sight.map(drop),
            Self::HidePanels => (document.is_some() || state.shown.is_some()).then_some(()).ok_or("There is no picture yet."),
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
