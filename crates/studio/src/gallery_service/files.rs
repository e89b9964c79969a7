//! Copies of pictures: into the folder of finished pictures, and out of the gallery.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use atelier_core::paths;
use atelier_gallery::{Database, GalleryError, NewPicture, PictureId, PictureKind};
use atelier_language::tr;
use atelier_media::{ExportLoss, export_picture};

use super::message::Export;

/// Largest picture file that is copied, in bytes; larger ones are no pictures that Atelier can
/// read.
const MAX_BYTES: u64 = 1 << 30;

/// Copies a picture into the folder of finished pictures, under its own name or one with a number,
/// and indexes it. One that is there already is not copied.
pub(super) fn import(database: &mut Database, picture: &Path, folder: &Path) -> Result<PictureId, GalleryError> {
    let failed = |source| GalleryError::File { path: picture.to_owned(), source };
    // Headers first: what is no picture is not copied.
    atelier_media::image_size(&atelier_core::recipe::ImageSource::File(picture.to_owned()))?;
    if picture.parent() == Some(folder) {
        return database.record_picture(&NewPicture::read(picture, PictureKind::Import)?);
    }
    if fs::metadata(picture).map_err(failed)?.len() > MAX_BYTES {
        return Err(failed(std::io::Error::other(tr!("studio-the-file-is-too-large"))));
    }
    let bytes = fs::read(picture).map_err(failed)?;
    let path = paths::write_new(folder, numbered_names(picture), |file| std::io::Write::write_all(file, &bytes)).map_err(failed)?;
    database.record_picture(&NewPicture::read(&path, PictureKind::Import)?)
}

/// `name.png`, `name (2).png`, `name (3).png` and so on.
fn numbered_names(path: &Path) -> impl Iterator<Item = String> + use<> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map(|it| format!(".{}", it.to_string_lossy())).unwrap_or_default();
    (1_u32..).map(move |number| if number == 1 { format!("{stem}{ending}") } else { format!("{stem} ({number}){ending}") })
}

/// Writes copies of these files on a thread of its own; `report` gets one sentence at the end.
pub(super) fn export(files: Vec<PathBuf>, export: Export, report: impl FnOnce(String) + Send + 'static) {
    let spawned = thread::Builder::new().name("export".into()).spawn(move || report(export_all(&files, &export)));
    if let Err(error) = spawned {
        tracing::error!("nothing was exported: {error}");
    }
}

/// Writes the copies and says how it went.
fn export_all(files: &[PathBuf], export: &Export) -> String {
    let results = files.iter().map(|file| export_picture(file, &export.folder, &export.name, export.form));
    let (done, failed): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
    let (folder, failures) = (export.folder.display(), failed.len());
    let words = match done.len() {
        1 => tr!("studio-1-picture-was-exported", folder),
        count => tr!("studio-pictures-were-exported-to", count, folder),
    };
    let mut losses: Vec<_> = done.into_iter().flatten().flat_map(|copy| copy.losses).map(ExportLoss::clause).collect();
    losses.sort_unstable();
    losses.dedup();
    let words = if losses.is_empty() { words } else { format!("{words} {}", tr!("studio-in-some-copies", losses = losses.join(", "))) };
    match failed.into_iter().find_map(Result::err) {
        Some(error) => format!("{words} {}", tr!("studio-failed", failures, error)),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Rgb8;
    use atelier_media::{CopyForm, ExportFormat, Metadata, read_metadata, write_picture};

    fn export_of(folder: PathBuf, format: ExportFormat) -> Export {
        Export { folder, name: String::new(), form: CopyForm::whole(format) }
    }

    #[test]
    fn copies_are_written_and_what_failed_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("a.png");
        let metadata = Metadata { parameters: Some("a lake\nSteps: 4, Seed: 1, Size: 8x8".into()), recipe: None };
        write_picture(&picture, &Rgb8::new(8, 8, vec![9; 192]).unwrap(), &metadata).unwrap();
        let form = CopyForm { keeps_metadata: false, ..CopyForm::whole(ExportFormat::Png) };
        let export = Export { form, ..export_of(folder.path().join("out"), ExportFormat::Png) };
        let said = export_all(&[picture.clone(), folder.path().join("gone.png")], &export);
        assert!(said.starts_with("1 picture was exported") && said.contains("1 failed: "), "{said}");
        assert_eq!(read_metadata(&export.folder.join("a.png")).unwrap(), Metadata::default());
        assert_eq!(read_metadata(&picture).unwrap(), metadata);
    }

    #[test]
    fn copies_of_one_name_are_numbered_and_as_small_as_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a.png", "b.png"].map(|name| folder.path().join(name));
        for file in &files {
            write_picture(file, &Rgb8::new(40, 20, vec![9; 2400]).unwrap(), &Metadata::default()).unwrap();
        }
        let form = CopyForm { longest_side: Some(10), ..CopyForm::whole(ExportFormat::Jpeg { quality: 90 }) };
        let export = Export { folder: folder.path().join("out"), name: "postcard".into(), form };
        assert!(export_all(&files, &export).starts_with("2 pictures were exported"));
        for name in ["postcard.jpg", "postcard (2).jpg"] {
            let copy = atelier_core::recipe::ImageSource::File(export.folder.join(name));
            assert_eq!(atelier_media::image_size(&copy).unwrap(), (10, 5), "{name}");
        }
    }

    #[test]
    fn what_the_format_of_copies_cannot_keep_is_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = Metadata { parameters: Some("a lake, ".repeat(5_000)), recipe: None };
        let files = ["a.png", "b.png"].map(|name| folder.path().join(name));
        for file in &files {
            write_picture(file, &Rgb8::new(8, 8, vec![9; 192]).unwrap(), &metadata).unwrap();
        }
        let said = |format| export_all(&files, &export_of(folder.path().join("out"), format));
        assert!(said(ExportFormat::WebP).ends_with("In some copies: the settings are left out; PNG keeps them."));
        assert!(!said(ExportFormat::Png).contains("In some copies"));
    }

    #[test]
    fn on_a_full_disk_the_sentence_says_what_was_not_exported_and_nothing_half_written_is_left() {
        let Some(disk) = testkit::disk::SmallDisk::mount(1 << 20) else { return };
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("a.png");
        write_picture(
            &picture,
            &Rgb8::new(64, 64, (0..64 * 64 * 3).map(|n| (n * 31 % 251) as u8).collect()).unwrap(),
            &Metadata::default(),
        )
        .unwrap();
        let out = disk.path().join("out");
        fs::create_dir(&out).unwrap();
        let export = export_of(out.clone(), ExportFormat::Png);
        disk.fill();
        let said = export_all(std::slice::from_ref(&picture), &export);
        assert!(said.starts_with("0 pictures were exported") && said.contains("1 failed: ") && said.contains("No space"), "{said}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
        disk.make_room();
        assert!(export_all(&[picture], &export).starts_with("1 picture was exported"));
    }
}
