//! The queue itself: takes commands, starts and stops transfers, remembers, tells.
//!
//! It runs on one thread and never blocks it: files are written, hashed and unpacked by threads of
//! their own. A file that two jobs want is brought by the first, and given to the second once it is
//! there.

mod commands;
mod endings;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_language::tr;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinSet, spawn_blocking};

use super::event::{Event, JobSnapshot, Stage, Status};
use super::job::{DownloadJob, FileRequest};
use super::journal::{self, StoredFile, StoredJob, StoredQueue};
use super::options::Options;
use super::outbox::Outbox;
use super::queued_job::{FollowUp, QueuedJob, WantedRoom};
use super::task::{Context, FileTask};
use super::token::Token;
use super::transfer::{Transferred, transfer_file};
use super::transfer_error::{TransferError, lost};
use super::web::Web;

/// Interval of the snapshots while something runs.
const TICK: Duration = Duration::from_millis(100);
/// Time between two looks at a disk that had no room for a job.
const ROOM_INTERVAL: Duration = Duration::from_secs(2);
/// Time between two tries to remember the queue.
const WRITE_INTERVAL: Duration = Duration::from_secs(2);

/// Command for the queue.
pub(super) enum Command {
    Add(Box<DownloadJob>),
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
    Probe(String),
}

/// Result of a background task of the queue.
enum TaskResult {
    File {
        queued: u64,
        index: usize,
        result: Result<Transferred, TransferError>,
    },
    Closed {
        queued: u64,
        result: io::Result<()>,
    },
    Removed {
        queued: u64,
    },
    Written(io::Result<()>),
    /// Jobs whose disk has room again.
    Room(Vec<u64>),
    Answered(Event),
}

pub(super) struct Queue {
    jobs: Vec<QueuedJob>,
    context: Arc<Context>,
    outbox: Arc<Outbox>,
    at_once: usize,
    journal: PathBuf,
    tasks: JoinSet<TaskResult>,
    /// File of each task, for one that ends by a panic.
    of_task: HashMap<Id, (u64, usize)>,
    next_number: u64,
    /// True if the journal is out of date; true while it is being written.
    unwritten: bool,
    writing: bool,
    /// The next try to write it, after one that failed, which a person was told of.
    write_again: Option<tokio::time::Instant>,
    /// True while the disks of jobs that wait for room are looked at.
    looks_for_room: bool,
    /// Ends that are told once they are remembered, and those whose remembering is on its way:
    /// whoever hears of a file must find it in the journal.
    ends: Vec<Event>,
    ends_written: Vec<Event>,
    /// True if the snapshot is out of date.
    unpublished: bool,
}

impl Queue {
    /// The queue as it was when the last process stopped.
    pub(super) fn new(options: Options, remembered: StoredQueue, web: Web, outbox: Arc<Outbox>) -> Self {
        let journal = journal::path(&options.journal);
        let StoredQueue { jobs, index } = remembered;
        let context = Context {
            web,
            retry_policy: options.retry_policy,
            free_space: options.free_space,
            inspect: options.inspect,
            root: options.models_root,
            index: Mutex::new(index),
        };
        let mut queue = Self {
            jobs: Vec::new(),
            context: Arc::new(context),
            outbox,
            at_once: options.at_once.max(1),
            journal,
            tasks: JoinSet::new(),
            of_task: HashMap::new(),
            next_number: 0,
            unwritten: false,
            writing: false,
            write_again: None,
            looks_for_room: false,
            ends: Vec::new(),
            ends_written: Vec::new(),
            unpublished: true,
        };
        for stored in jobs {
            queue.append(stored);
        }
        queue
    }

    fn append(&mut self, stored: StoredJob) {
        self.next_number += 1;
        self.jobs.push(QueuedJob::new(self.next_number, stored));
    }

