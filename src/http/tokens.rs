//! Tokens by the names of those who have them, kept in a file that is its owner's alone.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use atelier_core::advice::Advice;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::clock::DAY_SECS;
use super::kept_file;
use atelier_gallery::queue::Owner;
use atelier_peers::prove;

/// Fewest bytes of a token: what is shorter can be guessed.
const MIN_TOKEN_BYTES: usize = 16;
/// The file of tokens, in the folder of data.
const FILE: &str = "serve-tokens.json";
/// Most tokens.
const MAX_TOKENS: usize = 1000;

/// The name of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenName {
    pub name: String,
    /// Several people have it.
    pub is_shared: bool,
}

/// A token; times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    text: String,
    /// `None`: nobody noted it.
    since: Option<i64>,
    /// `None`: without end.
    until: Option<i64>,
}

impl Token {
    fn is_over(&self, now_secs: i64) -> bool {
        self.until.is_some_and(|until| until <= now_secs)
    }
}

/// The tokens of a server: those that it was given, and those of the file.
#[derive(Clone, Default)]
pub struct Tokens {
    given: Vec<(TokenName, Token)>,
    kept: Vec<(TokenName, Token)>,
}

/// A token as the file has it: a text, or with its times.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredToken {
    Plain(String),
    Dated {
        token: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
}

/// A token of the file, without its secret; times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptToken {
    pub(super) name: String,
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|(name, _)| &name.name)).finish()
    }
}

impl Tokens {
    fn all(&self) -> impl Iterator<Item = &(TokenName, Token)> {
        self.given.iter().chain(&self.kept)
    }

    /// Adds a token.
    ///
    /// # Errors
    /// Where it can be guessed, or its name cannot be shown.
    pub fn add(&mut self, name: &str, token: &str, is_shared: bool) -> Result<(), Advice> {
        let checked = self.checked(name, Token { text: token.to_owned(), since: None, until: None }, is_shared)?;
        self.given.push(checked);
        Ok(())
    }

    /// A token that may be one beside the others.
    fn checked(&self, name: &str, token: Token, is_shared: bool) -> Result<(TokenName, Token), Advice> {
        check_name(name)?;
        let is_same = |known: &str| known != name && known.to_lowercase() == name.to_lowercase();
        if let Some((other, _)) = self.all().find(|(it, _)| is_same(&it.name)) {
            // Many disks take their folders for one.
            let sentence = format!("The names {} and {name} differ in capital letters alone.", other.name);
            return Err(Advice::new(sentence, "Choose another name for one of them."));
        }
        if token.text.len() < MIN_TOKEN_BYTES || !token.text.bytes().all(|it| it.is_ascii_graphic()) {
            let hint = format!("Choose at least {MIN_TOKEN_BYTES} letters, digits and signs, without spaces.");
            return Err(Advice::new("This token can be guessed, or cannot be sent.", hint));
        }
        Ok((TokenName { name: name.to_owned(), is_shared }, token))
    }

    /// Takes those of a file in place of those that it had before; where one cannot be used, nothing is
    /// changed. `now_secs`: since 1970. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read, or a token in it cannot be used.
    pub(super) fn reload(&mut self, file: &Path, now_secs: i64) -> Result<(), Advice> {
        let mut kept = read(file)?;
        kept.retain(|_, token| !token.is_over(now_secs));
        self.replace_stored(kept)
    }

    fn replace_stored(&mut self, kept: BTreeMap<String, Token>) -> Result<(), Advice> {
        let mut tokens = Self { given: self.given.clone(), kept: Vec::new() };
        for (person, token) in kept {
            let checked = tokens.checked(&person, token, person == SHARED)?;
            tokens.kept.push(checked);
        }
        *self = tokens;
        Ok(())
    }

    /// Everybody who has a token, with it.
    #[must_use]
    pub fn people(&self) -> Vec<(String, String)> {
        self.all().map(|(name, token)| (name.name.clone(), token.text.clone())).collect()
    }

