//! Ends of transfers and jobs: each run of a job ends once, and its end is told once it is in the
//! journal.

use std::io;
use std::path::PathBuf;

use atelier_language::tr;
use tokio::task::spawn_blocking;

use super::{Queue, TaskResult};
use crate::event::{Event, PauseReason, Stage, Status};
use crate::failure::{Cause, Failure};
use crate::finalize::{finish, remove_all};
use crate::job::MANIFEST;
use crate::journal::{StoredFile, StoredJob, StoredState};
use crate::queued_job::{FollowUp, QueuedJob};
use crate::transfer::Transferred;
use crate::transfer_error::{TransferError, is_full};

impl Queue {
    pub(super) fn file_ended(&mut self, number: u64, index: usize, result: Result<Transferred, TransferError>) {
        let Some(queued) = self.jobs.iter_mut().find(|queued| queued.number == number) else { return };
        let Some((file_state, wanted)) = queued.file_states.get_mut(index).zip(queued.job.files.get(index)) else { return };
        file_state.stop = None;
        file_state.counter.set_stage(Stage::Waiting);
        let open = matches!(queued.status, Status::Waiting | Status::Running) && matches!(queued.follow_up, FollowUp::Nothing);
        let id = queued.job.id.clone();
        let mut events = Vec::new();
        match result {
            Ok(Transferred { kept, now, unpacked }) => {
                file_state.counter.set_stage(Stage::Done);
                file_state.state = if now { StoredFile::Downloaded } else { StoredFile::Existing };
                let mut index = self.context.index();
                // An archive is not kept, and so is nobody's twin.
                if wanted.unpack.is_none() && now {
                    index.add(kept);
                }
                for file in unpacked {
                    index.add(file);
                }
                drop(index);
                self.changed();
            }
            Err(TransferError::Full { needed, free }) if open => {
                queued.stop();
                let why = PauseReason::DiskFull { needed, free };
                queued.status = Status::Paused(why.clone());
                events.push(Event::Paused { id, why });
            }
            Err(TransferError::Failed(failure)) if open => {
                queued.stop();
                queued.status = Status::Failed(failure.clone());
                events.push(Event::Failed { id, failure });
            }
            // It was stopped, or its job was paused or had failed before.
            Err(_) => {}
        }
        self.send(events);
        self.follow_up(number);
    }

    /// Does what follows once nothing of a job runs any longer.
    pub(super) fn follow_up(&mut self, number: u64) {
        let Some(queued) = self.jobs.iter_mut().find(|queued| queued.number == number) else { return };
        if !queued.is_idle() || queued.is_finalizing {
            return;
        }
        match std::mem::take(&mut queued.follow_up) {
            FollowUp::Nothing => {}
            FollowUp::Replace(job) => {
                *queued = QueuedJob::new(number, StoredJob { job: *job, state: StoredState::Waiting, files: Vec::new() });
                self.changed();
            }
            FollowUp::Cancel => {
                queued.follow_up = FollowUp::Cancel;
                queued.is_finalizing = true;
                let root = self.context.root.clone();
                let files = queued
                    .job
                    .files
                    .iter()
                    .zip(&queued.file_states)
                    .map(|(wanted, file_state)| (wanted.clone(), file_state.state))
                    .collect();
                let folder = queued.job.folder.clone();
                self.tasks.spawn(async move {
                    // A panic in there leaves files behind, and nothing else.
                    let _ = spawn_blocking(move || remove_all(&root, &folder, files)).await;
                    TaskResult::Removed { queued: number }
                });
            }
        }
    }

    /// Writes the end of a job whose files are all there.
    pub(super) fn close(&mut self, number: u64) {
        let Some(queued) = self.jobs.iter_mut().find(|queued| queued.number == number) else { return };
        queued.is_finalizing = true;
        let (folder, manifest) = (queued.job.folder.clone(), queued.job.manifest.clone());
        let archives: Vec<PathBuf> = queued
            .job
            .files
            .iter()
            .zip(&queued.file_states)
            .filter(|(wanted, file_state)| wanted.unpack.is_some() && file_state.state == StoredFile::Downloaded)
            .map(|(wanted, _)| queued.target(wanted))
            .collect();
        self.tasks.spawn(async move {
            let done = spawn_blocking(move || finish(&folder, &archives, manifest.as_deref()));
            let result = done.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            TaskResult::Closed { queued: number, result }
        });
    }

    pub(super) fn closed(&mut self, number: u64, result: io::Result<()>) {
        let Some(queued) = self.jobs.iter_mut().find(|queued| queued.number == number) else { return };
        queued.is_finalizing = false;
        if !matches!(queued.follow_up, FollowUp::Nothing) {
            return self.follow_up(number);
        }
        let id = queued.job.id.clone();
        match result {
            Ok(()) => {
                self.jobs.retain(|queued| queued.number != number);
                self.ends.push(Event::Done { id });
                self.changed();
            }
            Err(error) if is_full(&error) => {
                let needed = queued.job.manifest.as_ref().map_or(0, |text| text.len() as u64);
                let why = PauseReason::DiskFull { needed, free: 0 };
                queued.status = Status::Paused(why.clone());
                self.send(vec![Event::Paused { id, why }]);
            }
            Err(error) => {
                let folder = &queued.job.folder;
                let failure = Failure::new(
                    Cause::Disk,
                    tr!("downloads-the-files-are-there", manifest = MANIFEST, folder = folder.display(), error),
                    tr!("downloads-check-that-the-folder-is-writable"),
                );
                queued.status = Status::Failed(failure.clone());
                self.send(vec![Event::Failed { id, failure }]);
            }
        }
    }

    pub(super) fn removed(&mut self, number: u64) {
        let Some(queued) = self.jobs.extract_if(.., |queued| queued.number == number).next() else { return };
        self.send(vec![Event::Cancelled { id: queued.job.id }]);
    }
}
