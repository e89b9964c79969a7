//! The keeper's thread: takes orders one after the other, and tells what came of them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Instant;

use crate::gui::models::{DownloadsState, ModelCard, TokenState};
use crate::studio::library_service::make::{Parts, shelf};
use crate::studio::library_service::{Inbox, LibraryOptions, Order, Told, places};
use atelier_library::disk::{Scanner, Stock};
use atelier_library::downloads::{Downloads, Options, StartError, Token};
use atelier_library::{Catalogue, Models, Places, PlacesError, Usage, downloaded, usage};

/// Whether something new is to be seen, told once until it was seen.
#[derive(Clone)]
struct Bell {
    rung: Arc<AtomicBool>,
    orders: Sender<Order>,
}

impl Bell {
    fn new(orders: &Sender<Order>) -> Self {
        Self { rung: Arc::default(), orders: orders.clone() }
    }

    fn ring(&self, order: Order) {
        if !self.rung.swap(true, Ordering::SeqCst) {
            // A keeper that has ended needs no bell.
            let _ = self.orders.send(order);
        }
    }

    fn heard(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }
}

pub(crate) struct Worker {
    pub(crate) options: LibraryOptions,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) orders: Sender<Order>,
    pub(crate) places: Places,
    pub(crate) models: Arc<Models>,
    /// `None` where they cannot be used.
    pub(crate) downloads: Option<Downloads>,
    /// What jobs of the queue are called, by their ids.
    pub(crate) names: HashMap<String, String>,
    /// Checks that run, and what stops them.
    pub(crate) checks: Vec<(String, Arc<AtomicBool>)>,
    builtin: Option<ModelCard>,
    scanner: Scanner,
    stock: Arc<Stock>,
    stock_bell: Bell,
    downloads_bell: Bell,
    usage: Option<Usage>,
    /// The files that Atelier downloaded.
    ours: BTreeSet<PathBuf>,
    counting: bool,
    token: TokenState,
    memory: Option<u64>,
    problems: Vec<String>,
}

impl Worker {
    /// Reads what was chosen and starts what looks and what downloads.
    pub(crate) fn open(options: LibraryOptions, builtin: Option<ModelCard>, inbox: Arc<Inbox>, orders: Sender<Order>) -> Self {
        let (places, problem) = places(&options.paths);
        let (catalogue, wrong) = Catalogue::open(&options.paths.catalogues(), &[]);
        let problems: Vec<String> = problem.into_iter().chain(wrong.iter().map(ToString::to_string)).collect();
        let stock_bell = Bell::new(&orders);
        let bell = stock_bell.clone();
        let scanner = Scanner::start(places.scanner(&options.paths, options.watch), move || bell.ring(Order::Stock));
        let models = Models { catalogue, installed: Vec::new(), loose: Vec::new(), problems: Vec::new() };
        let mut worker = Self {
            downloads_bell: Bell::new(&orders),
            options,
            builtin,
            inbox,
            orders,
            places,
            models: Arc::new(models),
            downloads: None,
            names: HashMap::new(),
            checks: Vec::new(),
            scanner,
            stock: Arc::default(),
            stock_bell,
            usage: None,
            ours: BTreeSet::new(),
            counting: false,
            token: TokenState::None,
            memory: None,
            problems,
        };
        // What can be had is there at once.
        worker.publish();
        worker.start_downloads();
        worker
    }