    /// True where there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty() && self.kept.is_empty()
    }

    /// The name of this token, unless its time is over. Every token is compared, in a time that tells
    /// nothing about them. `now_secs`: since 1970.
    #[must_use]
    pub fn name_of(&self, given: &str, now_secs: i64) -> Option<&TokenName> {
        let mut found = None;
        for (name, token) in self.all() {
            let is_it = bool::from(token.text.as_bytes().ct_eq(given.as_bytes()));
            if is_it && !token.is_over(now_secs) {
                found = Some(name);
            }
        }
        found
    }

    /// Proofs that they are known here, for whoever asks with this challenge at this address. `now_secs`:
    /// since 1970.
    pub(crate) fn proofs(&self, challenge: &str, address: SocketAddr, now_secs: i64) -> Vec<String> {
        let valid = self.all().filter(|(_, token)| !token.is_over(now_secs));
        valid.filter_map(|(_, token)| prove(&token.text, challenge, address)).collect()
    }

    /// The tokens of these people in a file; who has none yet, or one whose time is over, gets one for
    /// so many days (`None`: without end), and the file is written. Returns each with their token.
    /// `now_secs`: since 1970. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn of_people(&mut self, file: &Path, people: &[String], days: Option<u32>, now_secs: i64) -> Result<Vec<(String, String)>, Advice> {
        let mut kept = read(file)?;
        let all = kept.len();
        kept.retain(|_, token| !token.is_over(now_secs));
        let mut is_changed = kept.len() != all;
        for person in people {
            check_name(person)?;
            if !kept.contains_key(person) {
                if kept.len() >= MAX_TOKENS {
                    return Err(Advice::new("There are too many tokens.", format!("Remove some from {}.", file.display())));
                }
                let until = days.map(|days| now_secs.saturating_add(i64::from(days) * DAY_SECS));
                kept.insert(person.clone(), Token { text: draw(), since: Some(now_secs), until });
                is_changed = true;
            }
        }
        // One that cannot be used is not written.
        let mut tokens = self.clone();
        tokens.replace_stored(kept.clone())?;
        if is_changed {
            write(file, &kept)?;
        }
        // Who got a token before may still use it.
        *self = tokens;
        let told = kept.into_iter().filter(|(person, _)| people.contains(person));
        Ok(told.map(|(person, token)| (person, token.text)).collect())
    }
}

/// The file of tokens in this folder of data.
pub(super) fn file_in(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// The tokens of a file that have not ended. `now_secs`: since 1970. Blocks.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn kept_in(file: &Path, now_secs: i64) -> Result<Vec<KeptToken>, Advice> {
    let valid = read(file)?.into_iter().filter(|(_, token)| !token.is_over(now_secs));
    Ok(valid.map(|(name, Token { since, until, .. })| KeptToken { name, since, until }).collect())
}

/// Takes the token of a person out of a file, where it has one: who gets one again gets another.
/// False where it has none. Blocks.
///
/// # Errors
/// If the file cannot be read or written.
pub(super) fn forget(file: &Path, person: &str) -> Result<bool, Advice> {
    let mut kept = read(file)?;
    let is_there = kept.remove(person).is_some();
    if is_there {
        write(file, &kept)?;
    }
    Ok(is_there)
}

/// The name of the token that people share who have none of their own.
pub(crate) const SHARED: &str = "guest";
/// How a device is called that was let in without a token, with its address.
pub(crate) const DEVICE: &str = "Device";

fn check_name(name: &str) -> Result<(), Advice> {
    // One who is called like those without a token of their own would see their pictures.
    let is_taken = *name == *Owner::this_computer().name()
        || [SHARED, DEVICE].iter().any(|it| name.strip_prefix(it).is_some_and(|rest| rest.starts_with(' ')));
    if is_taken {
        return Err(Advice::new(format!("The name {name} is the server's own."), "Choose another name."));
    }
    let is_right = !name.trim().is_empty() && name.chars().count() <= Owner::MAX_CHARS && !name.chars().any(char::is_control);
    let hint = format!("Choose up to {} letters.", Owner::MAX_CHARS);
    if is_right { Ok(()) } else { Err(Advice::new("This is not a name for a person.", hint)) }
}

/// A token of 128 bits.
fn draw() -> String {
    format!("{:032x}", rand::random::<u128>())
}

fn faulty(file: &Path, error: &dyn fmt::Display) -> Advice {
    Advice::new(
        format!("The tokens in {} cannot be used: {error}.", file.display()),
        "Repair the file, or remove it to give out new tokens.",
    )
}

fn stored(token: &Token) -> StoredToken {
    let Token { text, since, until } = token.clone();
    if since.is_none() && until.is_none() { StoredToken::Plain(text) } else { StoredToken::Dated { token: text, since, until } }
}

fn write(file: &Path, tokens: &BTreeMap<String, Token>) -> Result<(), Advice> {
    let stored: BTreeMap<&str, StoredToken> = tokens.iter().map(|(person, token)| (person.as_str(), stored(token))).collect();
    kept_file::write(file, &stored).map_err(|error| faulty(file, &error))
}

