//! Files that are added: each takes its place in the recipe. Nothing here waits.

use std::path::{Path, PathBuf};

use crate::gui::canvas;
use crate::gui::context::Context;
use crate::gui::create::work;
use crate::gui::guides::update::start_from;
use crate::gui::identify::FileKind;
use crate::gui::workers::Worker;
use atelier_core::recipe::{ImageSource, ModelFiles, embedding_word};
use atelier_language::tr;
use atelier_studio::library_service::LibraryRequest;

/// Takes files over, each in its role. One with a diffusion module is the model from now on, with
/// the settings that suit it: the library finds the other parts and answers with
/// `LibraryEvent::ModelAssembled`. Without a library, these files alone are the model.
pub(crate) fn take_files(files: ModelFiles, context: &mut Context<'_>) {
    if files.main().is_none() {
        for (role, path) in files.iter() {
            context.shared.next.use_file(role, path.to_owned());
        }
    } else if let Some(library) = context.library {
        let preferred = if context.shared.next.uses_builtin() { ModelFiles::default() } else { context.shared.next.recipe.files.clone() };
        library.send(LibraryRequest::AssembleModel { files, preferred });
    } else {
        context.shared.next.replace_model(files);
    }
}

/// Finds out what these files are: each takes its place in the recipe, or is asked about.
pub(crate) fn add_files(paths: Vec<PathBuf>, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || work::identify_all(paths),
        |files, _, context| {
            context.name_change(tr!("create-add-files"));
            identified(files, context);
        },
    );
}

/// Files that were dropped, typed or chosen are identified.
pub(crate) fn identified(files: Vec<(PathBuf, FileKind)>, context: &mut Context<'_>) {
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let (mut lines, mut starts) = (Vec::new(), Vec::new());
    let (mut parts, is_model) =
        (ModelFiles::default(), files.iter().any(|(_, what)| matches!(what, FileKind::Role(role) if role.is_main())));
    if is_model {
        // They were made for another model.
        context.shared.next.recipe.loras.clear();
    }
    for (path, what) in files {
        match what {
            FileKind::Role(role) => {
                if let Some(sentence) = role.without_effect() {
                    lines.push(format!("{}: {sentence}", name(&path)));
                } else {
                    lines.push(format!("{}: {}", role.label(), name(&path)));
                    parts.set(role, path);
                }
            }
            FileKind::Lora => context.shared.next.use_lora(path),
            FileKind::Embedding => {
                lines.push(tr!("create-embedding-write-its-name", embedding_word = embedding_word(&path)));
                context.shared.next.use_embedding(path);
            }
            // The canvas uses it, from the library.
            FileKind::Vision => {
                if let Some(library) = context.library {
                    library.send(LibraryRequest::Add(vec![path]));
                }
            }
            // A person who adds model files chose it among them.
            FileKind::Picture => starts.push(ImageSource::File(path)),
            FileKind::Canvas => context.follow_up(canvas::Command::OpenFile(path)),
            FileKind::Unknown if context.shared.unplaced.contains(&path) => {}
            FileKind::Unknown => context.shared.unplaced.push(path),
            FileKind::Unsupported => lines.push(tr!("create-is-neither-a-model", name = name(&path))),
            FileKind::Missing => lines.push(tr!("create-the-file-does-not", path = path.display())),
        }
    }
    take_files(parts, context);
    start_from(starts, context);
    if !lines.is_empty() {
        context.notice(lines.join("\n"));
    }
}
