//! Commands of the Models view. Their effect is in [`crate::gui::models::update`]; nothing here changes anything.

use std::path::PathBuf;

use atelier_downloads::Status;
use atelier_library::{Availability, ModelKind};
use eframe::egui::{Key, Modifiers};

use crate::gui::models::filter::{Filter, Sort};
use crate::gui::models::state::State;
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;
use atelier_studio::library_service::{DownloadsState, FileCheck, TokenState};

/// A command of the Models view.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Put the cursor into the search field.
    FocusSearch,
    /// The search text was edited.
    SetSearch(String),
    /// Show the models that pass this filter.
    SetFilter(Filter),
    /// Show the models in this order.
    SetSort(Sort),
    /// Clear search and filter.
    ShowAll,
    /// Move the cursor by this many cards.
    MoveCursor(isize),
    /// The cards from the first index to before the second are on the screen.
    SetVisible(usize, usize),
    /// Show the details of this model.
    OpenDetails(String),
    /// Close the details.
    CloseDetails,
    /// Choose the variant of a model that is downloaded.
    ChooseVariant(String, String),
    /// Download this model.
    Download(String),
    /// Download this model, and make a picture with it once it is here.
    DownloadAndGenerate(String),
    /// Download the missing files of this model.
    DownloadMissing(String),
    /// Use files and settings of this model for the next picture.
    Use(String),
    /// Pause a download.
    Pause(String),
    /// Resume a paused download.
    Resume(String),
    /// Resume a failed download.
    Retry(String),
    /// Cancel a download and remove its partial files.
    Cancel(String),
    /// Move a download before another one, or to the end.
    MoveDownload(String, Option<String>),
    /// Pause every download.
    PauseAll,
    /// Resume every paused download.
    ResumeAll,
    /// Start the download queue, once another process has given it up.
    StartDownloads,
    /// Show a licence in the browser.
    OpenLicence(String),
    /// Accept the licence of the open prompt.
    AcceptLicence,
    /// Close the licence prompt.
    DeclineLicence,
    /// Ask for confirmation to delete this model.
    Delete(String),
    /// Delete the model of the open confirmation.
    ConfirmDelete,
    /// Close the confirmation.
    CancelDelete,
    /// Compare every byte of this model with its published sums.
    CheckFiles(String),
    /// Stop the check of this model.
    StopCheck(String),
    /// Show this folder in the file manager.
    OpenFolder(PathBuf),
    /// Copy a trigger word.
    CopyTriggerWord(String),
    /// The text of the Add field was edited.
    EditAddText(String),
    /// Add the text of the Add field: a link, file or folder.
    Add,
    /// Add files, folders and links that were dropped or pasted.
    AddPaths(Vec<PathBuf>),
    /// Show the dialog for a folder to use in place.
    ChooseFolder,
    /// Stop using this folder.
    ForgetFolder(PathBuf),
    /// Show the dialog for the folder of downloaded models.
    ChooseModelsRoot,
    /// Download models into the default folder again.
    UseDefaultModelsRoot,
    /// Number of files downloaded at the same time.
    SetParallelFiles(usize),
    /// Scan all folders again.
    Rescan,
    /// The text of the token field was edited.
    EditTokenText(String),
    /// Save the token of the token field.
    SaveToken,
    /// Delete the saved token.
    DeleteToken,
    /// Put the cursor into the token field.
    FocusToken,
    /// Search Hugging Face for the search text.
    SearchHub,
    /// List the model files of a repository.
    OpenRepository(String),
    /// Go back from a repository to the search results.
    CloseRepository,
    /// Download the file of this index in the open repository.
    DownloadHubFile(usize),
    /// Go back to the library.
    CloseHub,
}

impl Command {
    /// The keys of this view that work in every view.
    pub const KEYS: &[(Self, Shortcut)] = &[(Self::FocusSearch, Shortcut::while_typing(Modifiers::COMMAND, Key::F))];

