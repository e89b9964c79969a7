//! The token that a person has from a server of models, and where it is kept.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_core::paths;

/// A file longer than this holds no token.
const MAX_BYTES: u64 = 4096;

/// A secret by which a server of models knows a person. It is never shown: not by `Debug`, not in
/// errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token as a person pasted it; `None` where it cannot be one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let good = !text.is_empty() && text.len() <= MAX_BYTES as usize && text.bytes().all(|byte| byte.is_ascii_graphic());
        good.then(|| Self(text.to_owned()))
    }

    pub(super) fn secret(&self) -> &str {
        &self.0
    }

    /// The token of this person: the stored one, then `HF_TOKEN`, then the file that
    /// `HF_TOKEN_PATH` names, then `token` in `HF_HOME` (usually `~/.cache/huggingface`).
    #[must_use]
    pub fn find(store: &TokenStore) -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf());
        store.load().or_else(|| Self::around(variable, home.as_deref()))
    }

    fn around(variable: impl Fn(&str) -> Option<String>, home: Option<&Path>) -> Option<Self> {
        if let Some(token) = variable("HF_TOKEN").and_then(|text| Self::new(&text)) {
            return Some(token);
        }
        if let Some(path) = variable("HF_TOKEN_PATH") {
            return Self::read(Path::new(&path));
        }
        let cache = || variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| home.map(|home| home.join(".cache")));
        let folder = variable("HF_HOME").map(PathBuf::from).or_else(|| cache().map(|cache| cache.join("huggingface")))?;
        Self::read(&folder.join("token"))
    }

    fn read(path: &Path) -> Option<Self> {
        let mut text = String::new();
        File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        Self::new(&text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

/// Store of a person's own token: the system's keyring, or, where there is none, a file that nobody
/// else may read.
#[derive(Clone)]
pub struct TokenStore {
    path: PathBuf,
    keyring: Option<Arc<dyn Keyring>>,
}

/// A place for one secret that the system guards. Errors are for the log: the file takes the
/// keyring's place.
trait Keyring: Send + Sync {
    fn get(&self) -> Result<String, String>;
    fn set(&self, secret: &str) -> Result<(), String>;
    fn forget(&self) -> Result<(), String>;
}

/// The keyring of this person's session.
struct SystemKeyring;

impl SystemKeyring {
    fn entry() -> Result<keyring::Entry, String> {
        keyring::Entry::new("Atelier", "models").map_err(|error| error.to_string())
    }
}

impl Keyring for SystemKeyring {
    fn get(&self) -> Result<String, String> {
        Self::entry()?.get_password().map_err(|error| error.to_string())
    }

    fn set(&self, secret: &str) -> Result<(), String> {
        Self::entry()?.set_password(secret).map_err(|error| error.to_string())
    }

    fn forget(&self) -> Result<(), String> {
        Self::entry()?.delete_credential().map_err(|error| error.to_string())
    }
}

impl TokenStore {
    /// The store of this person; the folder holds the file, or remembers that the keyring has the
    /// token.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        // With all folders moved, everything stays in them.
        let portable = std::env::var_os(paths::HOME_VARIABLE).is_some_and(|it| !it.is_empty());
        Self { keyring: if portable { None } else { Some(Arc::new(SystemKeyring)) }, ..Self::in_folder(folder) }
    }

    /// A store that uses no keyring.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("token"), keyring: None }
    }

    /// Is there while the keyring has the token: one that was never used is never asked, because
    /// asking may ask the person.
    fn mark(&self) -> PathBuf {
        self.path.with_extension("keyring")
    }

    /// The token that is kept. May wait for the person, who may have to unlock the keyring.
    #[must_use]
    pub fn load(&self) -> Option<Token> {
        if let Some(keyring) = self.keyring.as_ref().filter(|_| self.mark().exists()) {
            match keyring.get() {
                Ok(secret) => return Token::new(&secret),
                Err(error) => tracing::warn!(error, "the token could not be read from the keyring"),
            }
        }
        Token::read(&self.path)
    }

    /// Keeps a token, or forgets the one that is kept. May wait for the person, as
    /// [`TokenStore::load`].
    ///
    /// # Errors
    /// If neither the keyring nor the file can be written.
    pub fn save(&self, token: Option<&Token>) -> io::Result<()> {
        let mark = self.mark();
        if let Some(keyring) = &self.keyring {
            let result = match token {
                Some(token) => keyring.set(token.secret()),
                None if mark.exists() => keyring.forget(),
                None => Ok(()),
            };
            match (result, token) {
                (Ok(()), Some(_)) => {
                    paths::write_private(&mark, b"")?;
                    return paths::remove_if_there(&self.path);
                }
                (Ok(()), None) => {}
                (Err(error), _) => tracing::info!(error, "there is no keyring that could keep the token"),
            }
        }
        if let Some(token) = token {
            paths::write_private(&self.path, token.secret().as_bytes())?;
        } else {
            paths::remove_if_there(&self.path)?;
        }
        paths::remove_if_there(&mark)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn token(text: &str) -> Option<Token> {
        Token::new(text)
    }

    #[test]
    fn a_token_is_one_word_and_is_never_shown() {
        assert_eq!(token(" hf_abc\n"), token("hf_abc"));
        assert!(token("").is_none() && token("two words").is_none() && token("line\nbreak").is_none() && token("ü").is_none());
        assert!(!format!("{:?}", token("hf_secret")).contains("secret"));
    }

    #[test]
    fn the_usual_places_are_looked_at_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir_all(path("home/.cache/huggingface")).unwrap();
        fs::write(path("home/.cache/huggingface/token"), "hf_home\n").unwrap();
        fs::write(path("named"), "hf_named").unwrap();
        fs::create_dir_all(path("other")).unwrap();
        fs::write(path("other/token"), "hf_other").unwrap();
        let find = |variables: &[(&str, String)]| {
            let variable = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.clone());
            Token::around(variable, Some(&folder.path().join("home")))
        };
        assert_eq!(find(&[]), token("hf_home"));
        assert_eq!(find(&[("HF_HOME", path("other"))]), token("hf_other"));
        assert_eq!(find(&[("HF_TOKEN_PATH", path("named")), ("HF_HOME", path("other"))]), token("hf_named"));
        assert_eq!(find(&[("HF_TOKEN", "hf_said".into()), ("HF_TOKEN_PATH", path("named"))]), token("hf_said"));
        assert_eq!(find(&[("HF_HOME", path("nowhere"))]), None);
    }

    #[test]
    fn a_stored_token_is_for_its_owner_alone_and_can_be_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::in_folder(&folder.path().join("deep"));
        store.save(None).unwrap();
        store.save(token("hf_one").as_ref()).unwrap();
        store.save(token("hf_two").as_ref()).unwrap();
        assert_eq!(store.load(), token("hf_two"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(folder.path().join("deep/token")).unwrap().permissions().mode() & 0o777, 0o600);
        }
        store.save(None).unwrap();
        assert_eq!(store.load(), None);
    }

    /// A keyring that keeps one secret, or none at all.
    struct Fake {
        there: bool,
        secret: std::sync::Mutex<Option<String>>,
    }

    impl Keyring for Fake {
        fn get(&self) -> Result<String, String> {
            self.secret.lock().unwrap().clone().filter(|_| self.there).ok_or("nothing".into())
        }

        fn set(&self, secret: &str) -> Result<(), String> {
            *self.secret.lock().unwrap() = Some(secret.into());
            if self.there { Ok(()) } else { Err("no keyring".into()) }
        }

        fn forget(&self) -> Result<(), String> {
            self.secret.lock().unwrap().take().map(|_| ()).ok_or("nothing".into())
        }
    }

    #[test]
    fn a_keyring_is_used_where_there_is_one_and_a_file_where_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect::<Vec<_>>();
        let fake = |there| Arc::new(Fake { there, secret: std::sync::Mutex::default() });
        let store = |keyring: &Arc<Fake>| TokenStore { keyring: Some(Arc::<Fake>::clone(keyring)), ..TokenStore::in_folder(folder.path()) };
        let (none, some) = (fake(false), fake(true));
        store(&none).save(token("hf_file").as_ref()).unwrap();
        assert_eq!((store(&none).load(), names()), (token("hf_file"), vec!["token".into()]));
        // The token leaves the file once a keyring has it.
        store(&some).save(token("hf_ring").as_ref()).unwrap();
        assert_eq!((store(&some).load(), names()), (token("hf_ring"), vec!["token.keyring".into()]));
        store(&some).save(None).unwrap();
        assert_eq!((store(&some).load(), names().len(), some.secret.lock().unwrap().clone()), (None, 0, None));
    }
}
