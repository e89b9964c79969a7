//! Commands of the Create view. Their effect is in [`crate::gui::create::update`]; nothing here
//! changes anything.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui::{ColorImage, Key, Modifiers};

use crate::gui::create::dropped::DroppedUse;
use crate::gui::create::larger::UpscaleMethod;
use crate::gui::create::panel_setting::{PANEL_SETTINGS, PanelSetting};
use crate::gui::create::save_dialog::SaveDialog;
use crate::gui::create::session::SessionPictureId;
use crate::gui::create::sheet::Direction;
use crate::gui::create::state::State;
use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::{Screen, Shared};
use crate::gui::shortcut::Shortcut;
use crate::gui::viewport::View;
use crate::settings::{Fold, PreviewChoice};
use atelier_core::placement::Change;
use atelier_core::recipe::{FileRole, ImageSource, RecallPart, Recipe};
use atelier_engine::JobId;
use atelier_gallery::PictureId;
use atelier_studio::next_recipe::UnmetRequirement;

/// A command of the Create view.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Make pictures with the recipe shown.
    Generate,
    /// Make pictures with the recipe shown once nothing else waits.
    Enqueue,
    /// Make pictures with the prompt shown once this model of the catalogue is on this disk.
    GenerateOnceHere {
        /// Its name in the catalogue.
        name: String,
        /// Its name as it is shown.
        label: String,
    },
    /// Make pictures with this recipe.
    GenerateWith(Box<Recipe>),
    /// Stop the picture that is forming.
    Cancel,
    /// Stop one of several pictures that form at the same time.
    CancelJob(JobId),
    /// Take every waiting picture out of the queue.
    ClearQueue,
    /// Put the cursor into the prompt.
    FocusPrompt,
    /// Add these words to the prompt and go on there.
    TypePrompt(String),
    /// Replace the recipe with an edited one.
    ChangeRecipe(Box<Recipe>),
    /// Give every setting but prompt and model the value that suits the model.
    ResetSettings,
    /// Exchange width and height.
    SwapSides,
    /// Show the setting with this number among [`PANEL_SETTINGS`].
    ShowSetting(usize),
    /// The setting that was asked for is in sight.
    SettingShown,
    /// Unfold a part of the settings, or fold it.
    SetFold(Fold, bool),
    /// Draw a random seed and keep it.
    RollSeed,
    /// Keep the last seed, or draw a new one for each picture again.
    LockSeed,
    /// Make the example picture of this index of the built-in model.
    MakeExample(usize),
    /// Make this many pictures at once; `None`: as many as are quick.
    SetCount(Option<u32>),
    /// Make the built-in model the one in use.
    UseBuiltin,
    /// Go from the built-in model to the person's own files.
    UseOwnFiles,
    /// Show the file dialog for model files of any role.
    AddFiles,
    /// Show the file dialog for this role.
    ChooseFile(FileRole),
    ClearFile(FileRole),
    /// Move the file from one role to another.
    MoveFile(FileRole, FileRole),
    /// Put the prompt of the picture before into the field.
    OlderPrompt,
    /// Go back towards the newest prompt.
    NewerPrompt,
    /// Raise the weight of the selected words, or lower it.
    WeighWords(bool),
    /// Switch the selected words off, or on again.
    SwitchWords,
    /// Put this earlier prompt into the field.
    UsePrompt(String),
    /// Search the earlier prompts.
    SearchPrompts(String),
    /// Identify files that were dropped, pasted or typed: each takes its place, and of a picture it
    /// is asked what it is for.
    TakePaths(Vec<PathBuf>),
    /// Ask what a pasted picture is for.
    TakeImage(Arc<ColorImage>),
    /// Use the dropped pictures for this.
    UseDropped(DroppedUse),
    /// Leave the dropped pictures.
    CloseDropped,
    /// Give a file whose role could not be guessed its role; `None` leaves it out.
    PlaceFile(PathBuf, Option<FileRole>),
    /// Open, change or close the field for a typed path.
    TypePath(Option<String>),
    /// Show the file dialog for a LoRA.
    AddLora,
    /// Add the LoRA of this file.
    UseLora(PathBuf),
    /// Show the file dialog for an embedding.
    AddEmbedding,
    /// Add the embedding of this file.
    UseEmbedding(PathBuf),
    /// Search the LoRAs of this disk.
    SearchLoras(String),
    /// Set the preview of forming pictures.
    SetPreview(PreviewChoice),
    /// Show this picture of the session.
    Show(SessionPictureId),
    /// Show the forming picture, then the newest.
    Follow,
    /// Mean this picture of the sheet, or none in particular.
    PointAt(Option<SessionPictureId>),
    /// Go to the next picture of the sheet in this direction, in so many columns.
    GoInSheet(Direction, usize),
    /// Show a picture of the sheet large.
    Enlarge,
    /// Show all pictures of the sheet again.
    BackToSheet,
    /// Pick the picture shown, or no longer.
    TogglePick,
    /// These pictures were picked in the gallery, or no longer.
    NotePicks(Vec<PictureId>, bool),
    /// Make neighbours of the picture shown in noise.
    NearSeeds,
    /// Make neighbours of the picture shown in words.
    NearWords,
    /// Mark the picture shown for comparing; compare it with the one that is marked.
    CompareShown,
    /// Move the picture shown to the trash.
    Trash,
    /// Take the picture back that went to the trash last.
    BringBack,
    /// What went to the trash here is no longer what went there last.
    ForgetTrash,
    /// Show the picture made after this one.
    Newer,
    /// Show the picture made before this one.
    Older,
    /// Take a part of the settings of the picture shown.
    Recall(RecallPart),
    /// Change this, and make the same picture again with the same seed.
    RepeatWithChange(SessionPictureId, Change),
    /// Show this step of the picture shown, from 1; the last one is the picture itself.
    ShowStep(u32),
    /// Begin the next picture with the steps of the picture shown up to the one in sight.
    GoOnFromStep,
    /// Make the picture shown again up to the step in sight, and the rest with noise of its own.
    RerollFromStep,
    /// Finish the draft shown.
    FinishDraft,
    /// Begin the next picture with its own first step again.
    ClearEarlierSteps,
    /// Turn the noise of the seed towards that of another one, or no longer.
    BlendSeeds(bool),
    /// Draw another second seed.
    RollSecondSeed,
    /// Stop pictures after some of their steps, or no longer.
    MakeDrafts(bool),
    /// Read the notes on the picture shown, or put them away.
    ShowNotes(bool),
    /// Start the next picture from the one shown.
    StartFromShown,
    /// Upscale the picture shown.
    Upscale(UpscaleMethod),
    /// Show this picture file and take its settings.
    OpenPicture(PathBuf),
    /// Have the model look at the picture shown.
    ReferenceShown,
    /// Write the picture shown to a file.
    SaveAs,
    /// Change or close the dialog in which a place is typed, or a quality chosen.
    SetSaveDialog(Option<Box<SaveDialog>>),
    /// Write the picture as the dialog says.
    Save,
    /// Put the picture shown on the clipboard.
    CopyPicture,
    /// Open the folder with the pictures.
    OpenFolder,
    ZoomIn,
    /// Look from farther away.
    ZoomOut,
    /// Show the whole picture.
    ZoomFit,
    /// One pixel of the picture to one of the screen.
    ZoomActual,
    /// The picture was moved or zoomed with the pointer.
    SetView(View),
}

