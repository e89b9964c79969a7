//! What a person can ask of the Models view.
//!
//! As with every command, label, tooltip and when it is enabled are here; what it does is in `app::shelf`.

use std::path::PathBuf;

use crate::gui::models::{Availability, DownloadsState, FileCheck, Filter, ModelKind, ModelsView, Sort, Status, TokenState};

/// What a person can ask of the Models view.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelsCommand {
    /// Put the cursor into the search.
    FocusSearch,
    /// Search as this is typed.
    Search(String),
    /// Show these only.
    Filter(Filter),
    /// Show them in this order.
    Sort(Sort),
    /// Show everything again.
    ShowAll,
    /// Move the cursor by so many cards.
    Step(isize),
    /// The cards shown from this place to before that one are on the screen.
    Seen(usize, usize),
    /// Show the details of this model.
    Open(String),
    /// Put the details away.
    Close,
    /// Choose which size of a model is downloaded.
    Variant(String, String),
    /// Download this model.
    Get(String),
    /// Download what this model still needs.
    GetMissing(String),
    /// Take files and settings of this model into the recipe.
    Use(String),
    /// Stop a download where it is.
    Pause(String),
    /// Let a download go on.
    Resume(String),
    /// Try a download again.
    Retry(String),
    /// End a download and remove what it brought.
    Cancel(String),
    /// Put a download before another one, or at the end.
    MoveJob(String, Option<String>),
    /// Stop every download where it is.
    PauseAll,
    /// Let every download go on.
    ResumeAll,
    /// Start the downloads, after another Atelier had them.
    StartDownloads,
    /// Show terms in the browser.
    ReadTerms(String),
    /// Accept the terms in question.
    Accept,
    /// Do not accept them.
    Decline,
    /// Ask whether to take this model away.
    Delete(String),
    /// Take it away.
    DeleteNow,
    /// Let it be.
    KeepIt,
    /// Read every byte of this model.
    Check(String),
    /// Stop reading.
    StopCheck(String),
    /// Open the folder of this model.
    ShowFolder(PathBuf),
    /// Copy a word.
    CopyWords(String),
    /// What is added is being typed.
    TypeAdd(String),
    /// Add what was typed.
    Add,
    /// Add what was dropped or pasted: files, folders, links.
    AddThese(Vec<PathBuf>),
    /// Show the dialog for a folder that is used in place.
    ChooseFolder,
    /// Do not use this folder any longer.
    ForgetFolder(PathBuf),
    /// Show the dialog for the folder of downloaded models.
    ChooseRoot,
    /// Download models into the usual folder again.
    UsualRoot,
    /// How many files come at the same time.
    AtOnce(usize),
    /// Look at all folders again.
    LookAgain,
    /// A token is being pasted.
    TypeToken(String),
    /// Keep the token.
    SaveToken,
    /// Forget the token.
    ForgetToken,
    /// Go to the field for a token.
    FocusToken,
    /// Search Hugging Face for what is in the search field.
    SearchHub,
    /// Show the model files of a repository.
    OpenRepository(String),
    /// Go back from a repository to what was found.
    CloseRepository,
    /// Download a file of the repository shown.
    GetHubFile(usize),
    /// Go back to the library.
    LeaveHub,
}

