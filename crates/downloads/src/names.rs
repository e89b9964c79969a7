//! The name of a file, which cannot lead out of its folder, and its sum.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use atelier_language::tr;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// Bytes that are hashed at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// A file's place in its model's folder: a relative path with `/`, which cannot lead out of it on
/// any system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

impl FileName {
    /// The name, as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file in this folder.
    #[must_use]
    pub fn in_folder(&self, folder: &Path) -> PathBuf {
        folder.join(self.0.split('/').collect::<PathBuf>())
    }
}

impl TryFrom<String> for FileName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let odd = |c: char| c.is_control() || matches!(c, '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*');
        // Windows leaves dots and spaces at the end of a name out, so that `.. ` would be `..`
        // there.
        let part = |it: &str| !it.is_empty() && !it.starts_with(' ') && !it.ends_with(['.', ' ']) && !it.contains(odd);
        if name.len() <= 512 && name.split('/').all(|it| part(it) && !is_device(it)) {
            Ok(Self(name))
        } else {
            Err(tr!("downloads-is-not-a-file", name = format!("{name:?}")))
        }
    }
}

/// True if Windows takes this name for a device, whatever its extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let port = |it: &str| ["com", "lpt"].iter().any(|port| it.eq_ignore_ascii_case(port));
    let numbered = stem.strip_suffix(|c: char| c.is_ascii_digit()).is_some_and(port);
    numbered || ["con", "prn", "aux", "nul"].iter().any(|it| stem.eq_ignore_ascii_case(it))
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

/// A SHA-256 sum; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// The sum of everything that can be read.
    ///
    /// ```
    /// use atelier_downloads::Sha256;
    ///
    /// let sum = Sha256::of("abc".as_bytes())?;
    /// assert!(sum.to_string().starts_with("ba7816bf"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If reading fails.
    pub fn of(from: impl Read) -> io::Result<Self> {
        Self::of_watched(from, |_| Ok(()))
    }

    /// The sum of everything that can be read. `watch` is told the bytes of each block, and ends
    /// the reading by an error.
    ///
    /// # Errors
    /// If reading fails, and what `watch` answers.
    pub fn of_watched(mut from: impl Read, mut watch: impl FnMut(u64) -> io::Result<()>) -> io::Result<Self> {
        let (mut sum, mut block) = (sha2::Sha256::new(), vec![0; BLOCK_BYTES]);
        loop {
            match from.read(&mut block) {
                Ok(0) => return Ok(Self(sum.finalize().into())),
                Ok(bytes) => {
                    sum.update(block.get(..bytes).unwrap_or_default());
                    watch(bytes as u64)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || tr!("downloads-is-not-a-sha", text);
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
        let digits = digits.filter(|it| it.len() == 64).ok_or_else(wrong)?;
        let mut sum = [0; 32];
        for (byte, pair) in sum.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
        }
        Ok(Self(sum))
    }
}

impl From<[u8; 32]> for Sha256 {
    fn from(sum: [u8; 32]) -> Self {
        Self(sum)
    }
}

impl From<Sha256> for String {
    fn from(sum: Sha256) -> Self {
        sum.to_string()
    }
}
