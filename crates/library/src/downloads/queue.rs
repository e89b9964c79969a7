//! The queue itself: takes commands, starts and stops transfers, remembers, tells.
//!
//! It runs on one thread and never blocks it: files are written, hashed and unpacked by threads of their own. A file that two jobs want
//! is brought by the first, and given to the second once it is there.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinSet, spawn_blocking};

use super::closing::{finish, remove_all};
use super::event::{Cause, Event, Failure, Stage, Status, Why};
use super::halt::{Halt, lost};
use super::hub;
use super::job::{Job, Wanted};
use super::journal::{self, Remembered, StoredFile, StoredJob, StoredState};
use super::line::{Line, Then};
use super::look::look;
use super::mailbox::Mailbox;
use super::transfer::{self, Brought, Means, Order};
use super::web::Web;
use super::{Options, Token};
use crate::MANIFEST;

/// How often progress is told.
const TICK: Duration = Duration::from_millis(100);

/// What is asked of the queue.
pub(super) enum Command {
    Add(Box<Job>),
    Pause(String),
    /// Also tries a failed job again.
    Resume(String),
    Cancel(String),
    Reorder {
        id: String,
        before: Option<String>,
    },
    PauseAll,
    Token(Option<Token>),
    AtOnce(usize),
    Search(String),
    ListRepository(String),
    Look(String),
}

/// What has ended.
enum Ended {
    File { line: u64, index: usize, result: Result<Brought, Halt> },
    Closed { line: u64, result: io::Result<()> },
    Removed { line: u64 },
    Written(io::Result<()>),
    Told(Event),
}

pub(super) struct Queue {
    lines: Vec<Line>,
    means: Arc<Means>,
    mailbox: Arc<Mailbox>,
    at_once: usize,
    journal: PathBuf,
    tasks: JoinSet<Ended>,
    /// Which file a task brings, for one that ends by a panic.
    of_task: HashMap<Id, (u64, usize)>,
    next_number: u64,
    /// Whether something is to be remembered, and whether that is being done.
    unwritten: bool,
    writing: bool,
    /// Ends that are told once they are remembered, and those whose remembering is on its way: whoever hears of a file must find it in the
    /// journal.
    ends: Vec<Event>,
    ends_written: Vec<Event>,
    /// Whether there is something new to see in the list.
    listed: bool,
}

impl Queue {
    /// The queue as it was when the last process stopped.
    pub(super) fn new(options: Options, web: Web, mailbox: Arc<Mailbox>) -> Self {
        let journal = journal::path(&options.journal);
        let Remembered { jobs, shelf } = journal::read(&journal);
        let means =
            Means { web, patience: options.patience, free_space: options.free_space, root: options.models_root, shelf: Mutex::new(shelf) };
        let mut queue = Self {
            lines: Vec::new(),
            means: Arc::new(means),
            mailbox,
            at_once: options.at_once.max(1),
            journal,
            tasks: JoinSet::new(),
            of_task: HashMap::new(),
            next_number: 0,
            unwritten: false,
            writing: false,
            ends: Vec::new(),
            ends_written: Vec::new(),
            listed: true,
        };
        for stored in jobs {
            queue.append(stored);
        }
        queue
    }

    fn append(&mut self, stored: StoredJob) {
        self.next_number += 1;
        self.lines.push(Line::new(self.next_number, stored));
    }