impl Command {
    /// What can be done with a picture, in the order of its menu.
    pub const OF_PICTURE: [Self; 20] = [
        Self::TogglePick,
        Self::NearSeeds,
        Self::NearWords,
        Self::CompareShown,
        Self::Recall(RecallPart::All),
        Self::Recall(RecallPart::AllButSeed),
        Self::Recall(RecallPart::Prompt),
        Self::Recall(RecallPart::Seed),
        Self::Recall(RecallPart::Size),
        Self::Recall(RecallPart::Model),
        Self::StartFromShown,
        Self::ReferenceShown,
        Self::Upscale(UpscaleMethod::Plain),
        Self::Upscale(UpscaleMethod::Redraw),
        Self::Upscale(UpscaleMethod::Tiles),
        Self::FinishDraft,
        Self::CopyPicture,
        Self::SaveAs,
        Self::OpenFolder,
        Self::Trash,
    ];
}

/// Keys that act on the pictures of this session while no canvas is shown and nothing else has the
/// keyboard.
pub(crate) const PICTURE_KEYS: &[(Modifiers, Key, Command)] = &[
    (Modifiers::NONE, Key::Enter, Command::Enlarge),
    // As in InvokeAI.
    (Modifiers::NONE, Key::Period, Command::TogglePick),
    (Modifiers::NONE, Key::V, Command::NearSeeds),
    (Modifiers::SHIFT, Key::V, Command::NearWords),
    (Modifiers::NONE, Key::X, Command::CompareShown),
    (Modifiers::NONE, Key::Delete, Command::Trash),
];

