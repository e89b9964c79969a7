//! Output of `atelier models`: tables for people, and with `--json` one object a line.
//!
//! `docs/json.md` names every key.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::devices::aligned;
use crate::cli::printer::Printer;
use crate::cli::reporter::Reporter;

use atelier_core::format::file_size;
use atelier_core::plain_text::quoted_path;
use atelier_library::disk::{Facts, FileStatus, Layout, ScanResult};
use atelier_library::{CardVariant, Licence, ModelCard, Usage};

/// Reports the findings of a command: tables and sentences, or lines of JSON.
pub(super) struct LibraryReport<'a> {
    pub(super) printer: Printer<'a>,
    pub(super) reporter: Box<dyn Reporter + 'a>,
}

impl LibraryReport<'_> {
    /// Something was passed over.
    pub(super) fn warning(&mut self, sentence: &str) -> io::Result<()> {
        self.printer.json(&json!({"event": "problem", "message": sentence}))?;
        self.reporter.message(&format!("warning: {sentence}"));
        Ok(())
    }

    pub(super) fn cards(&mut self, cards: &[ModelCard]) -> io::Result<()> {
        for card in cards {
            self.printer.json(&card_line(card))?;
        }
        let bytes = |card: &ModelCard| card.bytes.map_or_else(|| "?".into(), file_size);
        let rows = cards
            .iter()
            .filter(|it| !it.is_loose_file)
            .map(|it| [it.id.clone(), it.availability.label().into(), bytes(it), it.family.clone().unwrap_or_default(), it.name.clone()]);
        self.table(["MODEL", "STATE", "SIZE", "FAMILY", "NAME"], rows.collect())?;
        // Their ids are paths: last, so that no column is as wide.
        let rows = cards.iter().filter(|it| it.is_loose_file).map(|it| {
            let family = it.family.clone().unwrap_or_default();
            [it.kind_label().into(), it.availability.label().into(), bytes(it), family, it.id.clone()]
        });
        self.table(["KIND", "STATE", "SIZE", "FAMILY", "FILE"], rows.collect())
    }

    pub(super) fn card(&mut self, card: &ModelCard) -> io::Result<()> {
        self.printer.json(&card_line(card))?;
        self.printer.text(&format!("{} ({})", card.name, card.id))?;
        if !card.description.is_empty() {
            self.printer.text(&card.description)?;
        }
        self.printer.text(&format!("state:    {}", card.availability.label()))?;
        for problem in card.problem_sentences() {
            self.printer.text(&format!("          {problem}"))?;
        }
        if let Some(family) = &card.family {
            self.printer.text(&format!("family:   {family}"))?;
        }
        if let Some(licence) = &card.licence {
            self.printer.text(&format!("licence:  {}", licence_text(licence)))?;
        }
        if let Some(bytes) = card.bytes {
            self.printer.text(&format!("size:     {}", file_size(bytes)))?;
        }
        for (at, file) in card.files.iter().enumerate() {
            let place = file.path.as_deref().map_or_else(|| file.name.clone(), |it| quoted_path(it).into_owned());
            let bytes = file.bytes.map_or_else(|| "?".into(), file_size);
            let head = if at == 0 { "files:    " } else { "          " };
            self.printer.text(&format!("{head}{}: {place} ({bytes})", file.role.label()))?;
        }
        for variant in other_sizes(card) {
            let name = &variant.name;
            let bytes = variant.bytes.map(|it| format!(", {} in all", file_size(it))).unwrap_or_default();
            self.printer.text(&format!("variant:  {}:{name}{bytes}", card.id))?;
        }
        Ok(())
    }

    pub(super) fn file(&mut self, path: &Path, bytes: u64, status: &FileStatus) -> io::Result<()> {
        let (raw, shown) = (path.display().to_string(), quoted_path(path));
        match status {
            FileStatus::Known(facts) => {
                self.printer.json(&json!({"event": "file", "path": raw, "bytes": bytes, "facts": **facts}))?;
                self.facts(&shown, bytes, facts)
            }
            other => {
                let problem = match other {
                    FileStatus::Faulty { advice, .. } => advice.to_string(),
                    _ => {
                        "Pickle files can execute code when loaded, so Atelier does not open them. Look for the same model as .safetensors."
                            .into()
                    }
                };
                self.printer.json(&json!({"event": "file", "path": raw, "bytes": bytes, "problem": problem}))?;
                self.printer.text(&format!("{shown} ({})", file_size(bytes)))?;
                self.printer.text(&problem)
            }
        }
    }

    fn facts(&mut self, path: &str, bytes: u64, facts: &Facts) -> io::Result<()> {
        let millions = facts.parameters as f64 / 1e6;
        self.printer.text(&format!("{path} ({})", file_size(bytes)))?;
        self.printer.text(&format!("kind:     {}, {millions:.0} million parameters, {}", facts.name, facts.quantisation))?;
        let training = &facts.training;
        let lines = [
            ("title:    ", training.title.clone()),
            ("author:   ", training.author.clone()),
            ("made for: ", training.base_model.clone()),
            ("triggers: ", (!training.trigger_words.is_empty()).then(|| training.trigger_words.join(", "))),
            ("usage:    ", training.usage.clone()),
        ];
        for (head, text) in lines {
            if let Some(text) = text {
                self.printer.text(&format!("{head}{text}"))?;
            }
        }
        if !training.tags.is_empty() {
            let tags: Vec<String> = training.tags.iter().map(|(tag, count)| format!("{tag} ({count})")).collect();
            self.printer.text(&format!("tags:     {}", tags.join(", ")))?;
        }
        Ok(())
    }

    pub(super) fn usage(&mut self, usage: &Usage) -> io::Result<()> {
        let models: Vec<Value> = usage.models.iter().map(|it| json!({"id": it.id, "bytes": it.bytes, "shared_bytes": it.shared})).collect();
        let folders = usage
            .folders
            .iter()
            .map(|it| json!({"path": it.path.display().to_string(), "layout": it.layout.key(), "files": it.files, "bytes": it.bytes}));
        let folders: Vec<Value> = folders.collect();
        self.printer.json(&json!({"event": "usage", "models": models, "folders": folders, "total_bytes": usage.total}))?;
        let rows = usage.models.iter().map(|it| {
            let shared = if it.shared > 0 { format!("{} shared", file_size(it.shared)) } else { String::new() };
            [it.id.clone(), file_size(it.bytes), shared]
        });
        self.table(["MODEL", "SIZE", ""], rows.collect())?;
        let rows = usage.folders.iter().map(|it| [quoted_path(&it.path).into_owned(), file_size(it.bytes), format!("{} files", it.files)]);
        self.table(["FOLDER", "SIZE", "FILES"], rows.collect())?;
        self.printer.text(&format!("{} in all", file_size(usage.total)))
    }

    /// Contents of a folder that was added.
    pub(super) fn folder(&mut self, path: &Path, scan: &ScanResult, forgotten: bool) -> io::Result<()> {
        let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
        for file in &scan.files {
            *counts.entry(file.role().map_or("unknown", |it| it.key())).or_default() += 1;
        }
        let layout = scan.folders.iter().find(|it| it.path == path).map_or(Layout::Plain, |it| it.layout);
        self.printer.json(
            &json!({"event": "folder", "path": path.display().to_string(), "layout": layout.key(), "files": counts, "forgotten": forgotten}),
        )?;
        if forgotten {
            return self.printer.text(&format!("{} was removed from the library. Its files were not changed.", quoted_path(path)));
        }
        let parts: Vec<String> = counts.iter().map(|(role, count)| format!("{count} {role}")).collect();
        let parts = if parts.is_empty() { "no model files yet".into() } else { parts.join(", ") };
        self.printer.text(&format!("{} ({}) is used in place: {parts}.", quoted_path(path), layout.label()))
    }

    /// A table with aligned columns; nothing where it has no rows.
    fn table<const N: usize>(&mut self, head: [&str; N], rows: Vec<[String; N]>) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows: Vec<[String; N]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
        self.printer.lines(aligned(&rows).trim_end_matches('\n'))
    }
}