    pub(crate) fn run(mut self, orders: &Receiver<Order>) {
        for order in orders {
            if matches!(order, Order::Stop) {
                break;
            }
            self.obey(order);
        }
        for (_, stop) in &self.checks {
            stop.store(true, Ordering::SeqCst);
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Memory(bytes) => {
                self.memory = Some(bytes);
                self.publish();
            }
            Order::Get(name) => self.get(&name),
            Order::GetMissing(id) => self.get_missing(&id),
            Order::GetHubFile(repo, file) => self.get_hub_file(&repo, file),
            Order::Add(things) => things.iter().for_each(|it| self.add(it)),
            Order::Pause(id) => self.tell_downloads(|it| it.pause(&id)),
            Order::Resume(id) => self.tell_downloads(|it| it.resume(&id)),
            Order::Cancel(id) => self.tell_downloads(|it| it.cancel(&id)),
            Order::Reorder(id, before) => self.tell_downloads(|it| it.reorder(&id, before.as_deref())),
            Order::StartDownloads => self.start_downloads(),
            Order::Search(text) => self.tell_downloads(|it| it.search(&text)),
            Order::ListRepository(repo) => self.tell_downloads(|it| it.list_repository(&repo)),
            Order::Use(id) => self.tell(Told::Runnable(self.models.runnable(&id))),
            Order::Accept(id) => self.accept(&id),
            Order::PlanRemoval(id) => self.plan_removal(&id),
            Order::Remove(id) => self.remove(&id),
            Order::Check(id) => self.check(&id),
            Order::StopCheck(id) => self.stop_check(&id),
            Order::Checked(id, lines) => self.checked(id, lines),
            Order::ForgetFolder(folder) => self.forget_folder(&folder),
            Order::Root(root) => self.set_root(root),
            Order::AtOnce(files) => self.set_at_once(files),
            Order::Token(token) => self.keep_token(token),
            Order::TokenKept(token, result) => self.token_kept(token, result),
            Order::LookAgain => {
                self.read_again();
                self.look_again();
            }
            Order::ReadChoices => {
                self.read_choices();
            }
            Order::Stock => {
                self.stock_bell.heard();
                self.stock = self.scanner.stock();
                self.put_together();
            }
            Order::Downloads => {
                self.downloads_bell.heard();
                self.downloads_say();
            }
            Order::Counted(usage) => {
                (self.usage, self.counting) = (Some(usage), false);
                self.publish();
            }
            Order::Stop => {}
        }
    }

    pub(crate) fn tell(&self, told: Told) {
        self.inbox.tell(told);
    }

    pub(crate) fn notice(&self, text: impl Into<String>) {
        self.tell(Told::Notice(text.into()));
    }

    pub(crate) fn look_again(&self) {
        self.scanner.look_again();
    }

    pub(crate) fn models_root(&self) -> PathBuf {
        self.places.models_root(&self.options.paths)
    }

    /// Puts models together from what is on the disk now.
    pub(crate) fn put_together(&mut self) {
        let begun = Instant::now();
        self.models = Arc::new(Models::new(&self.models_root(), self.models.catalogue.clone(), &self.stock));
        self.ours = downloaded(&self.options.paths.downloads()).into_iter().map(|it| it.path).collect();
        self.publish();
        tracing::debug!(files = self.stock.files.len(), ms = begun.elapsed().as_millis(), "the library was put together");
        self.count();
    }

    /// Counts what is on the disk, on a thread of its own, once everything is known.
    fn count(&mut self) {
        if self.counting || !self.stock.complete {
            return;
        }
        let (models, stock, orders) = (Arc::clone(&self.models), Arc::clone(&self.stock), self.orders.clone());
        let counted = thread::Builder::new().name("count".into()).spawn(move || {
            // A keeper that has ended needs no answer.
            let _ = orders.send(Order::Counted(usage(&models, &stock)));
        });
        self.counting = counted.is_ok();
    }

    pub(crate) fn publish(&self) {
        let parts = Parts {
            builtin: self.builtin.as_ref(),
            paths: &self.options.paths,
            places: &self.places,
            models: &self.models,
            stock: &self.stock,
            usage: self.usage.as_ref(),
            ours: &self.ours,
            token: self.token,
            memory: self.memory,
            problems: &self.problems,
        };
        self.tell(Told::Shelf(Arc::new(shelf(&parts))));
    }

    pub(crate) fn start_downloads(&mut self) {
        let journal = self.options.paths.downloads();
        let mut options = Options::new(journal.clone(), self.models_root());
        options.at_once = self.places.at_once();
        (self.options.downloads)(&mut options);
        let kept = (self.options.tokens)(&journal).load();
        self.token = match (&options.token, kept) {
            (Some(_), Some(_)) => TokenState::Kept,
            (Some(_), None) => TokenState::Around,
            (None, _) => TokenState::None,
        };
        // The lock is let go before it is taken again.
        self.downloads = None;
        let bell = self.downloads_bell.clone();
        let state = match Downloads::start(options, move || bell.ring(Order::Downloads)) {
            Ok(downloads) => {
                self.downloads = Some(downloads);
                DownloadsState::Ready
            }
            Err(error @ StartError::InUse) => DownloadsState::Refused(format!("{error} Everything else works here.")),
            Err(error) => DownloadsState::Refused(error.to_string()),
        };
        self.tell(Told::Downloads(state));
        self.publish();
    }