    /// Works until nobody can give commands any longer; then stops everything where it is.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            self.start_what_may();
            self.write_soon();
            self.show();
            let running = !self.of_task.is_empty();
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
                _ = ticks.tick(), if running => self.tick(),
            }
        }
        for line in &self.lines {
            line.stop();
        }
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.ended(ended);
        }
        if self.unwritten
            && let Ok(text) = self.text()
            && let Err(error) = journal::write(&self.journal, &text)
        {
            tracing::error!(%error, "the download queue could not be remembered");
        }
        self.ends_written.append(&mut self.ends);
        self.tell_ends();
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Add(job) => self.add(*job),
            Command::Pause(id) => self.pause(|line| line.job.id == id),
            Command::PauseAll => self.pause(|_| true),
            Command::Resume(id) => {
                if let Some(line) = self.lines.iter_mut().find(|line| line.job.id == id)
                    && matches!(line.status, Status::Paused(_) | Status::Failed(_))
                {
                    line.status = Status::Waiting;
                    self.changed();
                }
            }
            Command::Cancel(id) => {
                if let Some(line) = self.lines.iter_mut().find(|line| line.job.id == id) {
                    line.then = Then::Cancel;
                    line.stop();
                    let number = line.number;
                    self.go_on(number);
                }
            }
            Command::Reorder { id, before } => self.reorder(&id, before.as_deref()),
            Command::Token(token) => self.means.web.set_token(token),
            Command::AtOnce(files) => self.at_once = files.max(1),
            Command::Search(text) => {
                let means = Arc::clone(&self.means);
                self.tasks.spawn(async move {
                    let answer = hub::search(&means.web, &text).await;
                    Ended::Told(Event::Found { text, answer })
                });
            }
            Command::Look(url) => {
                let means = Arc::clone(&self.means);
                self.tasks.spawn(async move {
                    let answer = look(&means.web, &url).await;
                    Ended::Told(Event::Looked { url, answer })
                });
            }
            Command::ListRepository(repo) => {
                let means = Arc::clone(&self.means);
                self.tasks.spawn(async move {
                    let answer = hub::files(&means.web, &repo).await;
                    Ended::Told(Event::RepositoryFiles { repo, answer })
                });
            }
        }
    }

    fn add(&mut self, mut job: Job) {
        if job.folder.is_relative() {
            job.folder = self.means.root.join(&job.folder);
        }
        let Some(line) = self.lines.iter_mut().find(|line| line.job.id == job.id) else {
            self.append(StoredJob { job, state: StoredState::Waiting, files: Vec::new() });
            return self.changed();
        };
        if line.job == job && matches!(line.then, Then::Nothing) {
            if !line.closing {
                line.status = Status::Waiting;
            }
        } else {
            line.then = Then::Replace(Box::new(job));
            line.stop();
            let number = line.number;
            self.go_on(number);
        }
        self.changed();
    }

    fn pause(&mut self, which: impl Fn(&Line) -> bool) {
        let mut told = Vec::new();
        for line in self.lines.iter_mut().filter(|line| line.is_open() && which(line)) {
            line.stop();
            line.status = Status::Paused(Why::Asked);
            told.push(Event::Paused { id: line.job.id.clone(), why: Why::Asked });
        }
        self.tell(told);
    }

    fn reorder(&mut self, id: &str, before: Option<&str>) {
        let Some(from) = self.lines.iter().position(|line| line.job.id == id) else { return };
        let line = self.lines.remove(from);
        let to = before.and_then(|before| self.lines.iter().position(|line| line.job.id == before));
        self.lines.insert(to.unwrap_or(self.lines.len()), line);
        self.changed();
    }

    /// Tells these once whoever asks sees them in the list too.
    fn tell(&mut self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        self.changed();
        self.show();
        for event in events {
            self.mailbox.push(event);
        }
    }

    fn changed(&mut self) {
        (self.unwritten, self.listed) = (true, true);
    }

    /// Starts what may run now, in the queue's order.
    fn start_what_may(&mut self) {
        let mut free = self.at_once.saturating_sub(self.of_task.len());
        let mut coming: Vec<Wanted> = Vec::new();
        for line in &self.lines {
            coming.extend(line.job.files.iter().zip(&line.slots).filter(|(_, slot)| slot.stop.is_some()).map(|(wanted, _)| wanted.clone()));
        }
        let mut whole = Vec::new();
        for line in self.lines.iter_mut().filter(|line| line.is_open()) {
            for (index, wanted) in line.job.files.iter().enumerate() {
                let Some(slot) = line.slots.get_mut(index) else { continue };
                if slot.state != StoredFile::Wanted || slot.stop.is_some() {
                    continue;
                }
                let waited = slot.gauge.stage() == Stage::Shared;
                let comes = coming.iter().any(|other| is_same(wanted, other));
                slot.gauge.set_stage(if comes { Stage::Shared } else { Stage::Waiting });
                if comes || free == 0 {
                    continue;
                }
                free -= 1;
                coming.push(wanted.clone());
                let (stop, stopped) = watch::channel(false);
                let order = Order {
                    wanted: wanted.clone(),
                    folder: line.job.folder.clone(),
                    licence_url: line.job.licence_url.clone(),
                    waited,
                    gauge: Arc::clone(&slot.gauge),
                    stop: stopped,
                };
                slot.gauge.set_stage(Stage::Checking);
                slot.stop = Some(stop);
                let (means, number) = (Arc::clone(&self.means), line.number);
                let task =
                    self.tasks.spawn(async move { Ended::File { line: number, index, result: transfer::bring(means, order).await } });
                self.of_task.insert(task.id(), (number, index));
            }
            let status = if line.is_idle() { Status::Waiting } else { Status::Running };
            self.listed |= status != line.status;
            line.status = status;
            if line.is_whole() && line.is_idle() {
                whole.push(line.number);
            }
        }
        for number in whole {
            self.close(number);
        }
    }

    fn ended(&mut self, ended: Result<(Id, Ended), tokio::task::JoinError>) {
        match ended {
            Ok((id, ended)) => {
                self.of_task.remove(&id);
                match ended {
                    Ended::File { line, index, result } => self.file_ended(line, index, result),
                    Ended::Closed { line, result } => self.closed(line, result),
                    Ended::Removed { line } => self.removed(line),
                    Ended::Written(result) => self.written(result),
                    Ended::Told(event) => self.mailbox.push(event),
                }
            }
            Err(error) => {
                tracing::error!(%error, "a part of the downloads has failed");
                if let Some((line, index)) = self.of_task.remove(&error.id()) {
                    self.file_ended(line, index, Err(lost()));
                }
            }
        }
    }

    fn file_ended(&mut self, number: u64, index: usize, result: Result<Brought, Halt>) {
        let Some(line) = self.lines.iter_mut().find(|line| line.number == number) else { return };
        let Some((slot, wanted)) = line.slots.get_mut(index).zip(line.job.files.get(index)) else { return };
        slot.stop = None;
        slot.gauge.set_stage(Stage::Waiting);
        let open = matches!(line.status, Status::Waiting | Status::Running) && matches!(line.then, Then::Nothing);
        let id = line.job.id.clone();
        let mut told = Vec::new();
        match result {
            Ok(Brought { kept, now, unpacked }) => {
                slot.gauge.set_stage(Stage::Done);
                slot.state = if now { StoredFile::Brought } else { StoredFile::Found };
                let mut shelf = self.means.shelf();
                // An archive is not kept, and so is nobody's twin.
                if wanted.unpack.is_none() && now {
                    shelf.add(kept);
                }
                for file in unpacked {
                    shelf.add(file);
                }
                drop(shelf);
                self.changed();
            }
            Err(Halt::Full { needed, free }) if open => {
                line.stop();
                let why = Why::DiskFull { needed, free };
                line.status = Status::Paused(why.clone());
                told.push(Event::Paused { id, why });
            }
            Err(Halt::Failed(failure)) if open => {
                line.stop();
                line.status = Status::Failed(failure.clone());
                told.push(Event::Failed { id, failure });
            }
            // It was stopped, or its job was paused or had failed before.
            Err(_) => {}
        }
        self.tell(told);
        self.go_on(number);
    }

    /// Does what follows once nothing of a job runs any longer.
    fn go_on(&mut self, number: u64) {
        let Some(line) = self.lines.iter_mut().find(|line| line.number == number) else { return };
        if !line.is_idle() || line.closing {
            return;
        }
        match std::mem::take(&mut line.then) {
            Then::Nothing => {}
            Then::Replace(job) => {
                *line = Line::new(number, StoredJob { job: *job, state: StoredState::Waiting, files: Vec::new() });
                self.changed();
            }
            Then::Cancel => {
                line.then = Then::Cancel;
                line.closing = true;
                let root = self.means.root.clone();
                let files = line.job.files.iter().zip(&line.slots).map(|(wanted, slot)| (wanted.clone(), slot.state)).collect();
                let folder = line.job.folder.clone();
                self.tasks.spawn(async move {
                    // A panic in there leaves files behind, and nothing else.
                    let _ = spawn_blocking(move || remove_all(&root, &folder, files)).await;
                    Ended::Removed { line: number }
                });
            }
        }
    }

    /// Writes the end of a job whose files are all there.
    fn close(&mut self, number: u64) {
        let Some(line) = self.lines.iter_mut().find(|line| line.number == number) else { return };
        line.closing = true;
        let (folder, manifest) = (line.job.folder.clone(), line.job.manifest.clone());
        let archives: Vec<PathBuf> = line
            .job
            .files
            .iter()
            .zip(&line.slots)
            .filter(|(wanted, slot)| wanted.unpack.is_some() && slot.state == StoredFile::Brought)
            .map(|(wanted, _)| line.target(wanted))
            .collect();
        self.tasks.spawn(async move {
            let done = spawn_blocking(move || finish(&folder, &archives, manifest.as_deref()));
            let result = done.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            Ended::Closed { line: number, result }
        });
    }

    fn closed(&mut self, number: u64, result: io::Result<()>) {
        let Some(line) = self.lines.iter_mut().find(|line| line.number == number) else { return };
        line.closing = false;
        if !matches!(line.then, Then::Nothing) {
            return self.go_on(number);
        }
        let id = line.job.id.clone();
        match result {
            Ok(()) => {
                self.lines.retain(|line| line.number != number);
                self.ends.push(Event::Done { id });
                self.changed();
            }
            Err(error) => {
                let folder = &line.job.folder;
                let failure = Failure {
                    sentence: format!("The files are there, but {} could not be written in {}: {error}.", MANIFEST, folder.display()),
                    hint: "Check that the folder may be written to, and try again.".into(),
                    cause: Cause::Disk,
                };
                line.status = Status::Failed(failure.clone());
                self.tell(vec![Event::Failed { id, failure }]);
            }
        }
    }

    fn removed(&mut self, number: u64) {
        let Some(line) = self.lines.extract_if(.., |line| line.number == number).next() else { return };
        self.tell(vec![Event::Cancelled { id: line.job.id }]);
    }

    fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let jobs = self.lines.iter().filter(|line| !matches!(line.then, Then::Cancel)).map(Line::stored).collect();
        journal::text(&Remembered { jobs, shelf: self.means.shelf().clone() })
    }

    /// Remembers the queue, unless that is being done: then once more when it is done.
    fn write_soon(&mut self) {
        if !self.unwritten || self.writing {
            return;
        }
        self.unwritten = false;
        match self.text() {
            Ok(text) => {
                self.writing = true;
                self.ends_written.append(&mut self.ends);
                let path = self.journal.clone();
                self.tasks.spawn(async move {
                    let done = spawn_blocking(move || journal::write(&path, &text)).await;
                    Ended::Written(done.unwrap_or_else(|error| Err(io::Error::other(error))))
                });
            }
            Err(error) => {
                tracing::error!(%error, "the download queue could not be remembered");
                self.ends_written.append(&mut self.ends);
                self.tell_ends();
            }
        }
    }

    fn tell_ends(&mut self) {
        self.show();
        for event in std::mem::take(&mut self.ends_written) {
            self.mailbox.push(event);
        }
    }

    fn written(&mut self, result: io::Result<()>) {
        self.writing = false;
        self.tell_ends();
        if let Err(error) = result {
            tracing::error!(%error, "the download queue could not be remembered");
        }
    }

    fn show(&mut self) {
        if !self.listed {
            return;
        }
        self.listed = false;
        self.mailbox.show(self.lines.iter().map(Line::entry).collect());
        self.mailbox.push(Event::Listed);
    }

    fn tick(&mut self) {
        let now = Instant::now();
        for line in &mut self.lines {
            line.tick(now);
        }
        self.mailbox.show(self.lines.iter().map(Line::entry).collect());
        for line in self.lines.iter().filter(|line| line.status == Status::Running) {
            self.mailbox.push(Event::Progress { id: line.job.id.clone(), progress: line.progress() });
        }
    }
}

/// Whether two files are one, as far as that can be known before their servers are asked.
fn is_same(one: &Wanted, other: &Wanted) -> bool {
    match (one.sha256, other.sha256) {
        (Some(one), Some(other)) => one == other,
        _ => one.source == other.source,
    }
}
