//! Commands of the Create view. Their effect is in [`crate::gui::create::update`]; nothing here
//! changes anything.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui::{ColorImage, Key, Modifiers};

use crate::gui::create::dropped::DroppedUse;
use crate::gui::create::larger::UpscaleMethod;
use crate::gui::create::panel_setting::{PANEL_SETTINGS, PanelSetting, Shown};
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
use atelier_core::words::prompt_lines;
use atelier_engine::JobId;
use atelier_gallery::PictureId;
use atelier_language::tr;
use atelier_library::Example;
use atelier_studio::next_recipe::UnmetRequirement;

/// A command of the Create view.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Make pictures with the recipe shown.
    Generate,
    /// Make pictures with the recipe shown once nothing else waits.
    Enqueue,
    /// Make a picture of each line of the prompt once nothing else waits.
    EnqueueLines,
    /// Make a picture of each line of a text file once nothing else waits.
    EnqueueFile,
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
    /// Make a picture of this example of the chosen model.
    MakeExample(Box<Example>),
    /// Take prompt and shape of an example over.
    TakeExample(Box<Example>),
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
    /// Draw a seed of choices, and keep it.
    RollWordsSeed,
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
        Self::EnqueueLines,
        Self::EnqueueFile,
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
        Self::RollWordsSeed,
        Self::MakeDrafts(true),
        Self::MakeDrafts(false),
        Self::SetFold(Fold::Steps, true),
        Self::SetFold(Fold::Steps, false),
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
            Self::Generate => (tr!("create-generate"), tr!("create-generate-pictures-with-these")),
            Self::Enqueue => (tr!("create-add-to-queue"), tr!("create-add-pictures-with-these")),
            Self::EnqueueLines => (tr!("create-add-a-picture-for"), tr!("create-each-line-that-is")),
            Self::EnqueueFile => (tr!("create-add-prompts-from-a"), tr!("create-each-line-of-a")),
            Self::GenerateOnceHere { .. } => (tr!("create-generate-after-the-download"), tr!("create-generate-pictures-with-your")),
            Self::GenerateWith(_) => (tr!("create-generate"), tr!("create-generate-pictures-with-these-settings")),
            Self::Cancel => (tr!("common-cancel"), tr!("create-stop-the-current-picture")),
            Self::CancelJob(_) => (tr!("common-cancel"), tr!("create-stop-this-picture-finished")),
            Self::ClearQueue => (tr!("create-clear-queue"), tr!("create-remove-all-waiting-pictures")),
            Self::FocusPrompt => (tr!("create-go-to-the-prompt"), tr!("create-move-the-cursor-to")),
            Self::TypePrompt(_) => (tr!("create-type-into-the-prompt"), tr!("create-add-these-words-to")),
            Self::ChangeRecipe(_) => (tr!("create-change-settings"), tr!("create-change-the-settings-of")),
            Self::ResetSettings => (tr!("create-reset-the-settings"), tr!("create-use-the-recommended-settings")),
            Self::SwapSides => (tr!("create-swap-width-and-height"), tr!("create-switch-between-portrait-and")),
            Self::ShowSetting(number) => PANEL_SETTINGS.get(*number).map_or(("", ""), PanelSetting::words),
            Self::SetFold(Fold::Steps, opens) => (Fold::Steps.label(*opens), tr!("create-drag-words-loras-and")),
            Self::SetFold(fold, opens) => (fold.label(*opens), tr!("create-show-these-settings-or")),
            Self::SettingShown => (tr!("create-shown"), tr!("create-the-setting-is-in")),
            Self::RollSeed => (tr!("create-roll-a-new-seed"), tr!("create-choose-a-random-seed")),
            Self::LockSeed => (tr!("create-keep-this-seed"), tr!("create-lock-the-seed-so")),
            Self::MakeExample(example) if example.seed.is_some() => (tr!("create-make-this-picture"), tr!("create-make-this-picture-with")),
            Self::MakeExample(_) => (tr!("create-make-a-picture-of"), tr!("create-make-a-picture-of-this-prompt")),
            Self::TakeExample(_) => (tr!("create-use-this-prompt"), tr!("create-use-this-prompt-and-its-shape")),
            Self::SetCount(None) => (tr!("create-as-many-as-are"), tr!("create-make-four-pictures-at")),
            Self::SetCount(Some(1)) => (tr!("create-1-picture"), tr!("create-make-one-picture-at")),
            Self::SetCount(Some(2)) => (tr!("create-2-pictures"), tr!("create-make-two-pictures-at")),
            Self::SetCount(Some(4)) => (tr!("create-4-pictures"), tr!("create-make-four-pictures-at-once-batch")),
            Self::SetCount(Some(8)) => (tr!("create-8-pictures"), tr!("create-make-eight-pictures-at")),
            Self::SetCount(Some(_)) => (tr!("create-number-of-pictures"), tr!("create-make-so-many-pictures")),
            Self::PointAt(_) => (tr!("create-point-at-this-picture"), tr!("create-point-at-this-picture-2")),
            Self::GoInSheet(..) => (tr!("create-go-to-the-next"), tr!("create-go-to-the-next-picture-in")),
            Self::Enlarge => (tr!("create-show-large"), tr!("create-show-this-picture-large")),
            Self::BackToSheet => (tr!("create-back-to-all-pictures"), tr!("create-show-the-pictures-side")),
            Self::TogglePick => (tr!("create-pick"), tr!("create-star-this-picture-it")),
            Self::NotePicks(..) => (tr!("create-pick"), tr!("create-star-these-pictures")),
            Self::NearSeeds => (tr!("create-more-like-this"), tr!("create-make-four-variations-of")),
            Self::NearWords => (tr!("create-more-like-this-in"), tr!("create-make-variations-of-this")),
            Self::CompareShown => (tr!("create-compare"), tr!("create-compare-two-pictures-choose")),
            Self::Trash => (tr!("create-move-to-the-trash"), tr!("create-move-this-picture-to")),
            Self::BringBack => (tr!("create-bring-back-the-last"), tr!("create-take-back-the-picture")),
            Self::ForgetTrash => (tr!("create-keep-in-the-trash"), tr!("create-leave-pictures-in-the")),
            Self::OlderPrompt => (tr!("create-older-prompt"), tr!("create-load-the-prompt-of")),
            Self::NewerPrompt => (tr!("create-newer-prompt"), tr!("create-load-the-next-newer")),
            Self::WeighWords(true) => (tr!("create-more-weight"), tr!("create-give-the-word-at")),
            Self::WeighWords(false) => (tr!("create-less-weight"), tr!("create-give-the-word-at-the-caret")),
            Self::SwitchWords => (tr!("create-switch-words-off-or"), tr!("create-make-the-part-at")),
            Self::UsePrompt(_) => (tr!("create-use-this-prompt"), tr!("create-load-this-prompt")),
            Self::SearchPrompts(_) => (tr!("create-search-prompts"), tr!("create-search-the-prompts-of")),
            Self::UseBuiltin => (tr!("create-use-the-built-in"), tr!("create-use-the-model-included")),
            Self::UseOwnFiles => (tr!("create-use-my-own-files"), tr!("create-use-your-own-model")),
            Self::AddFiles => (tr!("create-add-model-files"), tr!("create-choose-model-files-atelier")),
            Self::ChooseFile(_) => (tr!("create-choose-another-file"), tr!("create-choose-another-file-for")),
            Self::ClearFile(_) => (tr!("create-remove-this-file"), tr!("create-remove-this-file-from")),
            Self::MoveFile(..) => (tr!("create-change-the-role-of"), tr!("create-use-this-file-for")),
            Self::TakePaths(_) => (tr!("common-add"), tr!("create-add-the-file-with")),
            Self::TakeImage(_) => (tr!("create-paste-picture"), tr!("create-use-the-picture-on")),
            Self::UseDropped(DroppedUse::Settings) => (tr!("create-use-its-settings"), tr!("create-load-the-settings-stored")),
            Self::UseDropped(DroppedUse::Start) => (tr!("create-start-from-it"), tr!("create-use-it-as-the")),
            Self::UseDropped(DroppedUse::Reference) => (tr!("create-use-it-as-reference"), tr!("create-use-this-picture-as-a-reference")),
            Self::UseDropped(DroppedUse::Control) => (tr!("create-use-it-for-control"), tr!("create-use-this-picture-as-the-control")),
            Self::UseDropped(DroppedUse::Gallery) => (tr!("create-add-to-the-gallery"), tr!("create-copy-this-picture-into")),
            Self::UseDropped(DroppedUse::Person) => (tr!("create-show-a-person"), tr!("create-use-photomaker-to-show")),
            Self::CloseDropped => (tr!("common-close"), tr!("create-do-not-use-this")),
            Self::PlaceFile(_, Some(_)) => (tr!("create-use-this-file"), tr!("create-use-this-file-for-this-part")),
            Self::PlaceFile(_, None) => (tr!("create-leave-this-file-out"), tr!("create-do-not-use-this-file")),
            Self::TypePath(_) => (tr!("create-type-a-path"), tr!("create-type-or-paste-the")),
            Self::AddLora => (tr!("create-choose-a-file"), tr!("create-choose-the-file-of")),
            Self::UseLora(_) => (tr!("create-add-this-lora"), tr!("create-use-this-lora-for")),
            Self::AddEmbedding => (tr!("create-choose-an-embedding"), tr!("create-choose-the-file-of-an-embedding")),
            Self::UseEmbedding(_) => (tr!("create-add-this-embedding"), tr!("create-add-this-embedding-write")),
            Self::SearchLoras(_) => (tr!("create-search-loras"), tr!("create-search-the-loras-of")),
            Self::SetPreview(choice) => (choice.label(), choice.tooltip()),
            Self::Show(_) => (tr!("create-show-this-picture"), tr!("create-show-this-picture-2")),
            Self::Follow => (tr!("create-show-the-current-picture"), tr!("create-show-the-picture-being")),
            Self::Newer => (tr!("create-newer-picture"), tr!("create-show-the-next-newer")),
            Self::Older => (tr!("create-older-picture"), tr!("create-show-the-next-older")),
            Self::Recall(part) => (part.label(), part.tooltip()),
            Self::RepeatWithChange(..) => (tr!("create-apply-and-run-the"), tr!("create-apply-this-change-and")),
            Self::ShowStep(_) => (tr!("create-show-this-step"), tr!("create-show-how-the-picture")),
            Self::GoOnFromStep => (tr!("create-continue-from-here"), tr!("create-start-the-next-picture")),
            Self::RerollFromStep => (tr!("create-new-details"), tr!("create-regenerate-this-picture-the")),
            Self::FinishDraft => (tr!("create-finish-this-draft"), tr!("create-run-the-remaining-steps")),
            Self::BlendSeeds(true) => (tr!("create-blend-with-a-second"), tr!("create-variation-seed-blend-the")),
            Self::BlendSeeds(false) => (tr!("create-use-one-seed"), tr!("create-use-the-noise-of")),
            Self::RollSecondSeed => (tr!("create-roll-a-new-second"), tr!("create-choose-another-random-variation")),
            Self::RollWordsSeed => (tr!("create-roll-other-choices"), tr!("create-draw-a-seed-of-choices")),
            Self::MakeDrafts(true) => (tr!("create-stop-early-as-drafts"), tr!("create-stop-each-picture-after")),
            Self::MakeDrafts(false) => (tr!("create-finish-each-picture"), tr!("create-run-all-steps-of")),
            Self::ClearEarlierSteps => (tr!("create-start-over"), tr!("create-start-the-next-picture-from-its")),
            Self::ShowNotes(true) => (tr!("create-show-the-notes"), tr!("create-show-changes-and-problems")),
            Self::ShowNotes(false) => (tr!("create-hide-the-notes"), tr!("create-hide-the-notes-the")),
            Self::StartFromShown => (tr!("common-start-from-this-picture"), tr!("create-use-this-picture-as")),
            Self::Upscale(way) => way.words(),
            Self::OpenPicture(_) => (tr!("create-open"), tr!("create-show-this-picture-and")),
            Self::ReferenceShown => (tr!("create-use-as-reference"), tr!("create-use-this-picture-as-a-reference")),
            Self::SaveAs => (tr!("create-save-as"), tr!("create-save-a-copy-of")),
            Self::SetSaveDialog(_) => (tr!("common-cancel"), tr!("create-save-nothing")),
            Self::Save => (tr!("create-save"), tr!("create-save-the-picture-there")),
            Self::CopyPicture => (tr!("create-copy-picture"), tr!("create-copy-this-picture-to")),
            Self::OpenFolder => (tr!("create-show-in-folder"), tr!("create-show-this-pictures-file")),
            Self::ZoomIn => (tr!("create-zoom-in"), tr!("create-look-closer")),
            Self::ZoomOut => (tr!("create-zoom-out"), tr!("create-look-from-farther-away")),
            Self::ZoomFit => (tr!("create-fit-to-window"), tr!("create-show-the-whole-picture")),
            Self::ZoomActual => (tr!("create-actual-size"), tr!("create-show-one-picture-pixel")),
            Self::SetView(_) => (tr!("create-move-the-picture"), tr!("create-scroll-to-zoom-drag")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::Generate | Self::Enqueue => shared.next.ready_anywhere().map_err(UnmetRequirement::sentence),
            Self::EnqueueLines => {
                shared.next.ready_anywhere().map_err(UnmetRequirement::sentence)?;
                prompt_lines(&shared.next.recipe.prompt).nth(1).map(drop).ok_or(tr!("create-the-prompt-has-one"))
            }
            Self::EnqueueFile => match shared.next.ready_anywhere() {
                // Those of the file take the place of the prompt.
                Ok(()) | Err(UnmetRequirement::Prompt) => (!shared.dialog_open).then_some(()).ok_or(tr!("common-a-file-dialog-is")),
                Err(unmet) => Err(unmet.sentence()),
            },
            Self::Cancel => shared.jobs.running().map(drop).ok_or(tr!("create-nothing-is-being-generated")),
            Self::ClearQueue => shared.queue.waiting().next().map(drop).ok_or(tr!("create-nothing-waits")),
            Self::CancelJob(id) => shared.jobs.at_work().find(|job| job.id == *id).map(drop).ok_or(tr!("create-already-finished")),
            Self::UseBuiltin if shared.next.builtin.is_err() => Err(tr!("create-the-built-in-model")),
            Self::UseBuiltin => (!shared.next.uses_builtin()).then_some(()).ok_or(tr!("create-the-built-in-model-is-already")),
            Self::UseOwnFiles => shared.next.uses_builtin().then_some(()).ok_or(tr!("create-your-own-files-are")),
            Self::OlderPrompt | Self::NewerPrompt | Self::WeighWords(_) | Self::SwitchWords if shared.screen != Screen::Create => {
                Err(tr!("create-the-prompt-is-in"))
            }
            Self::OlderPrompt if state.prompts.prompts().is_empty() => Err(tr!("create-there-is-no-earlier")),
            Self::AddFiles | Self::ChooseFile(_) | Self::AddLora | Self::AddEmbedding => {
                (!shared.dialog_open).then_some(()).ok_or(tr!("common-a-file-dialog-is"))
            }
            Self::ReferenceShown => {
                state.session.shown().ok_or(tr!("create-there-is-no-picture"))?;
                shared.takes_references()
            }
            Self::SaveAs => {
                state.session.shown().map(drop).ok_or(tr!("create-there-is-no-picture"))?;
                (!shared.dialog_open).then_some(()).ok_or(tr!("common-a-file-dialog-is"))
            }
            Self::Save => {
                let dialog = state.save_dialog.as_ref().ok_or(tr!("common-there-is-no-question"))?;
                (!dialog.path.trim().is_empty()).then_some(()).ok_or(tr!("create-type-a-place-first"))
            }
            Self::Recall(RecallPart::Model) => {
                let picture = state.session.shown().ok_or(tr!("create-there-is-no-picture"))?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or(tr!("create-the-model-of-this"))
            }
            Self::Upscale(UpscaleMethod::Redraw | UpscaleMethod::Tiles) | Self::NearSeeds | Self::NearWords => {
                let picture = state.session.shown().ok_or(tr!("create-there-is-no-picture"))?;
                let has_model = !picture.recipe.files.is_empty() || !shared.next.recipe.files.is_empty();
                has_model.then_some(()).ok_or(tr!("create-choose-a-model-first"))
            }
            Self::Recall(_)
            | Self::StartFromShown
            | Self::CopyPicture
            | Self::Upscale(UpscaleMethod::Plain)
            | Self::TogglePick
            | Self::CompareShown
            | Self::Trash => state.session.shown().map(drop).ok_or(tr!("create-there-is-no-picture")),
            Self::Enlarge => state.shows_sheet().then_some(()).ok_or(tr!("create-the-picture-is-large")),
            Self::BackToSheet => state.goes_back_to_sheet().then_some(()).ok_or(tr!("create-there-is-one-picture")),
            Self::BringBack => (!state.trashed.is_empty()).then_some(()).ok_or(tr!("create-no-picture-went-to")),
            Self::GoInSheet(..) => state.sheet.is_several().then_some(()).ok_or(tr!("create-there-is-one-picture")),
            Self::UseDropped(DroppedUse::Settings) => {
                let opened = state.dropped.as_ref().and_then(|dropped| dropped.opened.as_ref());
                opened.map(drop).ok_or(tr!("create-this-picture-contains-no"))
            }
            Self::UseDropped(DroppedUse::Gallery) => {
                let is_file = |image: &ImageSource| matches!(image, ImageSource::File(_));
                let has_files = state.dropped.as_ref().is_some_and(|dropped| dropped.images.iter().all(is_file));
                has_files.then_some(()).ok_or(tr!("create-a-pasted-picture-has"))
            }
            Self::UseDropped(DroppedUse::Reference) => {
                state.dropped.as_ref().ok_or(tr!("create-there-is-no-picture-2"))?;
                shared.takes_references()
            }
            Self::UseDropped(DroppedUse::Person) => {
                state.dropped.as_ref().ok_or(tr!("create-there-is-no-picture-2"))?;
                shared.takes_person()
            }
            Self::UseDropped(_) => state.dropped.as_ref().map(drop).ok_or(tr!("create-there-is-no-picture-2")),
            Self::GoOnFromStep | Self::RerollFromStep => {
                let shown = state.step_in_sight().ok_or(tr!("create-choose-an-earlier-step"))?;
                let picture = state.session.get(shown.id).ok_or(tr!("create-there-is-no-picture"))?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or(tr!("create-the-model-of-this"))
            }
            Self::ClearEarlierSteps => {
                (!shared.next.recipe.earlier_steps.is_empty()).then_some(()).ok_or(tr!("create-the-next-picture-already"))
            }
            Self::SetFold(Fold::Steps, _) if shared.screen != Screen::Create => Err(tr!("create-the-ruler-of-steps-is")),
            Self::SetFold(Fold::Steps, true) if state.open_folds.contains(&Fold::Steps) => Err(tr!("create-the-ruler-of-steps-is-open")),
            Self::SetFold(Fold::Steps, false) if !state.open_folds.contains(&Fold::Steps) => {
                Err(tr!("create-the-ruler-of-steps-is-folded"))
            }
            Self::FinishDraft => {
                let picture = state.session.shown().ok_or(tr!("create-there-is-no-picture"))?;
                picture.recipe.draft_step().ok_or(tr!("create-this-picture-is-already"))?;
                (!picture.recipe.files.is_empty()).then_some(()).ok_or(tr!("create-the-model-of-this"))
            }
            Self::BlendSeeds(true) => shared.next.recipe.seed_blend.is_none().then_some(()).ok_or(tr!("create-a-second-seed-is")),
            Self::BlendSeeds(false) | Self::RollSecondSeed => shared.next.recipe.seed_blend.map(drop).ok_or(tr!("create-only-one-seed-is")),
            Self::RollWordsSeed => Shown::Choices.check(shared, &shared.next.recipe),
            Self::MakeDrafts(true) if shared.next.recipe.steps < 2 => Err(tr!("create-a-picture-of-one")),
            Self::MakeDrafts(true) => shared.next.recipe.last_step.is_none().then_some(()).ok_or(tr!("create-pictures-already-stop-early")),
            Self::MakeDrafts(false) => shared.next.recipe.last_step.map(drop).ok_or(tr!("create-all-steps-are-already")),
            Self::Newer => state.session.newer().map(drop).ok_or(tr!("create-this-is-the-newest")),
            Self::Older => state.session.older().map(drop).ok_or(tr!("create-this-is-the-oldest")),
            Self::ZoomIn | Self::ZoomOut | Self::ZoomFit | Self::ZoomActual => {
                state.canvas_size_px().map(drop).ok_or(tr!("create-there-is-no-picture"))
            }
            Self::ShowSetting(number) => {
                PANEL_SETTINGS.get(*number).map_or(Ok(()), |setting| setting.shown.check(shared, &shared.next.recipe))
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
            | Self::TakeExample(_)
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