    /// Commands without a key that the command palette offers.
    pub const OFFERED: &[Self] = &[
        Self::ShowAll,
        Self::PauseAll,
        Self::ResumeAll,
        Self::StartDownloads,
        Self::ChooseFolder,
        Self::ChooseModelsRoot,
        Self::UseDefaultModelsRoot,
        Self::Rescan,
    ];

    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        self.words().0
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub const fn tooltip(&self) -> &'static str {
        self.words().1
    }

    /// Label and tooltip.
    const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::FocusSearch => ("Search models", "Put the cursor into the search."),
            Self::SetSearch(_) => ("Search", "Show the models that have all of these words in their name, family, licence or files."),
            Self::SetFilter(_) => ("Filter", "Show some of the models only."),
            Self::SetSort(_) => ("Sort", "In which order models are shown."),
            Self::ShowAll => ("Show all", "Take search and filters away."),
            Self::MoveCursor(_) => ("Move the cursor", "Move to another card with the arrow keys."),
            Self::SetVisible(..) => ("See", "Ask first whether the models on the screen fit."),
            Self::OpenDetails(_) => ("Details", "Show files, sizes, settings and what can be done with it."),
            Self::CloseDetails => ("Close details", "Put the details away."),
            Self::ChooseVariant(..) => ("Choose this size", "The same model in another size."),
            Self::Download(_) => ("Download", "Download this model. It goes on where it stopped, whatever stops it."),
            Self::DownloadAndGenerate(_) => (
                "Download and generate",
                "Download this model, and make your picture with it as soon as it is here. The job waits in the queue.",
            ),
            Self::DownloadMissing(_) => ("Get what is missing", "Download the files that this model still needs."),
            Self::Use(_) => ("Use", "Take its files and the settings that suit it, and go to Create. Your prompt stays."),
            Self::Pause(_) => ("Pause", "Stop this download where it is. What is there is kept."),
            Self::Resume(_) => ("Resume", "Let this download go on where it was."),
            Self::Retry(_) => ("Try again", "Try this download again. What is there is kept."),
            Self::Cancel(_) => ("Cancel download", "End this download and remove what it brought."),
            Self::MoveDownload(..) => ("Move in the queue", "Drag it to another place in the queue, or press the up and down keys."),
            Self::PauseAll => ("Pause all", "Stop every download where it is. What is there is kept."),
            Self::ResumeAll => ("Resume all", "Let every download go on."),
            Self::StartDownloads => ("Try again", "See whether the downloads are free now."),
            Self::OpenLicence(_) => ("Read the licence", "Open the page with the licence in your browser."),
            Self::AcceptLicence => ("Accept", "You have read the licence and accept it. It is not asked again."),
            Self::DeclineLicence => ("Not now", "Go back without this model."),
            Self::Delete(_) => ("Delete…", "Move what Atelier downloaded of it to the trash. You see before what goes and what stays."),
            Self::ConfirmDelete => ("Move to trash", "Move these files to your system's trash. Empty it to have the room."),
            Self::CancelDelete => ("Keep it", "Leave everything as it is."),
            Self::CheckFiles(_) => ("Check files", "Read every byte and compare it with what was published. Takes a while."),
            Self::StopCheck(_) => ("Stop checking", "Stop reading. Nothing is changed."),
            Self::OpenFolder(_) => ("Open folder", "Show the folder of this model in your file manager."),
            Self::CopyTriggerWord(_) => ("Copy", "Copy these words, to put them into a prompt."),
            Self::EditAddText(_) => {
                ("Add a model", "A page or file of Hugging Face, a direct link, or the path of a file or folder on this machine.")
            }
            Self::Add => ("Add", "Add this: a link is downloaded, a folder is used where it is."),
            Self::AddPaths(_) => ("Add", "A link is downloaded; a folder, or that of a file, is used where it is and never changed."),
            Self::ChooseFolder => (
                "Add a folder…",
                "Use the models of a folder where they are, such as those of ComfyUI or A1111. Nothing in it is ever changed.",
            ),
            Self::ForgetFolder(_) => ("Stop using this folder", "Do not look into this folder any longer. Its files stay as they are."),
            Self::ChooseModelsRoot => ("Change…", "Choose another folder for downloaded models. What is in the old one stays there."),
            Self::UseDefaultModelsRoot => ("Use the usual folder", "Download into the usual folder again."),
            Self::SetParallelFiles(_) => ("Files at the same time", "How many files come at the same time, from 1 to 8."),
            Self::Rescan => ("Look again", "Look through all folders again. Changes are usually noticed by themselves."),
            Self::EditTokenText(_) => (
                "Token",
                "An access token of your Hugging Face account. It is kept in the system's keyring where there is one, and never shown.",
            ),
            Self::SaveToken => ("Keep", "Keep this token and send it to Hugging Face only."),
            Self::DeleteToken => ("Forget the token", "Remove the token from this machine."),
            Self::FocusToken => ("Paste a token", "Go to where a Hugging Face token can be pasted."),
            Self::SearchHub => ("Search Hugging Face", "Search all of Hugging Face for these words. They are sent there."),
            Self::OpenRepository(_) => ("Show files", "See the model files of this repository."),
            Self::CloseRepository => ("Back to the search", "Go back to what was found."),
            Self::DownloadHubFile(_) => ("Download", "Download this file into your folder of models."),
            Self::CloseHub => ("Back to the library", "Go back to your models and the catalogue."),
        }
    }

    /// `Ok` where the command can be carried out now.
    ///
    /// # Errors
    /// A sentence for a person that says what is missing.
    pub fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let require = |holds: bool, otherwise: &'static str| holds.then_some(()).ok_or(otherwise);
        let card = |id: &String| state.card(id).ok_or("This model is gone.");
        let download = |id: &String| state.queue.iter().find(|it| it.id == *id).ok_or("This download is over.");
        match self {
            Self::ShowAll => require(!state.shows_all(), "Everything is shown."),
            Self::CloseDetails => require(state.is_open, "Nothing is open."),
            Self::OpenDetails(id) => card(id).map(drop),
            Self::Download(id) => {
                let card = card(id)?;
                downloads_ready(state)?;
                let variant = state.variant(card);
                let wanted = variant.map_or(&card.id, |it| &it.id);
                require(!state.queue.iter().any(|it| it.id == *wanted), "It is in the queue already.")?;
                require(!variant.is_some_and(|it| it.on_disk), "It is on this disk already.")
            }
            Self::DownloadAndGenerate(id) => {
                Self::Download(id.clone()).enabled(state, shared)?;
                require(!shared.recipe.prompt.trim().is_empty(), "Describe the picture first, in the Create view.")
            }
            Self::DownloadMissing(id) => {
                let card = card(id)?;
                require(card.can_be_completed(), "Nobody wrote down where these files can be had. Add the folder that has them.")?;
                downloads_ready(state)?;
                require(state.download_of(card).is_none(), "It is in the queue already.")
            }
            Self::Use(id) => match (card(id)?.kind, card(id)?.availability) {
                (ModelKind::Upscaler, _) => Err("Pictures are enlarged by `atelier upscale` so far, not in the window."),
                (ModelKind::Part, _) => Err("It makes no pictures by itself: other models use it."),
                (_, Availability::Catalogue) => Err("Download it first."),
                (_, Availability::Listed) => Err("It cannot be used here; its details say why."),
                (_, Availability::Incomplete) => Err("Get what is missing first."),
                (_, Availability::Damaged) => Err("A file is damaged. Download it again first."),
                (_, Availability::BuiltIn | Availability::OnDisk | Availability::InPlace) => Ok(()),
            },
            Self::Pause(id) => require(is_open(&download(id)?.status), "It stands still already."),
            Self::Resume(id) => require(matches!(download(id)?.status, Status::Paused(_)), "It is not paused."),
            Self::Retry(id) => require(matches!(download(id)?.status, Status::Failed(_)), "It has not failed."),
            Self::Cancel(id) | Self::MoveDownload(id, _) => download(id).map(drop),
            Self::PauseAll => require(state.queue.iter().any(|it| is_open(&it.status)), "Nothing is coming in."),
            Self::ResumeAll => require(state.queue.iter().any(|it| matches!(it.status, Status::Paused(_))), "Nothing is paused."),
            Self::AcceptLicence | Self::DeclineLicence => require(state.licence_prompt.is_some(), "There is no question."),
            Self::ConfirmDelete | Self::CancelDelete => require(state.removal.is_some(), "There is no question."),
            Self::Delete(id) => require(card(id)?.downloaded, "Atelier did not download it, so it does not delete it."),
            Self::CheckFiles(id) => {
                require(card(id)?.downloaded, "Only what Atelier downloaded can be compared with what was published.")?;
                require(!matches!(state.checks.get(id), Some(FileCheck::Running { .. })), "It is being checked.")
            }
            Self::Add => require(!state.add_text.trim().is_empty(), "Paste a link or a path first."),
            Self::ChooseFolder => require(!shared.dialog_open, "A file dialog is open already."),
            Self::ChooseModelsRoot => {
                require(!shared.dialog_open, "A file dialog is open already.")?;
                require(state.queue.is_empty(), "Finish or cancel the downloads first.")
            }
            Self::UseDefaultModelsRoot => {
                require(state.queue.is_empty(), "Finish or cancel the downloads first.")?;
                require(!state.library.settings.is_default_root, "It is the usual folder.")
            }
            Self::SaveToken => require(!state.token_text.trim().is_empty(), "Paste a token first."),
            Self::DeleteToken => require(state.library.settings.token == TokenState::Saved, "No token was pasted here."),
            Self::SearchHub => {
                downloads_ready(state)?;
                require(!state.search.trim().is_empty(), "Type what to search for first.")
            }
            Self::DownloadHubFile(_) => downloads_ready(state),
            Self::FocusSearch
            | Self::SetSearch(_)
            | Self::SetFilter(_)
            | Self::SetSort(_)
            | Self::MoveCursor(_)
            | Self::SetVisible(..)
            | Self::ChooseVariant(..)
            | Self::StartDownloads
            | Self::OpenLicence(_)
            | Self::StopCheck(_)
            | Self::OpenFolder(_)
            | Self::CopyTriggerWord(_)
            | Self::EditAddText(_)
            | Self::AddPaths(_)
            | Self::ForgetFolder(_)
            | Self::SetParallelFiles(_)
            | Self::Rescan
            | Self::EditTokenText(_)
            | Self::FocusToken
            | Self::OpenRepository(_)
            | Self::CloseRepository
            | Self::CloseHub => Ok(()),
        }
    }
}

/// True for downloads that run or will run.
const fn is_open(status: &Status) -> bool {
    matches!(status, Status::Waiting | Status::Running)
}

fn downloads_ready(state: &State) -> Result<(), &'static str> {
    match state.downloads {
        DownloadsState::Ready => Ok(()),
        DownloadsState::Starting => Err("The downloads are starting."),
        DownloadsState::Refused(_) => Err("Downloads cannot be used now; see why under Downloads."),
    }
}
