//! Downloaded files: integrity checks, each on a thread of its own, and deletion.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use atelier_core::format::file_size;
use atelier_language::tr;
use atelier_library::{InstalledItem, Models, Removal, RemovalError, Verdict, Verified, downloaded, file_name};

use super::message::{CheckedFile, FileCheck, LibraryEvent, Message, RemovalPreview};
use super::worker::Worker;

/// Bytes read between two progress events of a check.
const PROGRESS_EVERY_BYTES: u64 = 32 << 20;

impl Worker {
    /// Compares every byte of a model with its published sums, on a thread of its own.
    pub(super) fn check_files(&mut self, id: &str) {
        if self.checks.iter().any(|(it, _)| it == id) {
            return;
        }
        if downloaded_item(&self.models, id).is_none() {
            return self.notice(tr!("studio-this-model-no-longer"));
        }
        let models = Arc::clone(&self.models);
        let downloaded = downloaded(&self.options.paths.downloads());
        let (events, messages, id) = (Arc::clone(&self.events), self.messages.clone(), id.to_owned());
        let stop = Arc::new(AtomicBool::new(false));
        self.checks.push((id.clone(), Arc::clone(&stop)));
        let thread_id = id.clone();
        let spawned = thread::Builder::new().name("check".into()).spawn(move || {
            let id = thread_id;
            let item = downloaded_item(&models, &id);
            let total = match &item {
                Some(InstalledItem::Model(model)) => model.manifest.bytes(),
                Some(InstalledItem::File(_, path)) => std::fs::metadata(path).ok().map(|it| it.len()),
                None => None,
            };
            let (mut bytes, mut reported_bytes) = (0u64, 0u64);
            let report = |bytes| events.send(LibraryEvent::Check(id.clone(), Some(FileCheck::Running { bytes, total })));
            report(0);
            let published_sum = |path: &Path| downloaded.iter().find(|it| it.path == path).and_then(|it| it.sha256);
            let mut go_on = |more| {
                bytes += more;
                if bytes >= reported_bytes + PROGRESS_EVERY_BYTES {
                    reported_bytes = bytes;
                    report(bytes);
                }
                !stop.load(Ordering::SeqCst)
            };
            let verified = item.and_then(|it| it.verify(&published_sum, &mut go_on));
            let files = verified.map(|it| it.iter().map(checked_file).collect());
            // A thread that has ended needs no answer.
            let _ = messages.send(Message::CheckEnded(id, files));
        });
        if spawned.is_err() {
            self.check_ended(id, None);
        }
    }

    pub(super) fn stop_check(&self, id: &str) {
        for (_, stop) in self.checks.iter().filter(|(it, _)| it == id) {
            stop.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn check_ended(&mut self, id: String, files: Option<Vec<CheckedFile>>) {
        self.checks.retain(|(it, _)| *it != id);
        self.send(LibraryEvent::Check(id, files.map(FileCheck::Done)));
    }

    /// The removal of a model, with the model's name.
    fn plan_removal(&self, id: &str) -> Result<(Removal, String), RemovalError> {
        let not_ours = || RemovalError::NotOurs { model: id.to_owned(), folder: self.models_root() };
        let item = downloaded_item(&self.models, id).ok_or_else(not_ours)?;
        let removal = item.plan_removal(&self.models_root(), &self.models, &downloaded(&self.options.paths.downloads()))?;
        let name = match &item {
            InstalledItem::Model(model) => model.manifest.shown_name(),
            InstalledItem::File(_, path) => file_name(path),
        };
        Ok((removal, name))
    }

    pub(super) fn preview_removal(&self, id: &str) {
        match self.plan_removal(id) {
            Ok((removal, name)) => self.send(LibraryEvent::RemovalPreview(Box::new(RemovalPreview {
                id: id.to_owned(),
                name,
                removed: removal.going.iter().map(|it| file_name(it)).collect(),
                kept: removal.staying.iter().map(|(path, why)| (file_name(path), why.sentence())).collect(),
                bytes: removal.bytes,
            }))),
            Err(error) => self.notice(error.to_string()),
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        let trash = self.options.trash;
        let removed =
            self.plan_removal(id).and_then(|(removal, name)| removal.carry_out(&mut |path| trash(path)).map(|()| (removal, name)));
        match removed {
            Ok((removal, name)) => self.notice(tr!("studio-is-in-the-trash", name, bytes = file_size(removal.bytes))),
            Err(error) => self.notice(error.to_string()),
        }
        self.rebuild();
        self.rescan();
    }
}

/// The model or file that was downloaded under this id.
fn downloaded_item<'m>(models: &'m Models, id: &str) -> Option<InstalledItem<'m>> {
    let model = models.installed.iter().find(|it| it.manifest.id == id).map(InstalledItem::Model);
    model.or_else(|| Some(InstalledItem::File(id.to_owned(), models.loose_file(id)?)))
}

fn checked_file(file: &Verified) -> CheckedFile {
    let (is_right, words) = match &file.verdict {
        Verdict::Right => (true, "right".into()),
        Verdict::Unknown(_) => (true, tr!("studio-the-header-is-valid").into()),
        Verdict::Wrong(fault) => (false, fault.to_string()),
        Verdict::Damaged(sentence) => (false, sentence.clone()),
    };
    CheckedFile { name: file_name(&file.path), is_right, words }
}
