//! The thread that keeps the library for the window: the disk, the catalogue, the downloads, and what the person chose for them.
//!
//! The window asks by [`Order`]s and is told by [`Told`]s, plain data both ways; neither side waits for the other. Invariants: the newest
//! shelf and the newest queue take the place of older ones that nobody has read; everything else is told in order and never dropped. Not
//! here: what the window makes of it (`app::shelf`), drawing.

mod check;
mod make;
mod pulls;
mod shortcut;
mod work;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::gui::models::{Check, DownloadsState, Entry, Farewell, HubFile, ModelCard, Repository, Shelf};
use crate::gui::workers::Wake;
use atelier_core::paths::Paths;
use atelier_library::downloads::{self, Token, TokenStore};
use atelier_library::{Places, Problem, Runnable, Usage};
use work::Worker;

/// How the library is kept; tests put their own in its place.
#[derive(Clone)]
pub struct LibraryOptions {
    /// The folders of this person.
    pub paths: Paths,
    /// Whether changes on the disk are noticed.
    pub watch: bool,
    /// Changes how downloads are done.
    pub downloads: Arc<dyn Fn(&mut downloads::Options) + Send + Sync>,
    /// Where the token is kept, by the folder of the downloads' journal; a test must not touch a person's keyring.
    pub tokens: fn(&Path) -> TokenStore,
    /// Moves a file or folder to the trash.
    pub trash: fn(&Path) -> Result<(), String>,
}

impl std::fmt::Debug for LibraryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LibraryOptions").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl LibraryOptions {
    /// The usual ones for these folders.
    #[must_use]
    pub fn usual(paths: Paths) -> Self {
        Self { paths, watch: true, downloads: Arc::new(|_| ()), tokens: TokenStore::new, trash: atelier_library::to_trash }
    }
}

/// What the keeper is asked.
#[derive(Debug)]
pub(crate) enum Order {
    /// Memory of this machine that a first model should fit into, in bytes.
    Memory(u64),
    /// Download the model of this name.
    Get(String),
    /// Download what a model of loose files still needs.
    GetMissing(String),
    /// Download a file of a repository on Hugging Face.
    GetHubFile(String, HubFile),
    /// Add whatever these are: links, folders, files.
    Add(Vec<PathBuf>),
    Pause(String),
    Resume(String),
    Cancel(String),
    Reorder(String, Option<String>),
    /// Try to start the downloads again.
    StartDownloads,
    /// Search Hugging Face.
    Search(String),
    /// List the files of a repository.
    ListRepository(String),
    /// Say what the engine needs to run this model.
    Use(String),
    /// The person accepted the terms of this model.
    Accept(String),
    /// Say what would go where this model is taken away.
    PlanRemoval(String),
    /// Take it away.
    Remove(String),
    /// Read every byte of this model.
    Check(String),
    /// Stop reading it.
    StopCheck(String),
    ForgetFolder(PathBuf),
    /// Download models into this folder; `None`: the usual one.
    Root(Option<PathBuf>),
    AtOnce(usize),
    /// Keep this token, or forget the one that is kept.
    Token(Option<Token>),
    LookAgain,
    /// See whether the command line has chosen something else meanwhile.
    ReadChoices,
    /// From the keeper's helpers: there is something new to see.
    Stock,
    Downloads,
    Counted(Usage),
    TokenKept(Option<Token>, std::io::Result<()>),
    Checked(String, Option<Vec<(String, bool, String)>>),
    /// The window closes.
    Stop,
}

/// What the keeper tells.
#[derive(Debug)]
pub(crate) enum Told {
    /// What there is.
    Shelf(Arc<Shelf>),
    /// The queue of downloads.
    Queue(Vec<Entry>),
    /// Whether downloads can be had.
    Downloads(DownloadsState),
    /// What was found on Hugging Face.
    Found(String, Result<Vec<Repository>, String>),
    /// The files of a repository.
    Files(String, Result<Vec<HubFile>, String>),
    /// What the engine needs to run a model.
    Runnable(Result<Runnable, Problem>),
    /// What would go.
    Farewell(Box<Farewell>),
    /// How a check goes; `None`: it was stopped.
    Check(String, Option<Check>),
    /// Look into this repository.
    Repository(String),
    /// A download of this id and name has ended; its files are whole.
    Done(String, String),
    /// A sentence for the person.
    Notice(String),
}

/// The window's end. Dropping it ends the thread, which does not wait for anything but what is being written.
pub(crate) struct Keeper {
    orders: Sender<Order>,
    inbox: Arc<Inbox>,
    ended: Receiver<()>,
}

/// Where what is told waits for the window.
struct Inbox {
    waiting: Mutex<Waiting>,
    wake: Wake,
}

#[derive(Default)]
struct Waiting {
    shelf: Option<Arc<Shelf>>,
    queue: Option<Vec<Entry>>,
    told: VecDeque<Told>,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, told: Told) {
        let mut waiting = self.lock();
        match told {
            Told::Shelf(shelf) => waiting.shelf = Some(shelf),
            Told::Queue(queue) => waiting.queue = Some(queue),
            Told::Check(id, check @ Some(Check::Running { .. })) => {
                waiting.told.retain(|it| !matches!(it, Told::Check(other, Some(Check::Running { .. })) if *other == id));
                waiting.told.push_back(Told::Check(id, check));
            }
            other => waiting.told.push_back(other),
        }
        drop(waiting);
        (self.wake)();
    }
}

impl Keeper {
    /// Starts the thread, which reads everything by itself. The built-in model's card is put before all others.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub(crate) fn start(options: LibraryOptions, builtin: Option<ModelCard>, wake: Wake) -> std::io::Result<Self> {
        let inbox = Arc::new(Inbox { waiting: Mutex::default(), wake });
        let (orders, taken) = channel();
        let (end, ended) = channel();
        let (theirs, helpers) = (Arc::clone(&inbox), orders.clone());
        thread::Builder::new().name("keeper".into()).spawn(move || {
            Worker::open(options, builtin, theirs, helpers).run(&taken);
            // Nobody listens any more where the window did not wait for the end.
            let _ = end.send(());
        })?;
        Ok(Self { orders, inbox, ended })
    }

    /// Asks. An order to a thread that has ended is lost, as is the window then.
    pub(crate) fn ask(&self, order: Order) {
        if self.orders.send(order).is_err() {
            tracing::error!("the library's thread has ended");
        }
    }

    /// What was told and not read yet.
    pub(crate) fn next(&self) -> Option<Told> {
        let mut waiting = self.inbox.lock();
        // What is there comes before what happened to it.
        let shelf = waiting.shelf.take().map(Told::Shelf);
        shelf.or_else(|| waiting.queue.take().map(Told::Queue)).or_else(|| waiting.told.pop_front())
    }

    /// Ends the thread; false where it did not within this time.
    #[must_use]
    pub(crate) fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.ask(Order::Stop);
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Its thread may have ended already.
        let _ = self.orders.send(Order::Stop);
    }
}

/// The places as they are kept, or none where the file cannot be read; then what is wrong comes beside.
fn places(paths: &Paths) -> (Places, Option<String>) {
    match Places::read(&paths.library_file()) {
        Ok(places) => (places, None),
        Err(error) => (Places::default(), Some(error.to_string())),
    }
}
