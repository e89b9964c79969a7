//! Picture files beneath a folder. Only reads.

use std::fs;
use std::path::{Path, PathBuf};

use atelier_media::is_picture_name;

use crate::file_identity::modified_ns;

/// Most picture files of a folder.
const MAX_FILES: usize = 1_000_000;
/// Most folders inside each other.
const MAX_DEPTH: usize = 32;

/// Linked folders that are named.
const MAX_LINKED: usize = 64;
/// Endings of pictures in formats that are not read.
const OTHER_ENDINGS: [&str; 8] = ["avif", "heic", "heif", "gif", "bmp", "tif", "tiff", "jxl"];

/// A file that may be a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Its path in the folder.
    pub(super) relative: PathBuf,
    /// Its size in bytes.
    pub(super) bytes: u64,
    /// Time of its last change, in nanoseconds since 1970.
    pub(super) modified_ns: i64,
}

impl FoundFile {
    /// A file of a folder; `None` where it is no file that can be read.
    pub(super) fn of(root: &Path, relative: PathBuf) -> Option<Self> {
        let metadata = fs::metadata(root.join(&relative)).ok().filter(fs::Metadata::is_file)?;
        Some(Self { relative, bytes: metadata.len(), modified_ns: modified_ns(&metadata) })
    }
}

/// Picture files of a folder.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) files: Vec<FoundFile>,
    /// True where there are more files, or deeper folders, than are looked at.
    pub(super) is_truncated: bool,
    /// Linked folders, relative to the folder: their pictures are not looked for.
    pub(super) linked_folders: Vec<PathBuf>,
    /// Pictures of formats that are not read.
    pub(super) other_formats: u64,
}

/// Finds the picture files beneath a folder, newest first. Hidden folders, linked folders and those
/// in `except` are left out, which ends circles of links; `None` where `stop` says so.
pub(super) fn walk(root: &Path, except: &[PathBuf], stop: &dyn Fn() -> bool) -> Option<Walk> {
    let mut found = Walk::default();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        // A folder that cannot be read is as one without pictures; those known in it are looked at
        // one by one.
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            if stop() {
                return None;
            }
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let relative = folder.join(&name);
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    found.is_truncated = true;
                } else if !except.contains(&root.join(&relative)) {
                    folders.push((relative, depth + 1));
                }
            } else if is_picture_name(&name) {
                if found.files.len() == MAX_FILES {
                    found.is_truncated = true;
                    return Some(found);
                }
                found.files.extend(FoundFile::of(root, relative));
            } else if kind.is_symlink() && root.join(&relative).is_dir() {
                // A link to a folder that is looked through anyway hides nothing.
                if found.linked_folders.len() < MAX_LINKED && !leads_back(root, &relative) {
                    found.linked_folders.push(relative);
                }
            } else if relative.extension().is_some_and(|it| OTHER_ENDINGS.iter().any(|ending| it.eq_ignore_ascii_case(ending))) {
                found.other_formats += 1;
            }
        }
    }
    found.files.sort_by(|a, b| (b.modified_ns, &a.relative).cmp(&(a.modified_ns, &b.relative)));
    Some(found)
}

/// True of a link into the folder itself.
fn leads_back(root: &Path, relative: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(&root.join(relative)).zip(real(root)).is_some_and(|(target, root)| target.starts_with(root))
}
