//! Commands of the Create view. Their effect is in [`crate::gui::create::update`]; nothing here changes anything.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui::{ColorImage, Key, Modifiers};

use crate::gui::create::dropped::DroppedUse;
use crate::gui::create::larger::Enlargement;
use crate::gui::create::presets::PresetDraft;
use crate::gui::create::session::PictureId;
use crate::gui::create::state::State;
use crate::gui::shared::{Screen, Shared, UnmetRequirement};
use crate::gui::shortcut::Shortcut;
use crate::gui::viewport::View;
use crate::settings::PreviewChoice;
use atelier_core::placement::Change;
use atelier_core::recipe::{FileRole, ImageSource, Person, RecallPart, Recipe};
use atelier_engine::JobId;
use atelier_studio::presets::TakenNames;

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
    /// Replace the recipe with an edited one.
    ChangeRecipe(Box<Recipe>),
    /// Exchange width and height.
    SwapSides,
    /// Draw a random seed and keep it.
    RollSeed,
    /// Keep the last seed, or draw a new one for each picture again.
    LockSeed,
    /// Put this example into the prompt.
    TryPrompt(&'static str),
    /// Make the built-in model the one in use.
    UseBuiltin,
    /// Go from the built-in model to the person's own files.
    UseOwnFiles,
    /// Show the file dialog for model files of any role.
    AddFiles,
    /// Show the file dialog for this role.
    ChooseFile(FileRole),
    /// Empty this role.
    ClearFile(FileRole),
    /// Move the file from one role to another.
    MoveFile(FileRole, FileRole),
    /// Put the prompt of the picture before into the field.
    OlderPrompt,
    /// Go back towards the newest prompt.
    NewerPrompt,
    /// Put this earlier prompt into the field.
    UsePrompt(String),
    /// Search the earlier prompts.
    SearchPrompts(String),
    /// Apply the preset of this name.
    ApplyPreset(String),
    /// Open the dialog that saves a preset, edit it, or close it.
    EditPreset(Option<Box<PresetDraft>>),
    /// Save the preset of the dialog.
    SavePreset,
    /// Delete the preset of this name.
    DeletePreset(String),
    /// Show the file dialog for A1111's list of styles.
    ImportStyles,
    /// Import the styles of a list, with this for those whose names are taken; or none of them.
    AnswerImport(Option<TakenNames>),
    /// Identify files that were dropped, pasted or typed: each takes its place, and of a picture it is asked what it is for.
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
    /// Show the file dialog for the picture to start from.
    ChooseStart,
    /// Start from nothing again.
    ClearStart,
    /// Show the file dialog for the mask.
    ChooseMask,
    /// Paint the whole picture anew.
    ClearMask,
    /// Show the file dialog for a reference picture.
    AddReference,
    /// Remove the reference picture of this index.
    RemoveReference(usize),
    /// Show the file dialog for the picture of the ControlNet.
    ChooseControl,
    /// Remove the picture of the ControlNet.
    ClearControl,
    /// Show the file dialog for pictures of a person.
    AddPerson,
    /// Remove the picture of the person of this index.
    RemovePerson(usize),
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
    Show(PictureId),
    /// Show the forming picture, then the newest.
    Follow,
    /// Show the picture made after this one.
    Newer,
    /// Show the picture made before this one.
    Older,
    /// Take a part of the settings of the picture shown.
    Recall(RecallPart),
    /// Change this, and make the same picture again with the same seed.
    RepeatWithChange(PictureId, Change),
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
    /// Enlarge the picture shown.
    Enlarge(Enlargement),
    /// Show this picture file and take its settings.
    OpenPicture(PathBuf),
    /// Start the next picture from this file.
    StartFromFile(PathBuf),
    /// Have the model look at the picture shown.
    ReferenceShown,
    /// Write the picture shown to a file.
    SaveAs,
    /// Put the picture shown on the clipboard.
    CopyPicture,
    /// Open the folder with the pictures.
    OpenFolder,
    /// Look closer.
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
    /// The keys. Those with more modifiers come before those with fewer.
    pub const KEYS: &[(Self, Shortcut)] = &[
        (Self::OpenFolder, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::O)),
        (Self::Enqueue, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Enter)),
        (Self::Generate, Shortcut::while_typing(Modifiers::COMMAND, Key::Enter)),
        (Self::Cancel, Shortcut::while_typing(Modifiers::NONE, Key::Escape)),
        (Self::OlderPrompt, Shortcut::while_typing(Modifiers::ALT, Key::ArrowUp)),
        (Self::NewerPrompt, Shortcut::while_typing(Modifiers::ALT, Key::ArrowDown)),
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
        (Self::Enlarge(Enlargement::Redraw), Shortcut::when_idle(Modifiers::SHIFT, Key::U)),
        (Self::Enlarge(Enlargement::Plain), Shortcut::when_idle(Modifiers::NONE, Key::U)),
    ];

    /// Commands without a key that the command palette offers.
    pub const OFFERED: &[Self] = &[
        Self::UseBuiltin,
        Self::UseOwnFiles,
        Self::ClearQueue,
        Self::ImportStyles,
        Self::ChooseStart,
        Self::ClearStart,
        Self::ChooseMask,
        Self::ClearMask,
        Self::AddReference,
        Self::ChooseControl,
        Self::ClearControl,
        Self::AddPerson,
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
        Self::Enlarge(Enlargement::Tiles),
    ];

    /// What can be done with a picture, in the order of its menu.
    pub const OF_PICTURE: [Self; 13] = [
        Self::Recall(RecallPart::All),
        Self::Recall(RecallPart::AllButSeed),
        Self::Recall(RecallPart::Prompt),
        Self::Recall(RecallPart::Seed),
        Self::Recall(RecallPart::Size),
        Self::Recall(RecallPart::Model),
        Self::StartFromShown,
        Self::ReferenceShown,
        Self::Enlarge(Enlargement::Plain),
        Self::Enlarge(Enlargement::Redraw),
        Self::Enlarge(Enlargement::Tiles),
        Self::CopyPicture,
        Self::SaveAs,
    ];

    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.words().0
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub fn tooltip(&self) -> &'static str {
        self.words().1
    }

    /// Label and tooltip.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Generate => ("Generate", "Make pictures with these settings. While one forms, the next waits its turn."),
            Self::Enqueue => (
                "Add to queue",
                "Make pictures with these settings after those that you wait for. They are made even if Atelier is closed in between.",
            ),
            Self::GenerateOnceHere { .. } => {
                ("Generate once it is here", "Make pictures with your prompt as soon as this model is on this disk.")
            }
            Self::GenerateWith(_) => ("Generate", "Make pictures with these settings."),
            Self::Cancel => ("Cancel", "Stop the picture that is forming. Finished pictures are kept."),
            Self::CancelJob(_) => ("Cancel", "Stop this picture. Finished ones are kept, and others go on."),
            Self::ClearQueue => ("Clear queue", "Take every waiting picture out of the queue. The forming one goes on."),
            Self::FocusPrompt => ("Go to the prompt", "Put the cursor into the prompt."),
            Self::ChangeRecipe(_) => ("Change settings", "Change the settings of the next picture."),
            Self::SwapSides => ("Swap width and height", "Turn portrait into landscape, and back."),
            Self::RollSeed => ("Roll a new seed", "Draw a new seed and keep it for the next pictures."),
            Self::LockSeed => {
                ("Keep this seed", "Keep this seed, so that only what you change changes. Unlocked, each picture gets a new one.")
            }
            Self::TryPrompt(example) => (example, "Put these words into the prompt."),
            Self::OlderPrompt => ("Older prompt", "Put the prompt of the picture before into the field."),
            Self::NewerPrompt => ("Newer prompt", "Go back towards your newest prompt."),
            Self::UsePrompt(_) => ("Use this prompt", "Put this prompt into the field."),
            Self::SearchPrompts(_) => ("Search prompts", "Search the prompts of earlier pictures."),
            Self::ApplyPreset(_) => ("Apply a style", "Apply this style to the settings."),
            Self::EditPreset(Some(_)) => ("Save as a style", "Save some of these settings under a name, to apply them again."),
            Self::EditPreset(None) => ("Cancel", "Save nothing."),
            Self::SavePreset => ("Save style", "Save these parts of the settings under this name."),
            Self::DeletePreset(_) => ("Delete style", "Move this style to your system's trash."),
            Self::AnswerImport(Some(TakenNames::Replace)) => {
                ("Replace", "Replace your styles of these names. They go to your system's trash.")
            }
            Self::AnswerImport(Some(TakenNames::KeepBoth)) => {
                ("Keep both", "Keep your styles, and add these with a number behind the name.")
            }
            Self::AnswerImport(Some(TakenNames::Skip)) => ("Skip", "Keep your styles, and import only the others."),
            Self::AnswerImport(None) => ("Cancel", "Import nothing."),
            Self::ImportStyles => ("Import styles.csv…", "Add the styles of A1111's list."),
            Self::UseBuiltin => (
                "Use the built-in model",
                "Use the model that comes with Atelier, with the settings that suit it. Your own files are remembered.",
            ),
            Self::UseOwnFiles => ("Use my own files", "Use model files of your own. The built-in model stays at hand."),
            Self::AddFiles => ("Add model files", "Choose model files. Atelier finds out what each one is for."),
            Self::ChooseFile(_) => ("Choose another file", "Choose another file for this part of the model."),
            Self::ClearFile(_) => ("Remove this file", "Take this file out of the model. The file itself stays where it is."),
            Self::MoveFile(..) => ("Change what this file is for", "Use this file for another part of the model."),
            Self::TakePaths(_) => ("Add", "Add the file with this path."),
            Self::TakeImage(_) => ("Paste picture", "Use the picture of the clipboard."),
            Self::UseDropped(DroppedUse::Settings) => ("Use its settings", "Take over what the picture tells of how it was made."),
            Self::UseDropped(DroppedUse::Start) => ("Start from it", "Use this picture as the start of the next one."),
            Self::UseDropped(DroppedUse::Reference) => {
                ("Use it as reference", "Have an edit model look at this picture when it makes the next one.")
            }
            Self::UseDropped(DroppedUse::Control) => ("Steer by it", "Let this picture steer the next one through the ControlNet."),
            Self::UseDropped(DroppedUse::Gallery) => {
                ("Add to the gallery", "Copy this picture into your pictures folder, so that the gallery finds it.")
            }
            Self::UseDropped(DroppedUse::Person) => {
                ("Show a person", "Let the PhotoMaker bring the person of this picture into the next one.")
            }
            Self::CloseDropped => ("Close", "Do nothing with this picture."),
            Self::PlaceFile(_, Some(_)) => ("Use this file", "Use this file for this part of the model."),
            Self::PlaceFile(_, None) => ("Leave this file out", "Do not use this file."),
            Self::TypePath(_) => ("Type a path", "Type or paste the path of a file."),
            Self::ChooseStart => ("Choose a picture", "Choose a picture to start from."),
            Self::ClearStart => ("Remove start picture", "Start from nothing. The file itself stays where it is."),
            Self::ChooseMask => ("Choose a mask", "Choose a mask: white is painted anew, black is kept."),
            Self::ClearMask => ("Remove mask", "Paint the whole picture anew."),
            Self::AddReference => ("Add a reference picture", "Choose a picture that an edit model looks at."),
            Self::RemoveReference(_) => ("Remove reference picture", "Do without this picture. The file itself stays where it is."),
            Self::ChooseControl => ("Choose a control picture", "Choose the picture that steers through the ControlNet."),
            Self::ClearControl => ("Remove control picture", "Do without this picture. The file itself stays where it is."),
            Self::AddPerson => {
                ("Add a picture of a person", "Choose pictures of a person whom the PhotoMaker brings into the next picture.")
            }
            Self::RemovePerson(_) => ("Remove picture of the person", "Do without this picture. The file itself stays where it is."),
            Self::AddLora => ("Choose a file…", "Choose the file of a LoRA that is not in the library."),
            Self::UseLora(_) => ("Add this LoRA", "Use this LoRA for the next pictures, with strength 1."),
            Self::AddEmbedding => ("Choose an embedding…", "Choose the file of an embedding that is not in the library."),
            Self::UseEmbedding(_) => ("Add this embedding", "Have this embedding at hand. It works where a prompt names it."),
            Self::SearchLoras(_) => ("Search LoRAs", "Search the LoRAs of this disk."),
            Self::SetPreview(choice) => (choice.label(), choice.tooltip()),
            Self::Show(_) => ("Show this picture", "Show this picture."),
            Self::Follow => ("Show the forming picture", "Show the picture that is forming, then the newest."),
            Self::Newer => ("Newer picture", "Show the picture that was made after this one."),
            Self::Older => ("Older picture", "Show the picture that was made before this one."),
            Self::Recall(part) => (part.label(), part.tooltip()),
            Self::RepeatWithChange(..) => {
                ("Apply and run the same seed", "Change this, and make the same picture again with the same seed.")
            }
            Self::ShowStep(_) => ("Show this step", "Show how the picture looked after this step."),
            Self::GoOnFromStep => (
                "Go on from here",
                "Begin the next picture with the steps up to this one, and go on with the prompt, guidance and LoRAs of the settings.",
            ),
            Self::RerollFromStep => (
                "New details",
                "Make this picture again: the same up to this step, and the rest with new noise. The earlier the step, the more changes.",
            ),
            Self::FinishDraft => ("Finish this draft", "Run the rest of this draft's steps. The steps that it has are not made again."),
            Self::BlendSeeds(true) => (
                "Blend with a second seed",
                "Keep the seed, and turn its noise towards that of another one: pictures like the last one, a little or much changed.",
            ),
            Self::BlendSeeds(false) => ("Use one seed", "Draw the noise from one seed alone."),
            Self::RollSecondSeed => ("Roll a new second seed", "Draw another seed to blend with."),
            Self::MakeDrafts(true) => (
                "Stop early, as drafts",
                "Stop each picture after some of its steps and show it as it is. Make many, choose, and finish only those you like.",
            ),
            Self::MakeDrafts(false) => ("Finish each picture", "Run all steps of each picture."),
            Self::ClearEarlierSteps => ("Begin anew", "Begin the next picture with its own first step again."),
            Self::ShowNotes(true) => ("Show the notes", "Read what was changed for this picture or went wrong with it."),
            Self::ShowNotes(false) => ("Put the notes away", "Put the notes away. The mark on the picture stays."),
            Self::StartFromShown | Self::StartFromFile(_) => ("Start from this picture", "Use this picture as the start of the next one."),
            Self::Enlarge(way) => way.words(),
            Self::OpenPicture(_) => ("Open", "Show this picture and take over its settings."),
            Self::ReferenceShown => ("Use as reference", "Have an edit model look at this picture when it makes the next one."),
            Self::SaveAs => ("Save as…", "Save this picture where you like. It is already kept in your pictures folder."),
            Self::CopyPicture => ("Copy picture", "Put this picture on the clipboard."),
            Self::OpenFolder => ("Open pictures folder", "Open the folder in which your pictures are kept."),
            Self::ZoomIn => ("Zoom in", "Look closer."),
            Self::ZoomOut => ("Zoom out", "Look from farther away."),
            Self::ZoomFit => ("Fit to window", "Show the whole picture."),
            Self::ZoomActual => ("Actual size", "Show one pixel of the picture on one of the screen."),
            Self::SetView(_) => ("Move the picture", "Scroll to zoom, drag to move, double-click to fit."),
        }
    }

    /// `Ok` if it can be done now.
    ///
    /// # Errors
    /// The sentence about the first thing that is missing.
    pub fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::Generate | Self::Enqueue => shared.ready().map_err(UnmetRequirement::sentence),
            Self::Cancel => shared.jobs.running().map(drop).ok_or("Nothing is forming now."),
            Self::ClearQueue => shared.queue.waiting().next().map(drop).ok_or("Nothing waits."),
            Self::CancelJob(id) => shared.jobs.at_work().find(|job| job.id == *id).map(drop).ok_or("It is over."),
            Self::UseBuiltin if shared.builtin.is_err() => Err("The built-in model is not there. Reinstall Atelier to get it back."),
            Self::UseBuiltin => (!shared.uses_builtin()).then_some(()).ok_or("The built-in model is in use."),
            Self::UseOwnFiles => shared.uses_builtin().then_some(()).ok_or("Your own files are in use."),
            Self::OlderPrompt | Self::NewerPrompt if shared.screen != Screen::Create => Err("The prompt is in the Create view."),
            Self::OlderPrompt if state.prompts.prompts().is_empty() => Err("There is no earlier prompt."),
            Self::SavePreset => {
                let draft = state.presets.draft.as_ref().ok_or("Nothing is to be saved.")?;
                if draft.name.trim().is_empty() {
                    return Err("Give the style a name.");
                }
                (!draft.parts.is_empty()).then_some(()).ok_or("Choose at least one part of the settings.")
            }
            Self::AddFiles
            | Self::ImportStyles
            | Self::AnswerImport(_)
            | Self::ChooseFile(_)
            | Self::ChooseStart
            | Self::ChooseMask
            | Self::ChooseControl
            | Self::AddLora
            | Self::AddEmbedding => (!shared.dialog_open).then_some(()).ok_or("A file dialog is open already."),
            Self::AddReference => {
                shared.takes_references()?;
                (!shared.dialog_open).then_some(()).ok_or("A file dialog is open already.")
            }
            Self::AddPerson => {
                shared.takes_person()?;
                let has_room = shared.recipe.person.images.len() < Person::MOST_IMAGES;
                has_room.then_some(()).ok_or("There are as many pictures of the person as PhotoMaker takes.")?;
                (!shared.dialog_open).then_some(()).ok_or("A file dialog is open already.")
            }
            Self::ReferenceShown => {
                state.session.shown().ok_or("There is no picture yet.")?;
                shared.takes_references()
            }
            Self::SaveAs => {
                state.session.shown().map(drop).ok_or("There is no picture yet.")?;
                (!shared.dialog_open).then_some(()).ok_or("A file dialog is open already.")
            }
            Self::Recall(RecallPart::Model) => {
                let picture = state.session.shown().ok_or("There is no picture yet.")?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or("The model of this picture is not on this machine.")
            }
            Self::Enlarge(Enlargement::Redraw | Enlargement::Tiles) => {
                let picture = state.session.shown().ok_or("There is no picture yet.")?;
                let has_model = !picture.recipe.files.is_empty() || !shared.recipe.files.is_empty();
                has_model.then_some(()).ok_or("Choose a model first.")
            }
            Self::Recall(_) | Self::StartFromShown | Self::CopyPicture | Self::Enlarge(Enlargement::Plain) => {
                state.session.shown().map(drop).ok_or("There is no picture yet.")
            }
            Self::UseDropped(DroppedUse::Settings) => {
                let opened = state.dropped.as_ref().and_then(|dropped| dropped.opened.as_ref());
                opened.map(drop).ok_or("It tells nothing of how it was made.")
            }
            Self::UseDropped(DroppedUse::Gallery) => {
                let is_file = |image: &ImageSource| matches!(image, ImageSource::File(_));
                let has_files = state.dropped.as_ref().is_some_and(|dropped| dropped.images.iter().all(is_file));
                has_files.then_some(()).ok_or("A pasted picture is in no file.")
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
            Self::ClearEarlierSteps => (!shared.recipe.earlier_steps.is_empty()).then_some(()).ok_or("It begins with its own first step."),
            Self::FinishDraft => {
                let picture = state.session.shown().ok_or("There is no picture yet.")?;
                picture.recipe.draft_step().ok_or("This picture is finished. Drafts are made where pictures stop early.")?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or("The model of this picture is not on this machine.")
            }
            Self::BlendSeeds(true) => shared.recipe.seed_blend.is_none().then_some(()).ok_or("A second seed is blended in."),
            Self::BlendSeeds(false) | Self::RollSecondSeed => shared.recipe.seed_blend.map(drop).ok_or("There is one seed only."),
            Self::MakeDrafts(true) if shared.recipe.steps < 2 => Err("A picture of one step cannot stop earlier."),
            Self::MakeDrafts(true) => shared.recipe.last_step.is_none().then_some(()).ok_or("Pictures stop early."),
            Self::MakeDrafts(false) => shared.recipe.last_step.map(drop).ok_or("All steps are run."),
            Self::Newer => state.session.newer().map(drop).ok_or("This is the newest picture."),
            Self::Older => state.session.older().map(drop).ok_or("This is the oldest picture."),
            Self::ZoomIn | Self::ZoomOut | Self::ZoomFit | Self::ZoomActual => {
                state.canvas_size_px().map(drop).ok_or("There is no picture yet.")
            }
            Self::GenerateWith(_)
            | Self::GenerateOnceHere { .. }
            | Self::Follow
            | Self::FocusPrompt
            | Self::RepeatWithChange(..)
            | Self::ShowNotes(_)
            | Self::ShowStep(_)
            | Self::ChangeRecipe(_)
            | Self::TryPrompt(_)
            | Self::SwapSides
            | Self::RollSeed
            | Self::LockSeed
            | Self::ClearFile(_)
            | Self::MoveFile(..)
            | Self::TakePaths(_)
            | Self::TakeImage(_)
            | Self::OlderPrompt
            | Self::NewerPrompt
            | Self::UsePrompt(_)
            | Self::SearchPrompts(_)
            | Self::ApplyPreset(_)
            | Self::EditPreset(_)
            | Self::DeletePreset(_)
            | Self::CloseDropped
            | Self::PlaceFile(..)
            | Self::TypePath(_)
            | Self::ClearStart
            | Self::ClearMask
            | Self::RemoveReference(_)
            | Self::ClearControl
            | Self::RemovePerson(_)
            | Self::UseLora(_)
            | Self::UseEmbedding(_)
            | Self::SearchLoras(_)
            | Self::SetPreview(_)
            | Self::Show(_)
            | Self::OpenFolder
            | Self::OpenPicture(_)
            | Self::StartFromFile(_)
            | Self::SetView(_) => Ok(()),
        }
    }
}