/// Counts that are offered beside the button that makes pictures.
pub(crate) const COUNTS: [u32; 4] = [1, 2, 4, 8];

impl FeatureCommand for Command {
    type State = State;

    const KEYS: &'static [(Self, Shortcut)] = &[
        (Self::OpenFolder, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::O)),
        (Self::Enqueue, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Enter)),
        (Self::Generate, Shortcut::while_typing(Modifiers::COMMAND, Key::Enter)),
        (Self::Cancel, Shortcut::while_typing(Modifiers::NONE, Key::Escape)),
        (Self::OlderPrompt, Shortcut::while_typing(Modifiers::ALT, Key::ArrowUp)),
        (Self::NewerPrompt, Shortcut::while_typing(Modifiers::ALT, Key::ArrowDown)),
        (Self::WeighWords(true), Shortcut::while_typing(Modifiers::COMMAND, Key::ArrowUp)),
        (Self::WeighWords(false), Shortcut::while_typing(Modifiers::COMMAND, Key::ArrowDown)),
        (Self::SwitchWords, Shortcut::while_typing(Modifiers::COMMAND, Key::Slash)),
        (Self::FocusPrompt, Shortcut::while_typing(Modifiers::COMMAND, Key::L)),
        (Self::SwapSides, Shortcut::while_typing(Modifiers::COMMAND, Key::I)),
        (Self::RollSeed, Shortcut::while_typing(Modifiers::COMMAND, Key::R)),
        (Self::LockSeed, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::K)),
        (Self::AddFiles, Shortcut::while_typing(Modifiers::COMMAND, Key::O)),
        (Self::Recall(RecallPart::All), Shortcut::while_typing(Modifiers::COMMAND, Key::U)),
        (Self::SaveAs, Shortcut::while_typing(Modifiers::COMMAND, Key::S)),
        (Self::CopyPicture, Shortcut::when_idle(Modifiers::COMMAND, Key::C)),
        (Self::Newer, Shortcut::when_idle(Modifiers::NONE, Key::PageUp)),
        (Self::Older, Shortcut::when_idle(Modifiers::NONE, Key::PageDown)),
        (Self::ZoomIn, Shortcut::when_idle(Modifiers::NONE, Key::Plus)),
        (Self::ZoomOut, Shortcut::when_idle(Modifiers::NONE, Key::Minus)),
        (Self::ZoomFit, Shortcut::when_idle(Modifiers::NONE, Key::Num0)),
        (Self::ZoomActual, Shortcut::when_idle(Modifiers::NONE, Key::Num1)),
        // Where InvokeAI has such a command, its key.
        (Self::Recall(RecallPart::Prompt), Shortcut::when_idle(Modifiers::NONE, Key::P)),
        (Self::Recall(RecallPart::Seed), Shortcut::when_idle(Modifiers::NONE, Key::S)),
        (Self::Recall(RecallPart::AllButSeed), Shortcut::when_idle(Modifiers::NONE, Key::R)),
        (Self::Recall(RecallPart::Size), Shortcut::when_idle(Modifiers::NONE, Key::D)),
        (Self::Recall(RecallPart::Model), Shortcut::when_idle(Modifiers::SHIFT, Key::M)),
        (Self::StartFromShown, Shortcut::when_idle(Modifiers::NONE, Key::I)),
        (Self::ReferenceShown, Shortcut::when_idle(Modifiers::NONE, Key::F)),
        (Self::Upscale(UpscaleMethod::Redraw), Shortcut::when_idle(Modifiers::SHIFT, Key::U)),
        (Self::Upscale(UpscaleMethod::Plain), Shortcut::when_idle(Modifiers::NONE, Key::U)),
    ];

    const OFFERED: &'static [Self] = &[
        Self::ResetSettings,
        Self::UseBuiltin,
        Self::UseOwnFiles,
        Self::ClearQueue,
        Self::AddLora,
        Self::AddEmbedding,
        Self::Follow,
        Self::GoOnFromStep,
        Self::RerollFromStep,
        Self::FinishDraft,
        Self::ClearEarlierSteps,
        Self::BlendSeeds(true),
        Self::BlendSeeds(false),
        Self::RollSecondSeed,
        Self::MakeDrafts(true),
        Self::MakeDrafts(false),
        Self::Upscale(UpscaleMethod::Tiles),
        Self::BringBack,
        Self::BackToSheet,
        Self::SetCount(None),
        Self::SetCount(Some(1)),
        Self::SetCount(Some(2)),
        Self::SetCount(Some(4)),
        Self::SetCount(Some(8)),
    ];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Generate => {
                ("Generate", "Generate pictures with these settings. If one is being generated, the next waits in the queue.")
            }
            Self::Enqueue => {
                ("Add to queue", "Add pictures with these settings to the end of the queue. Queued jobs survive closing Atelier.")
            }
            Self::GenerateOnceHere { .. } => {
                ("Generate after the download", "Generate pictures with your prompt as soon as this model is downloaded.")
            }
            Self::GenerateWith(_) => ("Generate", "Generate pictures with these settings."),
            Self::Cancel => ("Cancel", "Stop the current picture. Finished pictures are kept."),
            Self::CancelJob(_) => ("Cancel", "Stop this picture. Finished pictures are kept, and other jobs continue."),
            Self::ClearQueue => ("Clear queue", "Remove all waiting pictures from the queue. The current picture continues."),
            Self::FocusPrompt => ("Go to the prompt", "Move the cursor to the prompt."),
            Self::TypePrompt(_) => ("Type into the prompt", "Add these words to the prompt."),
            Self::ChangeRecipe(_) => ("Change settings", "Change the settings of the next picture."),
            Self::ResetSettings => {
                ("Reset the settings", "Use the recommended settings of this model. Prompt, model and devices stay. Ctrl+Z undoes it.")
            }
            Self::SwapSides => ("Swap width and height", "Switch between portrait and landscape."),
            Self::ShowSetting(number) => PANEL_SETTINGS.get(*number).map_or(("", ""), PanelSetting::words),
            Self::SetFold(fold, opens) => (fold.label(*opens), "Show these settings, or a line that sums them up."),
            Self::SettingShown => ("Shown", "The setting is in sight."),
            Self::RollSeed => ("Roll a new seed", "Choose a random seed and keep it for the next pictures."),
            Self::LockSeed => {
                ("Keep this seed", "Lock the seed, so that only your changes matter. Unlocked, each picture gets a new seed.")
            }
            Self::MakeExample(_) => ("Make this picture", "Make this picture with its own prompt and seed."),
            Self::SetCount(None) => {
                ("As many as are quick", "Make four pictures at once where they take less than ten seconds together, else one.")
            }
            Self::SetCount(Some(1)) => ("1 picture", "Make one picture at once (batch count)."),
            Self::SetCount(Some(2)) => ("2 pictures", "Make two pictures at once (batch count)."),
            Self::SetCount(Some(4)) => ("4 pictures", "Make four pictures at once (batch count)."),
            Self::SetCount(Some(8)) => ("8 pictures", "Make eight pictures at once (batch count)."),
            Self::SetCount(Some(_)) => ("Number of pictures", "Make so many pictures at once (batch count)."),
            Self::PointAt(_) => ("Point at this picture", "Point at this picture."),
            Self::GoInSheet(..) => ("Go to the next picture", "Go to the next picture in this direction. Use the arrow keys."),
            Self::Enlarge => ("Show large", "Show this picture large. Escape goes back."),
            Self::BackToSheet => ("Back to all pictures", "Show the pictures side by side again. Escape does the same."),
            Self::TogglePick => ("Pick", "Star this picture: it stays when you generate again, and is picked in the gallery."),
            Self::NotePicks(..) => ("Pick", "Star these pictures."),
            Self::NearSeeds => ("More like this", "Make four variations of this picture, with noise near its own."),
            Self::NearWords => ("More like this, in words", "Make variations of this picture that each stress other words of its prompt."),
            Self::CompareShown => ("Compare", "Compare two pictures: choose this for one, then for the other."),
            Self::Trash => ("Move to the trash", "Move this picture to the system's trash. Ctrl+Z takes it back."),
            Self::BringBack => ("Bring back the last deleted picture", "Take back the picture that was last moved to the trash."),
            Self::ForgetTrash => ("Keep in the trash", "Leave pictures in the trash."),
            Self::OlderPrompt => ("Older prompt", "Load the prompt of the previous picture."),
            Self::NewerPrompt => ("Newer prompt", "Load the next newer prompt."),
            Self::WeighWords(true) => ("More weight", "Give the word at the caret, or the selected words, a larger weight."),
            Self::WeighWords(false) => ("Less weight", "Give the word at the caret, or the selected words, a smaller weight."),
            Self::SwitchWords => (
                "Switch words off or on",
                "Make the part at the caret, or the selected words, a comment that no model reads, or words again.",
            ),
            Self::UsePrompt(_) => ("Use this prompt", "Load this prompt."),
            Self::SearchPrompts(_) => ("Search prompts", "Search the prompts of earlier pictures."),
            Self::UseBuiltin => (
                "Use the built-in model",
                "Use the model included with Atelier, with its recommended settings. Your own files are remembered.",
            ),
            Self::UseOwnFiles => ("Use my own files", "Use your own model files. The built-in model stays available."),
            Self::AddFiles => ("Add model files", "Choose model files. Atelier detects the role of each file."),
            Self::ChooseFile(_) => ("Choose another file", "Choose another file for this part of the model."),
            Self::ClearFile(_) => ("Remove this file", "Remove this file from the model. The file on disk is kept."),
            Self::MoveFile(..) => ("Change the role of this file", "Use this file for another part of the model."),
            Self::TakePaths(_) => ("Add", "Add the file with this path."),
            Self::TakeImage(_) => ("Paste picture", "Use the picture on the clipboard."),
            Self::UseDropped(DroppedUse::Settings) => ("Use its settings", "Load the settings stored in this picture."),
            Self::UseDropped(DroppedUse::Start) => {
                ("Start from it", "Use this picture as the start picture of the next one (image to image).")
            }
            Self::UseDropped(DroppedUse::Reference) => {
                ("Use it as reference", "Use this picture as a reference for the next one. Needs an edit model.")
            }
            Self::UseDropped(DroppedUse::Control) => ("Steer by it", "Use this picture as the control picture of the ControlNet."),
            Self::UseDropped(DroppedUse::Gallery) => {
                ("Add to the gallery", "Copy this picture into your pictures folder, so that the gallery finds it.")
            }
            Self::UseDropped(DroppedUse::Person) => ("Show a person", "Use PhotoMaker to show the person of this picture in the next one."),
            Self::CloseDropped => ("Close", "Do not use this picture."),
            Self::PlaceFile(_, Some(_)) => ("Use this file", "Use this file for this part of the model."),
            Self::PlaceFile(_, None) => ("Leave this file out", "Do not use this file."),
            Self::TypePath(_) => ("Type a path", "Type or paste the path of a file."),
            Self::AddLora => ("Choose a file…", "Choose the file of a LoRA that is not in the library."),
            Self::UseLora(_) => ("Add this LoRA", "Use this LoRA for the next pictures, with strength 1."),
            Self::AddEmbedding => ("Choose an embedding…", "Choose the file of an embedding that is not in the library."),
            Self::UseEmbedding(_) => ("Add this embedding", "Add this embedding. Write its name in a prompt to use it."),
            Self::SearchLoras(_) => ("Search LoRAs", "Search the LoRAs of this disk."),
            Self::SetPreview(choice) => (choice.label(), choice.tooltip()),
            Self::Show(_) => ("Show this picture", "Show this picture."),
            Self::Follow => ("Show the current picture", "Show the picture being generated, then the newest one."),
            Self::Newer => ("Newer picture", "Show the next newer picture."),
            Self::Older => ("Older picture", "Show the next older picture."),
            Self::Recall(part) => (part.label(), part.tooltip()),
            Self::RepeatWithChange(..) => {
                ("Apply and run the same seed", "Apply this change and generate the picture again with the same seed.")
            }
            Self::ShowStep(_) => ("Show this step", "Show how the picture looked after this step."),
            Self::GoOnFromStep => (
                "Continue from here",
                "Start the next picture with the steps up to this one, then continue with the current prompt, guidance and LoRAs.",
            ),
            Self::RerollFromStep => {
                ("New details", "Regenerate this picture: the same up to this step, the rest with new noise. Earlier steps change more.")
            }
            Self::FinishDraft => ("Finish this draft", "Run the remaining steps of this draft."),
            Self::BlendSeeds(true) => (
                "Blend with a second seed",
                "Variation seed: blend the noise of this seed with that of another seed, for small or large variations.",
            ),
            Self::BlendSeeds(false) => ("Use one seed", "Use the noise of one seed only."),
            Self::RollSecondSeed => ("Roll a new second seed", "Choose another random variation seed."),
            Self::MakeDrafts(true) => (
                "Stop early, as drafts",
                "Stop each picture after some steps and show it as a draft. Make many, then finish the ones you like.",
            ),
            Self::MakeDrafts(false) => ("Finish each picture", "Run all steps of each picture."),
            Self::ClearEarlierSteps => ("Start over", "Start the next picture from its own first step."),
            Self::ShowNotes(true) => ("Show the notes", "Show changes and problems of this picture."),
            Self::ShowNotes(false) => ("Hide the notes", "Hide the notes. The mark on the picture stays."),
            Self::StartFromShown => ("Start from this picture", "Use this picture as the start picture of the next one (image to image)."),
            Self::Upscale(way) => way.words(),
            Self::OpenPicture(_) => ("Open", "Show this picture and load its settings."),
            Self::ReferenceShown => ("Use as reference", "Use this picture as a reference for the next one. Needs an edit model."),
            Self::SaveAs => {
                ("Save as…", "Save a copy of this picture as PNG, JPEG or WebP: the ending decides. It is already in your pictures folder.")
            }
            Self::SetSaveDialog(_) => ("Cancel", "Save nothing."),
            Self::Save => ("Save", "Save the picture there."),
            Self::CopyPicture => ("Copy picture", "Copy this picture to the clipboard."),
            Self::OpenFolder => ("Show in folder", "Show this picture's file in your pictures folder."),
            Self::ZoomIn => ("Zoom in", "Look closer."),
            Self::ZoomOut => ("Zoom out", "Look from farther away."),
            Self::ZoomFit => ("Fit to window", "Show the whole picture."),
            Self::ZoomActual => ("Actual size", "Show one picture pixel per screen pixel."),
            Self::SetView(_) => ("Move the picture", "Scroll to zoom, drag to move, double-click to fit."),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::Generate | Self::Enqueue => shared.next.ready().map_err(UnmetRequirement::sentence),
            Self::Cancel => shared.jobs.running().map(drop).ok_or("Nothing is being generated."),
            Self::ClearQueue => shared.queue.waiting().next().map(drop).ok_or("Nothing waits."),
            Self::CancelJob(id) => shared.jobs.at_work().find(|job| job.id == *id).map(drop).ok_or("Already finished."),
            Self::UseBuiltin if shared.next.builtin.is_err() => Err("The built-in model is missing. Reinstall Atelier to restore it."),
            Self::UseBuiltin => (!shared.next.uses_builtin()).then_some(()).ok_or("The built-in model is already in use."),
            Self::UseOwnFiles => shared.next.uses_builtin().then_some(()).ok_or("Your own files are already in use."),
            Self::OlderPrompt | Self::NewerPrompt | Self::WeighWords(_) | Self::SwitchWords if shared.screen != Screen::Create => {
                Err("The prompt is in the Create view.")
            }
            Self::OlderPrompt if state.prompts.prompts().is_empty() => Err("There is no earlier prompt."),
            Self::AddFiles | Self::ChooseFile(_) | Self::AddLora | Self::AddEmbedding => {
                (!shared.dialog_open).then_some(()).ok_or("A file dialog is already open.")
            }
            Self::ReferenceShown => {
                state.session.shown().ok_or("There is no picture yet.")?;
                shared.takes_references()
            }
            Self::SaveAs => {
                state.session.shown().map(drop).ok_or("There is no picture yet.")?;
                (!shared.dialog_open).then_some(()).ok_or("A file dialog is already open.")
            }
            Self::Save => {
                let dialog = state.save_dialog.as_ref().ok_or("There is no question.")?;
                (!dialog.path.trim().is_empty()).then_some(()).ok_or("Type a place first.")
            }
            Self::Recall(RecallPart::Model) => {
                let picture = state.session.shown().ok_or("There is no picture yet.")?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or("The model of this picture is not on this machine.")
            }
            Self::Upscale(UpscaleMethod::Redraw | UpscaleMethod::Tiles) | Self::NearSeeds | Self::NearWords => {
                let picture = state.session.shown().ok_or("There is no picture yet.")?;
                let has_model = !picture.recipe.files.is_empty() || !shared.next.recipe.files.is_empty();
                has_model.then_some(()).ok_or("Choose a model first.")
            }
            Self::Recall(_)
            | Self::StartFromShown
            | Self::CopyPicture
            | Self::Upscale(UpscaleMethod::Plain)
            | Self::TogglePick
            | Self::CompareShown
            | Self::Trash => state.session.shown().map(drop).ok_or("There is no picture yet."),
            Self::Enlarge => state.shows_sheet().then_some(()).ok_or("The picture is large already."),
            Self::BackToSheet => state.goes_back_to_sheet().then_some(()).ok_or("There is one picture only."),
            Self::BringBack => (!state.trashed.is_empty()).then_some(()).ok_or("No picture went to the trash."),
            Self::GoInSheet(..) => state.sheet.is_several().then_some(()).ok_or("There is one picture only."),
            Self::UseDropped(DroppedUse::Settings) => {
                let opened = state.dropped.as_ref().and_then(|dropped| dropped.opened.as_ref());
                opened.map(drop).ok_or("This picture contains no settings.")
            }
            Self::UseDropped(DroppedUse::Gallery) => {
                let is_file = |image: &ImageSource| matches!(image, ImageSource::File(_));
                let has_files = state.dropped.as_ref().is_some_and(|dropped| dropped.images.iter().all(is_file));
                has_files.then_some(()).ok_or("A pasted picture has no file.")
            }
            Self::UseDropped(DroppedUse::Reference) => {
                state.dropped.as_ref().ok_or("There is no picture.")?;
                shared.takes_references()
            }
            Self::UseDropped(DroppedUse::Person) => {
                state.dropped.as_ref().ok_or("There is no picture.")?;
                shared.takes_person()
            }
            Self::UseDropped(_) => state.dropped.as_ref().map(drop).ok_or("There is no picture."),
            Self::GoOnFromStep | Self::RerollFromStep => {
                let shown = state.step_in_sight().ok_or("Choose an earlier step of a picture first, with the slider below it.")?;
                let picture = state.session.get(shown.id).ok_or("There is no picture yet.")?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or("The model of this picture is not on this machine.")
            }
            Self::ClearEarlierSteps => (!shared.next.recipe.earlier_steps.is_empty())
                .then_some(())
                .ok_or("The next picture already starts from its own first step."),
            Self::FinishDraft => {
                let picture = state.session.shown().ok_or("There is no picture yet.")?;
                picture.recipe.draft_step().ok_or("This picture is already finished. To make drafts, turn on Stop early.")?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or("The model of this picture is not on this machine.")
            }
            Self::BlendSeeds(true) => shared.next.recipe.seed_blend.is_none().then_some(()).ok_or("A second seed is already used."),
            Self::BlendSeeds(false) | Self::RollSecondSeed => shared.next.recipe.seed_blend.map(drop).ok_or("Only one seed is used."),
            Self::MakeDrafts(true) if shared.next.recipe.steps < 2 => Err("A picture of one step cannot stop earlier."),
            Self::MakeDrafts(true) => shared.next.recipe.last_step.is_none().then_some(()).ok_or("Pictures already stop early."),
            Self::MakeDrafts(false) => shared.next.recipe.last_step.map(drop).ok_or("All steps are already run."),
            Self::Newer => state.session.newer().map(drop).ok_or("This is the newest picture."),
            Self::Older => state.session.older().map(drop).ok_or("This is the oldest picture."),
            Self::ZoomIn | Self::ZoomOut | Self::ZoomFit | Self::ZoomActual => {
                state.canvas_size_px().map(drop).ok_or("There is no picture yet.")
            }
            Self::ShowSetting(number) => {
                let used_as = PANEL_SETTINGS.get(*number).and_then(|it| it.used_as);
                used_as.filter(|setting| !shared.uses(*setting)).map_or(Ok(()), |_| Err("The chosen model has no use for it."))
            }
            Self::GenerateWith(_)
            | Self::GenerateOnceHere { .. }
            | Self::Follow
            | Self::FocusPrompt
            | Self::TypePrompt(_)
            | Self::RepeatWithChange(..)
            | Self::ShowNotes(_)
            | Self::ShowStep(_)
            | Self::ChangeRecipe(_)
            | Self::MakeExample(_)
            | Self::SetCount(_)
            | Self::PointAt(_)
            | Self::NotePicks(..)
            | Self::ForgetTrash
            | Self::SwapSides
            | Self::ResetSettings
            | Self::SettingShown
            | Self::SetFold(..)
            | Self::SetSaveDialog(_)
            | Self::RollSeed
            | Self::LockSeed
            | Self::ClearFile(_)
            | Self::MoveFile(..)
            | Self::TakePaths(_)
            | Self::TakeImage(_)
            | Self::OlderPrompt
            | Self::NewerPrompt
            | Self::WeighWords(_)
            | Self::SwitchWords
            | Self::UsePrompt(_)
            | Self::SearchPrompts(_)
            | Self::CloseDropped
            | Self::PlaceFile(..)
            | Self::TypePath(_)
            | Self::UseLora(_)
            | Self::UseEmbedding(_)
            | Self::SearchLoras(_)
            | Self::SetPreview(_)
            | Self::Show(_)
            | Self::OpenFolder
            | Self::OpenPicture(_)
            | Self::SetView(_) => Ok(()),
        }
    }
}