fn read(file: &Path) -> Result<BTreeMap<String, Token>, Advice> {
    let stored: BTreeMap<String, StoredToken> = kept_file::read(file).map_err(|error| faulty(file, &error))?;
    let token = |stored| match stored {
        StoredToken::Plain(text) => Token { text, since: None, until: None },
        StoredToken::Dated { token, since, until } => Token { text: token, since, until },
    };
    Ok(stored.into_iter().map(|(person, stored)| (person, token(stored))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_keeps_the_token_and_the_file_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data").join("tokens.json");
        std::fs::create_dir_all(folder.path().join("data")).unwrap();
        let people = ["Anna".to_owned(), SHARED.to_owned()];
        let mut tokens = Tokens::default();
        let first = tokens.of_people(&file, &people, None, 0).unwrap();
        assert_eq!(first.len(), 2);
        assert_eq!(first[0].1.len(), 32);
        assert_ne!(first[0].1, first[1].1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
        }
        let mut again = Tokens::default();
        let second = again.of_people(&file, &people[..1], None, 0).unwrap();
        assert_eq!(second, first[..1], "and only those who are named are told");
        let of_guest = again.name_of(&first[1].1, i64::MAX).unwrap();
        assert_eq!((of_guest.name.as_str(), of_guest.is_shared), (SHARED, true), "who was named before still gets in");
        assert_eq!(again.people(), first);
        assert_eq!(again.name_of("wrong", 0), None);
        assert!(!format!("{again:?}").contains(&first[0].1), "a log shows names alone");
        for taken in ["Programs on this computer", "guest 10.0.0.1", "anna"] {
            assert!(again.add(taken, &first[0].1, false).is_err(), "{taken}");
        }
        assert!(again.add("Ben", "short", false).is_err() && again.add("B\nen", &first[0].1, false).is_err());
    }

    #[test]
    fn a_token_that_is_taken_back_is_never_one_again_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.json");
        assert!(!forget(&file, "Anna").unwrap());
        assert!(!file.exists(), "there is nothing to write");
        let people = ["Anna".to_owned(), "Ben".to_owned()];
        let told = Tokens::default().of_people(&file, &people, None, 0).unwrap();
        assert!(forget(&file, "Anna").unwrap());
        let mut tokens = Tokens::default();
        tokens.of_people(&file, &[], None, 0).unwrap();
        assert_eq!([&told[0].1, &told[1].1].map(|it| tokens.name_of(it, 0).map(|it| it.name.as_str())), [None, Some("Ben")]);
        let again = Tokens::default().of_people(&file, &people, None, 0).unwrap();
        assert!(again[0].1 != told[0].1 && again[1] == told[1], "Anna has another one");
    }

    #[test]
    fn a_token_ends_with_its_day_and_the_next_start_gives_out_another() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.json");
        std::fs::write(&file, br#"{"Ben": "0123456789abcdef"}"#).unwrap();
        let people = ["Anna".to_owned()];
        let at = |now| {
            let mut tokens = Tokens::default();
            let told = tokens.of_people(&file, &people, Some(2), now).unwrap();
            (tokens, told[0].1.clone())
        };
        let (tokens, first) = at(1000);
        let end = 1000 + 2 * DAY_SECS;
        assert_eq!(tokens.name_of(&first, end - 1).map(|it| it.name.as_str()), Some("Anna"));
        assert_eq!(tokens.name_of(&first, end), None, "also while the server runs");
        assert!(tokens.name_of("0123456789abcdef", i64::MAX).is_some(), "one of before has no end");
        assert_eq!(at(end - 1).1, first, "another start changes nothing");
        let (tokens, second) = at(end);
        assert_ne!(second, first);
        assert_eq!(tokens.name_of(&first, end), None);
    }

    #[test]
    fn what_another_process_changed_in_the_file_is_taken_over_and_given_tokens_stay() {
        const GIVEN: &str = "a-token-of-the-command-line";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.json");
        let mut tokens = Tokens::default();
        tokens.add(SHARED, GIVEN, true).unwrap();
        let people = ["Anna".to_owned(), "Ben".to_owned()];
        let told = tokens.of_people(&file, &people, None, 100).unwrap();
        assert!(forget(&file, "Anna").unwrap());
        let new = Tokens::default().of_people(&file, &["Carol".to_owned()], Some(1), 200).unwrap();
        tokens.reload(&file, 300).unwrap();
        let named = |tokens: &Tokens, text: &str| tokens.name_of(text, 300).map(|it| it.name.clone());
        Tokens::default().of_people(&file, &["BEN".to_owned()], None, 200).unwrap_err();
        let all = [told[0].1.as_str(), &told[1].1, &new[0].1, GIVEN].map(|text| named(&tokens, text));
        assert_eq!(all, [None, Some("Ben".into()), Some("Carol".into()), Some(SHARED.into())]);
        let kept = |name: &str, since, until| KeptToken { name: name.into(), since: Some(since), until };
        assert_eq!(kept_in(&file, 300).unwrap(), [kept("Ben", 100, None), kept("Carol", 200, Some(200 + DAY_SECS))]);
        for faulty in [&b"{"[..], br#"{"Anna": "short"}"#, br#"{"guest 1": "0123456789abcdef"}"#] {
            std::fs::write(&file, faulty).unwrap();
            tokens.reload(&file, 300).unwrap_err();
            assert_eq!(named(&tokens, &told[1].1).as_deref(), Some("Ben"), "nothing is changed");
        }
    }
}