    /// Changes what was chosen, here and in the file.
    pub(crate) fn choose(&mut self, change: impl FnOnce(&mut Places) -> Result<(), PlacesError>) -> bool {
        match Places::change(&self.options.paths.library_file(), change) {
            Ok(places) => {
                self.places = places;
                true
            }
            Err(error) => {
                self.notice(error.to_string());
                false
            }
        }
    }

    pub(crate) fn accept(&mut self, id: &str) {
        let chosen = self.choose(|places| {
            places.accept(id);
            Ok(())
        });
        if chosen {
            self.publish();
        }
    }

    /// A folder, or that of a file, is used where it is.
    pub(crate) fn add_folder(&mut self, path: &Path) {
        let list = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("yaml") || it.eq_ignore_ascii_case("yml"));
        let folder = if path.is_file() && !list { path.parent().unwrap_or(path) } else { path };
        let known = self.stock.folders.iter().flat_map(|it| &it.roots).any(|(root, _)| folder.starts_with(root));
        if known {
            self.notice(format!("{} is in the library already.", path.display()));
            self.scanner.look_again();
            return;
        }
        if self.choose(|places| places.add_folder(folder)) {
            self.notice(format!("{} is used where it is. Nothing in it is ever changed.", folder.display()));
            self.look_at_folders();
        }
    }

    /// The command line shares the file of choices. Says what is wrong with it.
    fn read_choices(&mut self) -> Option<String> {
        let (places, problem) = places(&self.options.paths);
        if problem.is_some() || places == self.places {
            return problem;
        }
        let moved = places.models_root != self.places.models_root;
        self.places = places;
        if moved {
            self.start_downloads();
        }
        self.look_at_folders();
        None
    }

    /// Reads choices and catalogues as at the start.
    fn read_again(&mut self) {
        let problem = self.read_choices();
        let (catalogue, wrong) = Catalogue::open(&self.options.paths.catalogues(), &[]);
        self.problems = problem.into_iter().chain(wrong.iter().map(ToString::to_string)).collect();
        self.models = Arc::new(Models::new(&self.models_root(), catalogue, &self.stock));
        self.publish();
    }

    fn forget_folder(&mut self, folder: &Path) {
        let forget = |places: &mut Places| {
            places.forget_folder(folder);
            Ok(())
        };
        if self.choose(forget) {
            self.look_at_folders();
        }
    }

    fn set_root(&mut self, root: Option<PathBuf>) {
        let chosen = self.choose(|places| {
            places.models_root = root;
            Ok(())
        });
        if chosen {
            // The queue writes into one folder only.
            self.start_downloads();
            self.look_at_folders();
        }
    }

    fn look_at_folders(&mut self) {
        self.scanner.set_folders(self.models_root(), self.places.folders.clone());
        self.publish();
    }

    fn set_at_once(&mut self, files: usize) {
        let chosen = self.choose(|places| {
            places.downloads_at_once = Some(files.clamp(1, 8));
            Ok(())
        });
        if chosen {
            let files = self.places.at_once();
            self.tell_downloads(|it| it.set_at_once(files));
            self.publish();
        }
    }

    /// Keeps a token on a thread of its own: the keyring may ask the person.
    fn keep_token(&self, token: Option<Token>) {
        let (store, orders) = ((self.options.tokens)(&self.options.paths.downloads()), self.orders.clone());
        let kept = thread::Builder::new().name("token".into()).spawn(move || {
            let result = store.save(token.as_ref());
            // What remains is what other programs have.
            let token = token.or_else(|| Token::find(&store));
            let _ = orders.send(Order::TokenKept(token, result));
        });
        if kept.is_err() {
            self.notice("The token could not be kept. Try again.");
        }
    }

    fn token_kept(&mut self, token: Option<Token>, result: std::io::Result<()>) {
        if let Err(error) = result {
            self.notice(format!("The token could not be kept: {error}. It is used until Atelier is closed."));
        }
        let kept = (self.options.tokens)(&self.options.paths.downloads()).load().is_some();
        self.token = match &token {
            Some(_) if kept => TokenState::Kept,
            Some(_) => TokenState::Around,
            None => TokenState::None,
        };
        self.tell_downloads(|it| it.set_token(token));
        self.publish();
    }
}
