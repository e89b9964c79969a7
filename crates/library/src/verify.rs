//! Verification of a model's files: every byte is read, with progress, and it can be stopped.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::header::read_header;
use super::manifest::{FaultyFile, Manifest, ModelFile, Sha256};

/// Verdict on a file.
#[derive(Debug)]
pub enum Verdict {
    /// It is the file that it should be.
    Right,
    /// Nobody wrote down its sum; its header fits its length, and this is its sum.
    Unknown(Sha256),
    /// It is not as it should be.
    Wrong(FaultyFile),
    /// It is damaged, as its header tells.
    Damaged(String),
}

/// A file and what came of it.
#[derive(Debug)]
pub struct Verified {
    /// The file.
    pub path: PathBuf,
    /// The verdict.
    pub verdict: Verdict,
}

/// Reads every file of a model in its folder. `sums` knows sums that the manifest does not. `watch`
/// is told how many bytes were read since the last time, and stops it by `false`; then the answer
/// is `None`.
pub(crate) fn verify(
    manifest: &Manifest,
    folder: &Path,
    sums: &dyn Fn(&Path) -> Option<Sha256>,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Option<Vec<Verified>> {
    manifest.files.iter().map(|file| verify_file(file, folder, sums, watch)).collect()
}

fn verify_file(
    file: &ModelFile,
    folder: &Path,
    sums: &dyn Fn(&Path) -> Option<Sha256>,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Option<Verified> {
    match file.check_size(folder) {
        Ok(path) => {
            let sum = file.sha256.or_else(|| sums(&path));
            verify_loose(path, sum, watch)
        }
        Err(error) => Some(Verified { path: file.filename.in_folder(folder), verdict: Verdict::Wrong(error) }),
    }
}

/// Reads a file that should have this sum. `watch` as with [`verify`].
pub(crate) fn verify_loose(path: PathBuf, expected: Option<Sha256>, watch: &mut dyn FnMut(u64) -> bool) -> Option<Verified> {
    let mut stopped = false;
    let told = |bytes| {
        stopped = !watch(bytes);
        if stopped { Err(io::Error::other("stopped")) } else { Ok(()) }
    };
    let sum = File::open(&path).and_then(|open| Sha256::of_watched(open, told));
    if stopped {
        return None;
    }
    let verdict = match (sum, expected) {
        (Err(source), _) => Verdict::Wrong(FaultyFile::Unreadable { path: path.clone(), source }),
        (Ok(sum), Some(expected)) if sum == expected => Verdict::Right,
        (Ok(_), Some(_)) => Verdict::Wrong(FaultyFile::Contents { path: path.clone() }),
        (Ok(sum), None) => match read_header(&path) {
            Err(error) if is_header_wrong(&error) => Verdict::Damaged(error.to_string()),
            // Files other than safetensors and GGUF have no header to check.
            _ => Verdict::Unknown(sum),
        },
    };
    Some(Verified { path, verdict })
}

fn is_header_wrong(error: &super::HeaderError) -> bool {
    use super::Fault::{CutShort, Damaged, Empty, NotAModel, Pickle, Unreadable, Unsupported};
    match error.fault {
        CutShort | Damaged | Empty | Unreadable => true,
        NotAModel | Pickle | Unsupported => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn model(sum: Option<&str>) -> Manifest {
        let sum = sum.map(|it| format!(r#","sha256":"{it}""#)).unwrap_or_default();
        let text = format!(
            r#"{{"id":"m","name":"M","files":[{{"role":"upscaler","filename":"a.pth"{sum}}},{{"role":"lora","filename":"b.bin"}}]}}"#
        );
        Manifest::parse(&text, Path::new("m")).unwrap()
    }

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn every_byte_is_read_and_each_file_has_its_verdict() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.pth"), "abc").unwrap();
        let mut read = 0;
        let verified = verify(&model(Some(ABC)), dir.path(), &|_| None, &mut |bytes| {
            read += bytes;
            true
        });
        let verified = verified.unwrap();
        assert!(
            matches!(verified[0].verdict, Verdict::Right) && matches!(verified[1].verdict, Verdict::Wrong(FaultyFile::Unreadable { .. }))
        );
        assert_eq!(read, 3);
        fs::write(dir.path().join("a.pth"), "abd").unwrap();
        let verdicts = |sum: Option<&str>, known: Option<&str>| {
            let known = known.map(|it| Sha256::try_from(it.to_owned()).unwrap());
            verify(&model(sum), dir.path(), &|_| known, &mut |_| true).unwrap().remove(0).verdict
        };
        assert!(matches!(verdicts(Some(ABC), None), Verdict::Wrong(FaultyFile::Contents { .. })));
        assert!(matches!(verdicts(None, Some(ABC)), Verdict::Wrong(FaultyFile::Contents { .. })));
        assert!(matches!(verdicts(None, None), Verdict::Unknown(_)));
        fs::write(dir.path().join("a.pth"), "").unwrap();
        assert!(matches!(verdicts(None, None), Verdict::Damaged(_)));
    }

    #[test]
    fn it_can_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.pth"), "abc").unwrap();
        assert!(verify(&model(Some(ABC)), dir.path(), &|_| None, &mut |_| false).is_none());
    }
}
