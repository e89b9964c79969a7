//! Messages from a second start to the first: the files that it was given.
//!
//! Pure. A message comes from any program of the same person, so nothing in it is trusted: sizes
//! are bounded before anything is kept, and what is not exactly a message is refused. What is asked
//! for is no more than a drop of files onto the window does.

use std::path::{Path, PathBuf};

use atelier_language::tr;

/// First bytes of a message; the digit is the version.
const MAGIC: &[u8; 8] = b"ATELIER1";
/// Bytes before the paths: [`MAGIC`] and the length of the rest.
pub(super) const HEAD_BYTES: usize = MAGIC.len() + 4;
/// Longest message, head included, in bytes. It fits into the buffer of a socket, so that sending
/// never waits for the reader.
pub(super) const MAX_BYTES: usize = 64 << 10;
/// Most files in one message.
const MAX_FILES: usize = 256;
/// Longest path, in bytes.
const MAX_PATH_BYTES: usize = 32 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MessageError {
    #[error("{}", tr!("studio-it-does-not-start"))]
    Magic,
    #[error("{}", tr!("studio-it-is-too-long"))]
    TooLong,
    #[error("{}", tr!("studio-it-is-cut-short"))]
    Short,
    #[error("{}", tr!("studio-more-bytes-follow-it"))]
    Trailing,
    #[error("{}", tr!("studio-it-names-too-many"))]
    TooMany,
    #[error("{}", tr!("studio-it-names-a-file"))]
    Path,
}

/// Messages that name these files, in order; one where there are none. Paths that cannot be sent
/// are left out and returned.
pub(super) fn encode(files: &[PathBuf]) -> (Vec<Vec<u8>>, Vec<PathBuf>) {
    let (mut messages, mut refused) = (Vec::new(), Vec::new());
    let (mut body, mut count) = (Vec::new(), 0);
    for file in files {
        let Some(bytes) = to_bytes(file).filter(|it| is_path(it) && file.is_absolute()) else {
            refused.push(file.clone());
            continue;
        };
        if count == MAX_FILES || HEAD_BYTES + body.len() + 4 + bytes.len() > MAX_BYTES {
            messages.push(with_head(&std::mem::take(&mut body)));
            count = 0;
        }
        body.extend((bytes.len() as u32).to_le_bytes());
        body.extend(bytes);
        count += 1;
    }
    if count > 0 || messages.is_empty() {
        messages.push(with_head(&body));
    }
    (messages, refused)
}

fn with_head(body: &[u8]) -> Vec<u8> {
    let mut message = MAGIC.to_vec();
    message.extend((body.len() as u32).to_le_bytes());
    message.extend(body);
    message
}

/// Length of the whole message, from its first [`HEAD_BYTES`] bytes.
pub(super) fn length(head: &[u8]) -> Result<usize, MessageError> {
    let rest = head.strip_prefix(MAGIC).ok_or(MessageError::Magic)?;
    let (length, _) = rest.split_first_chunk::<4>().ok_or(MessageError::Short)?;
    let whole = HEAD_BYTES + u32::from_le_bytes(*length) as usize;
    if whole > MAX_BYTES { Err(MessageError::TooLong) } else { Ok(whole) }
}

/// The files of a message.
pub(super) fn decode(message: &[u8]) -> Result<Vec<PathBuf>, MessageError> {
    let length = length(message)?;
    match message.len() {
        actual if actual < length => return Err(MessageError::Short),
        actual if actual > length => return Err(MessageError::Trailing),
        _ => {}
    }
    let mut rest = message.get(HEAD_BYTES..).ok_or(MessageError::Short)?;
    let mut files = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or(MessageError::Short)?;
        let (path, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(MessageError::Short)?;
        if files.len() == MAX_FILES {
            return Err(MessageError::TooMany);
        }
        let file = Some(path).filter(|it| is_path(it)).and_then(from_bytes).filter(|it| it.is_absolute());
        files.push(file.ok_or(MessageError::Path)?);
        rest = after;
    }
    Ok(files)
}

