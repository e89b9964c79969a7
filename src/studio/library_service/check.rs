//! Whether a model's files are right, and taking a model away.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::gui::models::{Check, Farewell};
use crate::studio::library_service::work::Worker;
use crate::studio::library_service::{Order, Told};
use atelier_core::format::file_size;
use atelier_library::{Fetched, Models, Removal, RemovalError, Verdict, Verified, downloaded, file_name};

/// Bytes between two words about how far a check is.
const TOLD_EVERY_BYTES: u64 = 32 << 20;

impl Worker {
    /// Reads every byte of a model on a thread of its own.
    pub(crate) fn check(&mut self, id: &str) {
        if self.checks.iter().any(|(it, _)| it == id) {
            return;
        }
        if fetched(&self.models, id).is_none() {
            return self.notice("This model is gone.");
        }
        let models = Arc::clone(&self.models);
        let known = downloaded(&self.options.paths.downloads());
        let (inbox, orders, id) = (Arc::clone(&self.inbox), self.orders.clone(), id.to_owned());
        let stop = Arc::new(AtomicBool::new(false));
        self.checks.push((id.clone(), Arc::clone(&stop)));
        let name = id.clone();
        let spawned = thread::Builder::new().name("check".into()).spawn(move || {
            let fetched = fetched(&models, &name);
            let total = match &fetched {
                Some(Fetched::Model(model)) => model.manifest.bytes(),
                Some(Fetched::File(_, path)) => std::fs::metadata(path).ok().map(|it| it.len()),
                None => None,
            };
            let (mut bytes, mut told) = (0u64, 0u64);
            let running = |bytes| Told::Check(name.clone(), Some(Check::Running { bytes, total }));
            inbox.tell(running(0));
            let sums = |path: &Path| known.iter().find(|it| it.path == path).and_then(|it| it.sha256);
            let mut watch = |more| {
                bytes += more;
                if bytes >= told + TOLD_EVERY_BYTES {
                    told = bytes;
                    inbox.tell(running(bytes));
                }
                !stop.load(Ordering::SeqCst)
            };
            let verified = fetched.and_then(|it| it.verify(&sums, &mut watch));
            let lines = verified.map(|it| it.iter().map(line).collect());
            // A keeper that has ended needs no answer.
            let _ = orders.send(Order::Checked(name, lines));
        });
        if spawned.is_err() {
            self.checked(id, None);
        }
    }

    pub(crate) fn stop_check(&self, id: &str) {
        for (_, stop) in self.checks.iter().filter(|(it, _)| it == id) {
            stop.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn checked(&mut self, id: String, lines: Option<Vec<(String, bool, String)>>) {
        self.checks.retain(|(it, _)| *it != id);
        self.tell(Told::Check(id, lines.map(Check::Done)));
    }

    fn removal(&self, id: &str) -> Result<(Removal, String), RemovalError> {
        let gone = || RemovalError::NotOurs { model: id.to_owned(), folder: self.models_root() };
        let fetched = fetched(&self.models, id).ok_or_else(gone)?;
        let plan = fetched.plan_removal(&self.models_root(), &self.models, &downloaded(&self.options.paths.downloads()))?;
        let name = match &fetched {
            Fetched::Model(model) => model.manifest.name.clone(),
            Fetched::File(_, path) => file_name(path),
        };
        Ok((plan, name))
    }

    pub(crate) fn plan_removal(&self, id: &str) {
        match self.removal(id) {
            Ok((plan, name)) => self.tell(Told::Farewell(Box::new(Farewell {
                id: id.to_owned(),
                name,
                going: plan.going.iter().map(|it| file_name(it)).collect(),
                staying: plan.staying.iter().map(|(path, why)| (file_name(path), why.sentence())).collect(),
                bytes: plan.bytes,
            }))),
            Err(error) => self.notice(error.to_string()),
        }
    }

    pub(crate) fn remove(&mut self, id: &str) {
        let trash = self.options.trash;
        let removed = self.removal(id).and_then(|(plan, name)| plan.carry_out(&mut |path| trash(path)).map(|()| (plan, name)));
        match removed {
            Ok((plan, name)) => self.notice(format!("{name} is in the trash: {}.", file_size(plan.bytes))),
            Err(error) => self.notice(error.to_string()),
        }
        self.put_together();
        self.look_again();
    }
}

/// What was downloaded under this id.
fn fetched<'m>(models: &'m Models, id: &str) -> Option<Fetched<'m>> {
    let model = models.installed.iter().find(|it| it.manifest.id == id).map(Fetched::Model);
    model.or_else(|| Some(Fetched::File(id.to_owned(), models.loose_file(id)?)))
}

fn line(file: &Verified) -> (String, bool, String) {
    let name = file_name(&file.path);
    match &file.verdict {
        Verdict::Right => (name, true, "right".into()),
        Verdict::Unknown(_) => (name, true, "whole, as far as its header tells; nobody published its sum".into()),
        Verdict::Wrong(fault) => (name, false, fault.to_string()),
        Verdict::Damaged(sentence) => (name, false, sentence.clone()),
    }
}
