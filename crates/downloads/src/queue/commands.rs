//! Commands of the queue: jobs are added, paused, resumed, cancelled and moved.

use std::sync::Arc;

use super::{Command, Queue, TaskResult};
use crate::event::{Event, PauseReason, Status};
use crate::hub;
use crate::job::DownloadJob;
use crate::journal::{StoredJob, StoredState};
use crate::probe::probe;
use crate::queued_job::{FollowUp, QueuedJob};

impl Queue {
    pub(super) fn handle(&mut self, command: Command) {
        match command {
            Command::Add(job) => self.add(*job),
            Command::Pause(id) => self.pause(|queued| queued.job.id == id),
            Command::PauseAll => self.pause(|_| true),
            Command::Resume(id) => {
                if let Some(queued) = self.jobs.iter_mut().find(|queued| queued.job.id == id)
                    && matches!(queued.status, Status::Paused(_) | Status::Failed(_))
                {
                    queued.status = Status::Waiting;
                    self.changed();
                }
            }
            Command::Cancel(id) => {
                if let Some(queued) = self.jobs.iter_mut().find(|queued| queued.job.id == id) {
                    queued.follow_up = FollowUp::Cancel;
                    queued.stop();
                    let number = queued.number;
                    self.follow_up(number);
                }
            }
            Command::Reorder { id, before } => self.reorder(&id, before.as_deref()),
            Command::Token(token) => self.context.web.set_token(token),
            Command::AtOnce(files) => self.at_once = files.max(1),
            Command::Search(text) => {
                let context = Arc::clone(&self.context);
                self.tasks.spawn(async move {
                    let answer = hub::search(&context.web, &text).await;
                    TaskResult::Answered(Event::Found { text, answer })
                });
            }
            Command::Probe(url) => {
                let context = Arc::clone(&self.context);
                self.tasks.spawn(async move {
                    let answer = probe(&context.web, &url).await;
                    TaskResult::Answered(Event::Probed { url, answer })
                });
            }
            Command::ListRepository(repo) => {
                let context = Arc::clone(&self.context);
                self.tasks.spawn(async move {
                    let answer = hub::files(&context.web, &repo).await;
                    TaskResult::Answered(Event::RepositoryFiles { repo, answer })
                });
            }
        }
    }

    fn add(&mut self, mut job: DownloadJob) {
        if job.folder.is_relative() {
            job.folder = self.context.root.join(&job.folder);
        }
        let Some(queued) = self.jobs.iter_mut().find(|queued| queued.job.id == job.id) else {
            self.append(StoredJob { job, state: StoredState::Waiting, files: Vec::new() });
            return self.changed();
        };
        if queued.job == job && matches!(queued.follow_up, FollowUp::Nothing) {
            if !queued.is_finalizing {
                queued.status = Status::Waiting;
            }
        } else {
            queued.follow_up = FollowUp::Replace(Box::new(job));
            queued.stop();
            let number = queued.number;
            self.follow_up(number);
        }
        self.changed();
    }

    fn pause(&mut self, which: impl Fn(&QueuedJob) -> bool) {
        let mut events = Vec::new();
        for queued in self.jobs.iter_mut().filter(|queued| queued.is_open() && which(queued)) {
            queued.stop();
            queued.status = Status::Paused(PauseReason::ByPerson);
            events.push(Event::Paused { id: queued.job.id.clone(), why: PauseReason::ByPerson });
        }
        self.send(events);
    }

    fn reorder(&mut self, id: &str, before: Option<&str>) {
        let Some(from) = self.jobs.iter().position(|queued| queued.job.id == id) else { return };
        let queued = self.jobs.remove(from);
        let to = before.and_then(|before| self.jobs.iter().position(|queued| queued.job.id == before));
        self.jobs.insert(to.unwrap_or(self.jobs.len()), queued);
        self.changed();
    }
}
