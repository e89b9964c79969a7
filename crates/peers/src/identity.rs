//! By what a studio is known again: an identity that it drew once and tells everybody, and a proof
//! that it knows a token, which holds for the address at which it was asked alone. Pure but for
//! [`StudioId::in_file`].
//!
//! The identity is no proof: anybody can announce it. Nor can the proof be passed on by somebody who
//! stands between, since that one is asked at another address.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::Path;

use atelier_core::paths::write_private;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;

use crate::AccessToken;

/// Hexadecimal digits of 128 bits.
const DIGITS: usize = 32;
/// What is proved: the same key proves nothing else.
const PURPOSE: &str = "atelier studio at its address";
/// Proofs of one answer that are looked at: one for each token of the studio.
const MAX_PROOFS: usize = 1000;

/// The identity of a studio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudioId(String);

impl StudioId {
    /// The identity of this text; `None` where it is none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_drawn(text).then(|| Self(text.to_owned()))
    }

    /// A new one.
    #[must_use]
    pub fn draw() -> Self {
        Self(drawn())
    }

    /// The identity in a file; where there is none, or it makes no sense, it is drawn and written.
    /// Blocks.
    ///
    /// # Errors
    /// If the file can be neither read nor written.
    pub fn in_file(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        match File::open(path).and_then(|file| file.take(2 * DIGITS as u64).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => text.clear(),
            Err(error) => return Err(error),
        }
        if let Some(id) = Self::new(text.trim()) {
            return Ok(id);
        }
        let id = Self::draw();
        write_private(path, id.0.as_bytes())?;
        Ok(id)
    }

    /// Its 32 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The proof that a studio knows a token, for whoever asks it with this challenge at this address;
/// `None` where the challenge is none, or the token one that a person made up: by a proof it could be
/// guessed.
#[must_use]
pub fn prove(token: &str, challenge: &str, address: SocketAddr) -> Option<String> {
    let is_safe = is_drawn(token) && is_drawn(challenge);
    is_safe.then(|| STANDARD.encode(hmac::sign(&key(token), &message(challenge, address))))
}

/// A challenge that nobody knows before.
pub(crate) fn drawn() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// What a studio answers to a challenge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    pub(crate) id: Option<StudioId>,
    proofs: Vec<Vec<u8>>,
}

impl Identity {
    pub(crate) fn read(answer: &Value) -> Self {
        let proofs = answer.get("proofs").and_then(Value::as_array).into_iter().flatten().take(MAX_PROOFS);
        Self { id: id_in(answer), proofs: proofs.filter_map(|proof| STANDARD.decode(proof.as_str()?).ok()).collect() }
    }

    /// True where it knows this token, and was asked with this challenge at this very address.
    pub(crate) fn proves(&self, token: &AccessToken, challenge: &str, address: SocketAddr) -> bool {
        let (key, message) = (key(token.secret()), message(challenge, address));
        self.proofs.iter().any(|proof| hmac::verify(&key, &message, proof).is_ok())
    }
}

/// The identity that an answer names.
pub(crate) fn id_in(answer: &Value) -> Option<StudioId> {
    answer.get("studio_id").and_then(Value::as_str).and_then(StudioId::new)
}

fn key(token: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes())
}

fn message(challenge: &str, address: SocketAddr) -> Vec<u8> {
    format!("{PURPOSE}\n{challenge}\n{}\n{}", address.ip().to_canonical(), address.port()).into_bytes()
}

/// True for 128 bits that a program drew.
fn is_drawn(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    const CHALLENGE: &str = "00112233445566778899aabbccddeeff";

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_proof_is_about_its_token_its_challenge_and_its_address() {
        let at = address("192.168.1.5:7860");
        let token = AccessToken::new(TOKEN).unwrap();
        let identity =
            Identity::read(&json!({"studio_id": CHALLENGE, "proofs": ["no base64!", 7, "", prove(TOKEN, CHALLENGE, at).unwrap()]}));
        assert_eq!(identity.id, StudioId::new(CHALLENGE));
        assert!(identity.proves(&token, CHALLENGE, at));
        assert!(identity.proves(&token, CHALLENGE, address("[::ffff:192.168.1.5]:7860")), "the same address");
        for (token, challenge, at) in [
            (TOKEN, CHALLENGE, "192.168.1.6:7860"),
            (TOKEN, CHALLENGE, "192.168.1.5:7861"),
            (TOKEN, TOKEN, "192.168.1.5:7860"),
            (CHALLENGE, CHALLENGE, "192.168.1.5:7860"),
        ] {
            let token = AccessToken::new(token).unwrap();
            assert!(!identity.proves(&token, challenge, address(at)), "{challenge} {at}");
        }
        assert!(!Identity::read(&json!({"proofs": "all"})).proves(&token, CHALLENGE, at));
    }

    #[test]
    fn what_a_person_made_up_and_a_strange_challenge_are_proved_by_nothing() {
        let at = address("192.168.1.5:7860");
        assert_eq!(prove("the name of my cat and 1", CHALLENGE, at), None);
        for challenge in ["", "0", "00112233445566778899AABBCCDDEEFF", "0".repeat(1000).as_str()] {
            assert_eq!(prove(TOKEN, challenge, at), None, "{challenge}");
        }
        assert!(prove(TOKEN, &drawn(), at).is_some());
    }

    #[test]
    fn an_identity_stays_and_one_that_makes_no_sense_is_drawn_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("studio-id");
        let first = StudioId::in_file(&path).unwrap();
        assert_eq!(StudioId::in_file(&path).unwrap(), first);
        assert_ne!(StudioId::draw(), first);
        for strange in [&b"short"[..], &[0xff; 40], &[b'0'; 1000]] {
            std::fs::write(&path, strange).unwrap();
            let other = StudioId::in_file(&path).unwrap();
            assert_eq!(StudioId::in_file(&path).unwrap(), other);
        }
        assert_eq!(StudioId::new("../../x"), None);
    }
}