impl ModelsCommand {
    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::FocusSearch => "Search models",
            Self::Search(_) => "Search",
            Self::Filter(_) => "Filter",
            Self::Sort(_) => "Sort",
            Self::ShowAll => "Show all",
            Self::Step(_) => "Move the cursor",
            Self::Seen(..) => "See",
            Self::Open(_) => "Details",
            Self::Close => "Close details",
            Self::Variant(..) => "Choose this size",
            Self::Get(_) | Self::GetHubFile(_) => "Download",
            Self::GetMissing(_) => "Get what is missing",
            Self::Use(_) => "Use",
            Self::Pause(_) => "Pause",
            Self::Resume(_) => "Resume",
            Self::Retry(_) | Self::StartDownloads => "Try again",
            Self::Cancel(_) => "Cancel download",
            Self::MoveJob(..) => "Move in the queue",
            Self::PauseAll => "Pause all",
            Self::ResumeAll => "Resume all",
            Self::ReadTerms(_) => "Read the licence",
            Self::Accept => "Accept",
            Self::Decline => "Not now",
            Self::Delete(_) => "Delete…",
            Self::DeleteNow => "Move to trash",
            Self::KeepIt => "Keep it",
            Self::Check(_) => "Check files",
            Self::StopCheck(_) => "Stop checking",
            Self::ShowFolder(_) => "Open folder",
            Self::CopyWords(_) => "Copy",
            Self::TypeAdd(_) => "Add a model",
            Self::Add | Self::AddThese(_) => "Add",
            Self::ChooseFolder => "Add a folder…",
            Self::ForgetFolder(_) => "Stop using this folder",
            Self::ChooseRoot => "Change…",
            Self::UsualRoot => "Use the usual folder",
            Self::AtOnce(_) => "Files at the same time",
            Self::LookAgain => "Look again",
            Self::TypeToken(_) => "Token",
            Self::SaveToken => "Keep",
            Self::ForgetToken => "Forget the token",
            Self::FocusToken => "Paste a token",
            Self::SearchHub => "Search Hugging Face",
            Self::OpenRepository(_) => "Show files",
            Self::CloseRepository => "Back to the search",
            Self::LeaveHub => "Back to the library",
        }
    }

    /// What it does, in a sentence.
    #[must_use]
    pub const fn tooltip(&self) -> &'static str {
        match self {
            Self::FocusSearch => "Put the cursor into the search.",
            Self::Search(_) => "Show the models that have all of these words in their name, family, licence or files.",
            Self::Filter(_) => "Show some of the models only.",
            Self::Sort(_) => "In which order models are shown.",
            Self::ShowAll => "Take search and filters away.",
            Self::Step(_) => "Move to another card with the arrow keys.",
            Self::Seen(..) => "Ask first whether the models on the screen fit.",
            Self::Open(_) => "Show files, sizes, settings and what can be done with it.",
            Self::Close => "Put the details away.",
            Self::Variant(..) => "The same model in another size.",
            Self::Get(_) => "Download this model. It goes on where it stopped, whatever stops it.",
            Self::GetMissing(_) => "Download the files that this model still needs.",
            Self::Use(_) => "Take its files and the settings that suit it, and go to Create. Your prompt stays.",
            Self::Pause(_) => "Stop this download where it is. What is there is kept.",
            Self::Resume(_) => "Let this download go on where it was.",
            Self::Retry(_) => "Try this download again. What is there is kept.",
            Self::Cancel(_) => "End this download and remove what it brought.",
            Self::MoveJob(..) => "Drag it to another place in the queue, or press the up and down keys.",
            Self::PauseAll => "Stop every download where it is. What is there is kept.",
            Self::ResumeAll => "Let every download go on.",
            Self::StartDownloads => "See whether the downloads are free now.",
            Self::ReadTerms(_) => "Open the page with the licence in your browser.",
            Self::Accept => "You have read the licence and accept it. It is not asked again.",
            Self::Decline => "Go back without this model.",
            Self::Delete(_) => "Move what Atelier downloaded of it to the trash. You see before what goes and what stays.",
            Self::DeleteNow => "Move these files to your system's trash. Empty it to have the room.",
            Self::KeepIt => "Leave everything as it is.",
            Self::Check(_) => "Read every byte and compare it with what was published. Takes a while.",
            Self::StopCheck(_) => "Stop reading. Nothing is changed.",
            Self::ShowFolder(_) => "Show the folder of this model in your file manager.",
            Self::CopyWords(_) => "Copy these words, to put them into a prompt.",
            Self::TypeAdd(_) => "A page or file of Hugging Face, a direct link, or the path of a file or folder on this machine.",
            Self::Add => "Add this: a link is downloaded, a folder is used where it is.",
            Self::AddThese(_) => "A link is downloaded; a folder, or that of a file, is used where it is and never changed.",
            Self::ChooseFolder => {
                "Use the models of a folder where they are, such as those of ComfyUI or A1111. Nothing in it is ever changed."
            }
            Self::ForgetFolder(_) => "Do not look into this folder any longer. Its files stay as they are.",
            Self::ChooseRoot => "Choose another folder for downloaded models. What is in the old one stays there.",
            Self::UsualRoot => "Download into the usual folder again.",
            Self::AtOnce(_) => "How many files come at the same time, from 1 to 8.",
            Self::LookAgain => "Look through all folders again. Changes are usually noticed by themselves.",
            Self::TypeToken(_) => {
                "An access token of your Hugging Face account. It is kept in the system's keyring where there is one, and never shown."
            }
            Self::SaveToken => "Keep this token and send it to Hugging Face only.",
            Self::ForgetToken => "Remove the token from this machine.",
            Self::FocusToken => "Go to where a Hugging Face token can be pasted.",
            Self::SearchHub => "Search all of Hugging Face for these words. They are sent there.",
            Self::OpenRepository(_) => "See the model files of this repository.",
            Self::CloseRepository => "Go back to what was found.",
            Self::GetHubFile(_) => "Download this file into your folder of models.",
            Self::LeaveHub => "Go back to your models and the catalogue.",
        }
    }

    /// Whether it can be done now; where not, what is missing.
    ///
    /// # Errors
    /// A sentence for a person that says what is missing.
    pub fn enabled(&self, view: &ModelsView) -> Result<(), &'static str> {
        let has = |is: bool, why: &'static str| is.then_some(()).ok_or(why);
        let card = |id: &String| view.card(id).ok_or("This model is gone.");
        let job = |id: &String| view.queue.iter().find(|it| it.id == *id).ok_or("This download is over.");
        match self {
            Self::ShowAll => has(!view.shows_all(), "Everything is shown."),
            Self::Close => has(view.open, "Nothing is open."),
            Self::Open(id) => card(id).map(drop),
            Self::Get(id) => {
                let card = card(id)?;
                view.downloads_ready()?;
                let wanted = view.variant(card).map_or(&card.id, |it| &it.id);
                has(!view.queue.iter().any(|it| it.id == *wanted), "It is in the queue already.")?;
                has(!view.variant(card).is_some_and(|it| it.on_disk), "It is on this disk already.")
            }
            Self::GetMissing(id) => {
                let card = card(id)?;
                has(card.can_be_completed(), "Nobody wrote down where these files can be had. Add the folder that has them.")?;
                view.downloads_ready()?;
                has(view.job(card).is_none(), "It is in the queue already.")
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
            Self::Pause(id) => has(matches!(job(id)?.status, Status::Waiting | Status::Running), "It stands still already."),
            Self::Resume(id) => has(matches!(job(id)?.status, Status::Paused(_)), "It is not paused."),
            Self::Retry(id) => has(matches!(job(id)?.status, Status::Failed(_)), "It has not failed."),
            Self::Cancel(id) | Self::MoveJob(id, _) => job(id).map(drop),
            Self::PauseAll => {
                has(view.queue.iter().any(|it| matches!(it.status, Status::Waiting | Status::Running)), "Nothing is coming in.")
            }
            Self::ResumeAll => has(view.queue.iter().any(|it| matches!(it.status, Status::Paused(_))), "Nothing is paused."),
            Self::Accept | Self::Decline => view.question.as_ref().map(drop).ok_or("There is no question."),
            Self::DeleteNow | Self::KeepIt => view.removal.as_ref().map(drop).ok_or("There is no question."),
            Self::Delete(id) => has(card(id)?.downloaded, "Atelier did not download it, so it does not delete it."),
            Self::Check(id) => {
                has(card(id)?.downloaded, "Only what Atelier downloaded can be compared with what was published.")?;
                has(!matches!(view.checks.get(id), Some(FileCheck::Running { .. })), "It is being checked.")
            }
            Self::Add => has(!view.typed.trim().is_empty(), "Paste a link or a path first."),
            Self::ChooseRoot | Self::UsualRoot => {
                has(view.queue.is_empty(), "Finish or cancel the downloads first.")?;
                has(matches!(self, Self::ChooseRoot) || !view.library.settings.is_default_root, "It is the usual folder.")
            }
            Self::SaveToken => has(!view.typed_token.trim().is_empty(), "Paste a token first."),
            Self::ForgetToken => has(view.library.settings.token == TokenState::Saved, "No token was pasted here."),
            Self::SearchHub => {
                view.downloads_ready()?;
                has(!view.search.trim().is_empty(), "Type what to search for first.")
            }
            Self::GetHubFile(_) => view.downloads_ready(),
            Self::FocusSearch
            | Self::Search(_)
            | Self::Filter(_)
            | Self::Sort(_)
            | Self::Step(_)
            | Self::Seen(..)
            | Self::Variant(..)
            | Self::StartDownloads
            | Self::ReadTerms(_)
            | Self::StopCheck(_)
            | Self::ShowFolder(_)
            | Self::CopyWords(_)
            | Self::TypeAdd(_)
            | Self::AddThese(_)
            | Self::ChooseFolder
            | Self::ForgetFolder(_)
            | Self::AtOnce(_)
            | Self::LookAgain
            | Self::TypeToken(_)
            | Self::FocusToken
            | Self::OpenRepository(_)
            | Self::CloseRepository
            | Self::LeaveHub => Ok(()),
        }
    }
}

impl ModelsView {
    fn downloads_ready(&self) -> Result<(), &'static str> {
        match self.downloads {
            DownloadsState::Ready => Ok(()),
            DownloadsState::Starting => Err("The downloads are starting."),
            DownloadsState::Refused(_) => Err("Downloads cannot be used now; see why under Downloads."),
        }
    }
}
