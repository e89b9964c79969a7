//! Output of `atelier gallery`: paths and sentences for people, and with `--json` one object a
//! line.
//!
//! `docs/json.md` names every key.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::printer::Printer;
use crate::cli::reporter::Reporter;

use atelier_core::plain_text::{indented, quoted_path};
use atelier_core::reading::LeftOut;
use atelier_gallery::{PictureDetails, PictureFlag, PictureSummary, ScanReport};
use atelier_media::Tool;

/// Reports the findings of a command: paths and sentences, or lines of JSON.
pub(super) struct GalleryReport<'a> {
    pub(super) printer: Printer<'a>,
    pub(super) reporter: Box<dyn Reporter + 'a>,
}

impl GalleryReport<'_> {
    /// Something was passed over.
    pub(super) fn warning(&mut self, sentence: &str) -> io::Result<()> {
        self.printer.json(&json!({"event": "problem", "message": sentence}))?;
        self.reporter.message(&format!("warning: {sentence}"));
        Ok(())
    }

    pub(super) fn picture(&mut self, picture: &PictureSummary) -> io::Result<()> {
        self.printer.json(&picture_line(picture))?;
        self.path(&picture.path)
    }

    pub(super) fn details(
        &mut self,
        details: &PictureDetails,
        parent: &[PictureSummary],
        children: &[PictureSummary],
        batch: &[PictureSummary],
    ) -> io::Result<()> {
        let PictureDetails { summary, settings, .. } = details;
        let paths = |of: &[PictureSummary]| of.iter().map(|it| it.path.display().to_string()).collect::<Vec<_>>();
        let name = settings.model.as_ref().and_then(|it| it.name.clone());
        let mut line = picture_line(summary);
        let more = json!({
            "prompt": settings.prompt,
            "negative_prompt": settings.negative_prompt,
            "seed": settings.seed,
            "steps": settings.steps,
            "guidance": settings.guidance,
            "sampler": settings.sampler,
            "scheduler": settings.scheduler,
            "model": {"name": name, "hash": settings.model.as_ref().and_then(|it| it.hash.clone()), "file": details.model_file},
            "loras": settings.loras.iter().map(|it| json!({"name": it.name, "hash": it.hash, "strength": it.strength})).collect::<Vec<_>>(),
            "tags": details.tags,
            "boards": details.boards,
            "note": details.note,
            "owner": details.owner.name(),
            "parent": paths(parent).first(),
            "children": paths(children),
            "batch": paths(batch),
            "recipe": details.recipe(),
        });
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        self.printer.json(&line)?;

        let number = |value: Option<String>| value.unwrap_or_default();
        let quoted = |of: &[PictureSummary]| of.iter().map(|it| quoted_path(&it.path).into_owned()).collect::<Vec<_>>();
        let lines = [
            ("state:     ", summary.state.key().to_owned()),
            ("made with: ", summary.tool.map(|it| it.label().to_owned()).unwrap_or_default()),
            ("size:      ", format!("{} x {}", summary.width, summary.height)),
            ("prompt:    ", settings.prompt.clone().unwrap_or_default()),
            ("negative:  ", settings.negative_prompt.clone().unwrap_or_default()),
            ("model:     ", name.or_else(|| details.model_file.clone()).unwrap_or_default()),
            ("loras:     ", settings.loras.iter().map(|it| format!("{} ({})", it.name, it.strength)).collect::<Vec<_>>().join(", ")),
            ("seed:      ", number(settings.seed.map(|it| it.to_string()))),
            ("steps:     ", number(settings.steps.map(|it| it.to_string()))),
            ("guidance:  ", number(settings.guidance.map(|it| it.to_string()))),
            ("sampler:   ", settings.sampler.clone().unwrap_or_default()),
            ("scheduler: ", settings.scheduler.clone().unwrap_or_default()),
            ("rating:    ", if summary.rating > 0 { summary.rating.to_string() } else { String::new() }),
            ("flag:      ", summary.flag.map(|it| it.key().to_owned()).unwrap_or_default()),
            ("tags:      ", details.tags.join(", ")),
            ("boards:    ", details.boards.join(", ")),
            ("note:      ", details.note.clone()),
            ("made for:  ", details.owner.name().to_owned()),
            ("made from: ", quoted(parent).join(", ")),
            ("became:    ", quoted(children).join("\n")),
            ("its batch: ", quoted(batch).join("\n")),
        ];
        self.path(&summary.path)?;
        for (label, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            self.print(|printer| printer.lines(&format!("{label}{}", indented(text, label.len()))))?;
        }
        Ok(())
    }

    pub(super) fn scan(&mut self, folder: &Path, scan: &ScanReport) -> io::Result<()> {
        self.reporter.finish();
        self.printer.json(&json!({
            "event": "scan",
            "folder": folder.display().to_string(),
            "files": scan.files,
            "added": scan.added,
            "changed": scan.changed,
            "moved": scan.moved,
            "returned": scan.returned,
            "missing": scan.missing,
            "damaged": scan.damaged,
            "unreadable": scan.unreadable,
            "skipped": scan.left_out.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "linked_folders": scan.linked_folders.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "other_formats": scan.other_formats,
            "folder_missing": scan.is_folder_missing,
            "stopped": scan.is_stopped,
        }))?;
        if self.printer.is_json() {
            return Ok(());
        }
        let counts = [
            (scan.added, "new"),
            (scan.changed, "changed"),
            (scan.moved, "moved"),
            (scan.returned, "back again"),
            (scan.missing, "missing"),
            (scan.damaged, "damaged"),
            (scan.unreadable, "unreadable"),
        ];
        let mut words: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        if scan.is_folder_missing {
            words.insert(0, "the folder does not exist".to_owned());
        }
        if scan.other_formats > 0 {
            words.push(format!("{} in formats that Atelier does not read", scan.other_formats));
        }
        if scan.is_truncated {
            words.push("more files than the limit".to_owned());
        }
        let found = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
        self.reporter.message(&format!("{}: {} pictures{found}.", folder.display(), scan.files));
        for path in &scan.linked_folders {
            let path = path.display();
            self.reporter.message(&format!("{path} is a link to another folder, so it is passed over; add that folder itself."));
        }
        for path in &scan.left_out {
            self.reporter.message(&LeftOut { path: path.clone() }.to_string());
        }
        Ok(())
    }

    pub(super) fn forgotten(&mut self, folder: &Path) -> io::Result<()> {
        self.printer.json(&json!({"event": "forgotten", "folder": folder.display().to_string()}))?;
        if !self.printer.is_json() {
            self.reporter
                .message(&format!("The pictures of {} are no longer in the gallery. Its files stay as they are.", folder.display()));
        }
        Ok(())
    }

    pub(super) fn exported(&mut self, source: &Path, path: &Path) -> io::Result<()> {
        let line = json!({"event": "exported", "source": source.display().to_string(), "path": path.display().to_string()});
        self.printer.json(&line)?;
        self.path(path)
    }

    fn path(&mut self, path: &Path) -> io::Result<()> {
        self.print(|printer| printer.path(path))
    }

    /// Prints while the reporter's bar is out of the way.
    fn print(&mut self, mut print: impl FnMut(&mut Printer<'_>) -> io::Result<()>) -> io::Result<()> {
        let (mut result, printer) = (Ok(()), &mut self.printer);
        self.reporter.suspend(&mut || result = print(printer));
        result
    }
}

fn picture_line(picture: &PictureSummary) -> Value {
    json!({
        "event": "picture",
        "id": picture.id.0,
        "path": picture.path.display().to_string(),
        "state": picture.state.key(),
        "kind": picture.kind.key(),
        "tool": picture.tool.map(Tool::key),
        "width": picture.width,
        "height": picture.height,
        "bytes": picture.bytes,
        "created_ms": picture.created_ms,
        "rating": picture.rating,
        "flag": picture.flag.map(PictureFlag::key),
        "prompt": picture.prompt_start,
    })
}