fn is_path(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.len() <= MAX_PATH_BYTES && !bytes.contains(&0)
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have names that cannot be sent")]
fn to_bytes(path: &Path) -> Option<&[u8]> {
    use std::os::unix::ffi::OsStrExt;
    Some(path.as_os_str().as_bytes())
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems refuse bytes that are no text")]
fn from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// A name that is not Unicode cannot be sent.
#[cfg(not(unix))]
fn to_bytes(path: &Path) -> Option<&[u8]> {
    path.to_str().map(str::as_bytes)
}

#[cfg(not(unix))]
fn from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn absolute(name: &str) -> PathBuf {
        std::env::temp_dir().join(name)
    }

    fn one(files: &[PathBuf]) -> Vec<u8> {
        let (mut messages, refused) = encode(files);
        assert!(messages.len() == 1 && refused.is_empty());
        messages.pop().unwrap()
    }

    #[test]
    fn files_come_back_as_they_were_and_no_files_are_a_message_too() {
        for files in [vec![], vec![absolute("a b.png")], vec![absolute("湖.gguf"), absolute("x/../ü.safetensors")]] {
            assert_eq!(decode(&one(&files)), Ok(files));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_no_text_comes_back_as_it_was() {
        use std::os::unix::ffi::OsStringExt;
        let file = PathBuf::from(std::ffi::OsString::from_vec(b"/tmp/\xff\xfe.png".to_vec()));
        assert_eq!(decode(&one(std::slice::from_ref(&file))), Ok(vec![file]));
    }

    #[test]
    fn many_files_go_in_several_messages_and_paths_that_cannot_be_sent_are_returned() {
        let mut files: Vec<PathBuf> = (0..600).map(|n| absolute(&format!("{n}.png"))).collect();
        files.push(PathBuf::from("relative.png"));
        files.push(absolute(&"x".repeat(MAX_PATH_BYTES)));
        let (messages, refused) = encode(&files);
        assert_eq!(refused, files.split_off(600));
        assert!(messages.len() == 3 && messages.iter().all(|it| it.len() <= MAX_BYTES));
        let back: Vec<PathBuf> = messages.iter().flat_map(|it| decode(it).unwrap()).collect();
        assert_eq!(back, files);
        let long: Vec<PathBuf> = (0..8).map(|n| absolute(&format!("{n}{}", "y".repeat(20_000)))).collect();
        assert!(encode(&long).0.len() > 1 && encode(&long).0.iter().all(|it| it.len() <= MAX_BYTES));
    }

    #[test]
    fn malformed_messages_are_refused() {
        let good = one(&[absolute("a.png")]);
        for end in 0..good.len() {
            assert!(decode(&good[..end]).is_err(), "{end}");
        }
        assert_eq!(decode(&[good.clone(), vec![0]].concat()), Err(MessageError::Trailing));
        let huge = [MAGIC.as_slice(), &u32::MAX.to_le_bytes()].concat();
        assert_eq!((length(&huge), decode(&huge)), (Err(MessageError::TooLong), Err(MessageError::TooLong)));
        assert_eq!(decode(b"GET / HTTP/1.1\r\n\r\n"), Err(MessageError::Magic));
        let path = |bytes: &[u8]| with_head(&[&(bytes.len() as u32).to_le_bytes(), bytes].concat());
        for bad in [b"".as_slice(), b"relative", b"/tmp/\0a", b"C"] {
            assert_eq!(decode(&path(bad)), Err(MessageError::Path), "{bad:?}");
        }
        assert_eq!(decode(&with_head(&[255, 255, 255, 255, 0])), Err(MessageError::Short));
        let many = with_head(&[&6_u32.to_le_bytes()[..], b"/tmp/a"].concat().repeat(MAX_FILES + 1));
        assert_eq!(decode(&many), if cfg!(windows) { Err(MessageError::Path) } else { Err(MessageError::TooMany) });
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400), is_framed: bool) {
            let message = if is_framed { with_head(&bytes) } else { bytes };
            if let Ok(files) = decode(&message) {
                prop_assert!(files.len() <= MAX_FILES && files.iter().all(|it| it.is_absolute()));
            }
        }
    }
}