pub(in crate::cli) fn licence_text(licence: &Licence) -> String {
    let link = licence.url().map(|it| format!(", {it}")).unwrap_or_default();
    let terms = match licence {
        Licence::Named { gated: true, .. } => " (needs an account that accepted it)",
        Licence::Named { non_commercial: true, .. } => " (non-commercial)",
        Licence::Spdx(_) | Licence::Named { .. } => "",
    };
    format!("{}{terms}{link}", licence.name())
}

/// The sizes that have a name; the usual one has none.
fn other_sizes(card: &ModelCard) -> impl Iterator<Item = &CardVariant> {
    card.variants.iter().filter(|it| !it.name.is_empty())
}

fn card_line(card: &ModelCard) -> Value {
    let licence = card.licence.as_ref().map(|it| {
        let non_commercial = matches!(it, Licence::Named { non_commercial: true, .. });
        json!({"name": it.name(), "url": it.url(), "gated": it.is_gated(), "non_commercial": non_commercial})
    });
    let files: Vec<Value> = card
        .files
        .iter()
        .map(|it| json!({"role": it.role, "name": it.name, "path": it.path.as_ref().map(|it| it.display().to_string()), "bytes": it.bytes}))
        .collect();
    let variants: Vec<Value> = other_sizes(card).map(|it| json!({"name": it.name, "bytes": it.bytes})).collect();
    json!({
        "event": "model", "id": card.id, "name": card.name, "family": card.family, "description": card.description, "licence": licence,
        "state": card.availability.key(), "bytes": card.bytes, "files": files, "problems": card.problem_sentences(), "variants": variants,
        "defaults": card.defaults,
    })
}