    /// Works until nobody can give commands any longer; then stops everything where it is.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut looks = tokio::time::interval(ROOM_INTERVAL);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            self.start_transfers();
            self.write_soon();
            self.publish();
            let running = !self.of_task.is_empty();
            let waits_for_room = !self.looks_for_room && self.jobs.iter().any(|queued| queued.wanted_room().is_some());
            let write_again = self.write_again;
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.handle(command),
                    None => break,
                },
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
                _ = ticks.tick(), if running => self.tick(),
                _ = looks.tick(), if waits_for_room => self.look_for_room(),
                () = sleep_until(write_again), if write_again.is_some() && !self.writing => {
                    self.unwritten = true;
                    self.write_now();
                }
            }
        }
        for queued in &self.jobs {
            queued.stop();
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
        self.send_ends();
    }

    /// Tells these once whoever asks sees them in the list too.
    fn send(&mut self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        self.changed();
        self.publish();
        for event in events {
            self.outbox.send(event);
        }
    }

    fn changed(&mut self) {
        (self.unwritten, self.unpublished) = (true, true);
    }

    /// Starts what may run now, in the queue's order.
    fn start_transfers(&mut self) {
        let mut free = self.at_once.saturating_sub(self.of_task.len());
        let mut coming: Vec<FileRequest> = Vec::new();
        for queued in &self.jobs {
            coming.extend(
                queued
                    .job
                    .files
                    .iter()
                    .zip(&queued.file_states)
                    .filter(|(_, file_state)| file_state.stop.is_some())
                    .map(|(wanted, _)| wanted.clone()),
            );
        }
        let mut whole = Vec::new();
        for queued in self.jobs.iter_mut().filter(|queued| queued.is_open()) {
            for (index, wanted) in queued.job.files.iter().enumerate() {
                let Some(file_state) = queued.file_states.get_mut(index) else { continue };
                if file_state.state != StoredFile::Pending || file_state.stop.is_some() {
                    continue;
                }
                let waited = file_state.counter.stage() == Stage::Shared;
                let comes = coming.iter().any(|other| is_same(wanted, other));
                file_state.counter.set_stage(if comes { Stage::Shared } else { Stage::Waiting });
                if comes || free == 0 {
                    continue;
                }
                free -= 1;
                coming.push(wanted.clone());
                let (stop, stopped) = watch::channel(false);
                let file_task = FileTask {
                    wanted: wanted.clone(),
                    folder: queued.job.folder.clone(),
                    licence_url: queued.job.licence_url.clone(),
                    by_link: queued.job.manifest.is_none(),
                    waited,
                    counter: Arc::clone(&file_state.counter),
                    stop: stopped,
                };
                file_state.counter.set_stage(Stage::Checking);
                file_state.stop = Some(stop);
                let (context, number) = (Arc::clone(&self.context), queued.number);
                let task = self
                    .tasks
                    .spawn(async move { TaskResult::File { queued: number, index, result: transfer_file(context, file_task).await } });
                self.of_task.insert(task.id(), (number, index));
            }
            let status = if queued.is_idle() { Status::Waiting } else { Status::Running };
            self.unpublished |= status != queued.status;
            queued.status = status;
            if queued.is_whole() && queued.is_idle() {
                whole.push(queued.number);
            }
        }
        for number in whole {
            self.close(number);
        }
    }

    fn ended(&mut self, ended: Result<(Id, TaskResult), tokio::task::JoinError>) {
        match ended {
            Ok((id, ended)) => {
                self.of_task.remove(&id);
                match ended {
                    TaskResult::File { queued, index, result } => self.file_ended(queued, index, result),
                    TaskResult::Closed { queued, result } => self.closed(queued, result),
                    TaskResult::Removed { queued } => self.removed(queued),
                    TaskResult::Written(result) => self.written(result),
                    TaskResult::Room(jobs) => self.has_room(&jobs),
                    TaskResult::Answered(event) => self.outbox.send(event),
                }
            }
            Err(error) => {
                tracing::error!(%error, "a part of the downloads has failed");
                if let Some((queued, index)) = self.of_task.remove(&error.id()) {
                    self.file_ended(queued, index, Err(lost()));
                }
            }
        }
    }

    fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let jobs = self.jobs.iter().filter(|queued| !matches!(queued.follow_up, FollowUp::Cancel)).map(QueuedJob::stored).collect();
        journal::text(&StoredQueue { jobs, index: self.context.index().clone() })
    }

    /// Remembers the queue, unless that is being done: then once more when it is done.
    fn write_soon(&mut self) {
        if self.unwritten && !self.writing && self.write_again.is_none() {
            self.write_now();
        }
    }

    fn write_now(&mut self) {
        self.unwritten = false;
        match self.text() {
            Ok(text) => {
                self.writing = true;
                self.ends_written.append(&mut self.ends);
                let path = self.journal.clone();
                self.tasks.spawn(async move {
                    let done = spawn_blocking(move || journal::write(&path, &text)).await;
                    TaskResult::Written(done.unwrap_or_else(|error| Err(io::Error::other(error))))
                });
            }
            Err(error) => {
                tracing::error!(%error, "the download queue could not be remembered");
                self.ends_written.append(&mut self.ends);
                self.send_ends();
            }
        }
    }

    fn send_ends(&mut self) {
        self.publish();
        for event in std::mem::take(&mut self.ends_written) {
            self.outbox.send(event);
        }
    }

    fn written(&mut self, result: io::Result<()>) {
        self.writing = false;
        self.send_ends();
        let was_told = self.write_again.take().is_some();
        if let Err(error) = result {
            // Nothing is lost while the program runs.
            self.write_again = Some(tokio::time::Instant::now() + WRITE_INTERVAL);
            if !was_told {
                tracing::error!(%error, "the download queue could not be remembered");
                let path = self.journal.display();
                self.outbox.send(Event::Notice(tr!("downloads-the-download-list-cannot", path, error)));
            }
        }
    }

    /// Looks whether the disks of jobs that wait for room have it.
    fn look_for_room(&mut self) {
        self.looks_for_room = true;
        let wanted: Vec<_> = self.jobs.iter().filter_map(|it| Some((it.number, it.job.folder.clone(), it.wanted_room()?))).collect();
        let context = Arc::clone(&self.context);
        self.tasks.spawn(async move {
            let looked = spawn_blocking(move || {
                let has_room = |(_, folder, room): &(u64, PathBuf, WantedRoom)| {
                    // More than there was when it stopped: a disk may refuse what it says it has.
                    (context.free_space)(folder).is_ok_and(|free| free >= room.needed && free > room.free)
                };
                wanted.into_iter().filter(has_room).map(|(number, ..)| number).collect()
            });
            TaskResult::Room(looked.await.unwrap_or_default())
        });
    }

    fn has_room(&mut self, numbers: &[u64]) {
        self.looks_for_room = false;
        for queued in self.jobs.iter_mut().filter(|it| numbers.contains(&it.number) && it.wanted_room().is_some()) {
            queued.status = Status::Waiting;
            (self.unwritten, self.unpublished) = (true, true);
        }
    }

    fn publish(&mut self) {
        if !self.unpublished {
            return;
        }
        self.unpublished = false;
        self.outbox.publish(self.snapshot());
    }

    fn tick(&mut self) {
        let now = Instant::now();
        for queued in &mut self.jobs {
            queued.tick(now);
        }
        self.outbox.publish(self.snapshot());
    }

    fn snapshot(&self) -> Vec<JobSnapshot> {
        self.jobs.iter().map(QueuedJob::snapshot).collect()
    }
}

/// Returns at this time; never where there is none.
async fn sleep_until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// True if two files are one, as far as that can be known before their servers are asked.
fn is_same(one: &FileRequest, other: &FileRequest) -> bool {
    match (one.sha256, other.sha256) {
        (Some(one), Some(other)) => one == other,
        _ => one.source == other.source,
    }
}
