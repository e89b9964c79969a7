//! A model that is not on this disk is downloaded before it is used: asked where a person is there,
//! without asking by `--pull`.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use super::exit::Exit;
use super::flags::{LibraryFlags, ModelFlags, ModelsCommand, ModelsFlags, PullFlags, is_model_name};
use super::interrupt::{Interrupt, no_ctrl_c};
use super::models;
use super::reporter::write_message;
use atelier_core::format::file_size;
use atelier_core::paths::Paths;
use atelier_core::plain_text::plain_line;
use atelier_library::Manifest;

/// System that the download runs on.
pub(super) struct PullEnv<'a, 'p> {
    /// Gets lines of JSON alone: the job's own output is paths.
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    pub(super) terminal: bool,
    /// Answers of the person; `None` where nobody is there.
    pub(super) answers: Option<&'p mut dyn BufRead>,
    pub(super) paths: &'a Paths,
    pub(super) interrupt: &'a Arc<Interrupt>,
    pub(super) listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
}

/// The name of the library's model that the flags ask for.
pub(super) fn model_name(flags: &ModelFlags) -> Option<&str> {
    flags.model.as_deref().filter(|model| is_model_name(model))?.to_str()
}

/// Downloads the model of this name where the catalogue has it, this disk does not, and the person
/// agrees. `Some`: the command ends so.
pub(super) fn pull_first(name: &str, library: &LibraryFlags, pull: &PullFlags, is_json: bool, env: PullEnv<'_, '_>) -> Option<Exit> {
    let entry = models::missing_model(name, library, env.paths)?;
    let accept_licence = match (pull.pull, env.answers) {
        (true, _) => pull.accept_licence,
        (false, Some(answers)) => {
            if !is_agreed(&entry, answers, env.err) {
                return Some(Exit::Cancelled);
            }
            // The question named the terms.
            true
        }
        // The job's own error says how the model is had.
        (false, None) => return None,
    };
    let exit = download(&entry.id, library, accept_licence, is_json, env.out, env.err, env.terminal, env.paths, env.interrupt, env.listen);
    (exit != Exit::Done).then_some(exit)
}

/// Downloads a model of the catalogue.
#[expect(clippy::too_many_arguments, reason = "the parts of two environments")]
pub(super) fn download(
    name: &str,
    library: &LibraryFlags,
    accept_licence: bool,
    is_json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: bool,
    paths: &Paths,
    interrupt: &Arc<Interrupt>,
    listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
) -> Exit {
    if let Err(error) = listen(interrupt) {
        write_message(err, &no_ctrl_c(&error));
    }
    let command = ModelsCommand::Pull { names: vec![name.to_owned()], accept_licence };
    let flags = ModelsFlags { command, library: library.clone(), json: is_json };
    let mut nowhere = io::sink();
    let out: &mut dyn Write = if is_json { out } else { &mut nowhere };
    let trash = atelier_library::to_trash;
    models::run(flags, models::ModelsEnv { out, err, terminal, paths: paths.clone(), interrupt: Arc::clone(interrupt), trash })
}

/// Asks the person; no answer is none.
fn is_agreed(entry: &Manifest, answers: &mut dyn BufRead, err: &mut dyn Write) -> bool {
    let size = entry.bytes().map_or_else(|| "unknown size".to_owned(), file_size);
    let terms = match &entry.licence {
        Some(licence) if licence.asks() => {
            format!("By answering yes you accept its licence terms: {}.", models::licence_text(licence))
        }
        Some(licence) => format!("Its licence: {}.", models::licence_text(licence)),
        None => "Its licence is unknown.".to_owned(),
    };
    // Without a question there is no answer.
    if write!(err, "{} is not on this disk. {}\nDownload it now ({size})? [y/N] ", plain_line(&entry.name), plain_line(&terms))
        .and_then(|()| err.flush())
        .is_err()
    {
        return false;
    }
    let mut answer = String::new();
    answers.read_line(&mut answer).is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes_and_the_question_names_size_and_terms() {
        let text = r#"{"id":"m","name":"Painter","licence":"apache-2.0","files":[{"role":"model","filename":"m.gguf","size":3000000000}]}"#;
        let entry: Manifest = serde_json::from_str(text).unwrap();
        for (answer, agreed) in [("y\n", true), (" YES \n", true), ("\n", false), ("n\n", false), ("", false)] {
            let mut err = Vec::new();
            assert_eq!(is_agreed(&entry, &mut answer.as_bytes(), &mut err), agreed, "{answer:?}");
            let question = String::from_utf8(err).unwrap();
            assert!(
                question.contains("Painter is not on this disk.") && question.contains("apache-2.0") && question.contains("GB"),
                "{question}"
            );
        }
    }
}
