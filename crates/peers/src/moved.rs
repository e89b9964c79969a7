//! A kept studio that has another address now: found in the network by its identity, and believed
//! where it proves there that it knows the token. Blocks.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use atelier_language::tr;

use crate::identity::{StudioId, drawn};
use crate::{AccessToken, Browser, KeptStudio, KeptStudios, Network, Studio, StudioAddress, StudioError};

/// Longest search in the network.
const SEARCH_WITHIN: Duration = Duration::from_secs(5);
/// Addresses that are asked for a proof.
const MAX_ASKED: usize = 8;

/// A kept studio, as it can be asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedStudio {
    pub studio: KeptStudio,
    /// Where it was before, where it was found at another address.
    pub moved_from: Option<StudioAddress>,
}

impl LocatedStudio {
    /// A sentence for the person, where it has another address.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let before = self.moved_from.as_ref()?;
        Some(tr!("peers-has-another-address-now", studio = self.studio.name, address = self.studio.address, before))
    }
}

/// Where a kept studio is now. One that does not answer at its address, or at whose address another
/// one answers, is looked for by its identity; the file then has the new address. Without an identity
/// or a token, and with TLS, it is where it was.
///
/// # Errors
/// Where another studio answers at its address, and it is found nowhere else: the token is not sent.
pub fn locate_studio(kept: &KeptStudio, file: &Path, network: Network) -> Result<LocatedStudio, StudioError> {
    locate_within(kept, file, network, SEARCH_WITHIN)
}

fn locate_within(kept: &KeptStudio, file: &Path, network: Network, search_within: Duration) -> Result<LocatedStudio, StudioError> {
    let as_kept = LocatedStudio { studio: kept.clone(), moved_from: None };
    let (Some(id), Some(token)) = (&kept.id, &kept.token) else { return Ok(as_kept) };
    if !kept.address.is_plain() {
        return Ok(as_kept);
    }
    let answers = Studio::new(&kept.name, kept.address.clone(), None)?.identity(&drawn());
    let is_another = match answers {
        Err(StudioError::Unreachable { .. } | StudioError::Lost { .. }) => false,
        Ok(identity) if identity.id.as_ref().is_some_and(|it| it != id) => true,
        // It is there; one that tells no identity is left to say for itself what is wrong.
        Ok(_) | Err(_) => return Ok(as_kept),
    };
    let Some(address) = search((kept, id, token), network, search_within) else {
        return if is_another { Err(StudioError::Replaced { studio: kept.name.clone() }) } else { Ok(as_kept) };
    };
    if let Err(error) = write(file, &kept.address, &address) {
        tracing::warn!("the new address of a studio is not kept: {error}");
    }
    let studio = KeptStudio { address, ..kept.clone() };
    Ok(LocatedStudio { studio, moved_from: Some(kept.address.clone()) })
}

/// The address of the announced studio that has this identity and proves that it knows the token.
fn search((kept, id, token): (&KeptStudio, &StudioId, &AccessToken), network: Network, within: Duration) -> Option<StudioAddress> {
    let mut browser = match Browser::start(network) {
        Ok(browser) => browser,
        Err(error) => {
            tracing::warn!("a studio is not looked for: {error}");
            return None;
        }
    };
    let deadline = Instant::now() + within;
    let mut asked: Vec<StudioAddress> = Vec::new();
    loop {
        for found in browser.studios() {
            let address = found.address;
            if found.id.as_ref() != Some(id) || address == kept.address || asked.contains(&address) || asked.len() >= MAX_ASKED {
                continue;
            }
            if is_proved(kept, token, &address) {
                return Some(address);
            }
            asked.push(address);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || !browser.wait(left) {
            return None;
        }
    }
}

/// True where whoever is at this address knows the token; the token itself is not sent.
fn is_proved(kept: &KeptStudio, token: &AccessToken, address: &StudioAddress) -> bool {
    let challenge = drawn();
    let Some(at) = address.socket() else { return false };
    let answer = Studio::new(&kept.name, address.clone(), None).and_then(|studio| studio.identity(&challenge));
    answer.is_ok_and(|identity| identity.proves(token, &challenge, at))
}

/// Keeps the new address in place of the old one, in the list as it is now.
fn write(file: &Path, from: &StudioAddress, to: &StudioAddress) -> io::Result<()> {
    let mut kept = KeptStudios::read(file).map_err(|error| io::Error::other(error.to_string()))?;
    // Another program of this person may have changed it meanwhile.
    if kept.move_to(from, to) { kept.write(file) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;
    use crate::{Announcement, prove};

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    /// Longer than a name is probed and announced on the slowest machine: reaching it is a failure.
    const LIMIT: Duration = Duration::from_mins(1);
    const ID: &str = "00112233445566778899aabbccddeeff";

    /// A studio of this identity, whose proofs are those of `knows` as asked at `at`, or at its own
    /// address; and the heads of what it was asked.
    fn server(id: &'static str, knows: &'static str, at: Option<SocketAddr>) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&heads);
        // It ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut head = String::new();
                let mut reader = BufReader::new(&stream);
                while reader.read_line(&mut head).is_ok_and(|bytes| bytes > 2) {}
                let challenge = head.split(['/', ' ']).find(|it| it.len() == 32).unwrap_or_default().to_owned();
                let proof = prove(knows, &challenge, at.unwrap_or(address)).unwrap_or_default();
                let body = format!("{{\"studio_id\": \"{id}\", \"proofs\": [\"{proof}\"]}}");
                told.lock().unwrap().push(head);
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close", body.len());
                // Who asked may have hung up.
                let _ = write!(&stream, "{head}\r\n\r\n{body}");
            }
        });
        (address, heads)
    }

    /// A port of mDNS that nobody has: another run of this test may be under way.
    fn network() -> Network {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        Network::ThisComputer { port: socket.local_addr().unwrap().port() }
    }

    /// An address at which nobody is: a port that no listener of another test is ever given.
    fn nobody() -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 9))
    }

    fn kept_at(address: SocketAddr, folder: &Path) -> (KeptStudio, std::path::PathBuf) {
        let address = StudioAddress::of(address).unwrap();
        let studio = KeptStudio { name: "Anna".into(), address, token: AccessToken::new(TOKEN), id: StudioId::new(ID) };
        let (mut kept, file) = (KeptStudios::default(), folder.join("studios.json"));
        assert!(kept.keep(studio.clone()));
        kept.write(&file).unwrap();
        (studio, file)
    }

    #[test]
    fn a_studio_is_found_again_at_another_address_where_it_proves_that_it_knows_the_token() {
        let (folder, network) = (tempfile::tempdir().unwrap(), network());
        let (studio, file) = kept_at(nobody(), folder.path());
        let (address, heads) = server(ID, TOKEN, None);
        let _announced = Announcement::start("Anna", &[address], true, &StudioId::new(ID).unwrap(), network).unwrap();
        let located = locate_within(&studio, &file, network, LIMIT).unwrap();
        let now = StudioAddress::of(address).unwrap();
        assert_eq!((&located.studio.address, located.moved_from.as_ref()), (&now, Some(&studio.address)));
        let note = located.note().unwrap();
        assert!(note.contains(&now.to_string()) && note.contains(&studio.address.to_string()) && !note.contains(TOKEN), "{note}");
        let kept = KeptStudios::read(&file).unwrap();
        assert_eq!(kept.named("Anna"), Some(&located.studio), "with its token and its identity");
        assert!(heads.lock().unwrap().iter().all(|head| !head.contains(TOKEN)), "nothing but the challenge is sent");
        let again = locate_studio(&located.studio, &file, network).unwrap();
        assert_eq!((again.moved_from.clone(), again.note()), (None, None));
    }

    #[test]
    fn whoever_has_the_identity_without_the_token_or_passes_a_proof_on_is_not_believed() {
        let token = AccessToken::new(TOKEN).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (studio, _) = kept_at(nobody(), folder.path());
        // The proof of the true studio is about the true studio's address.
        let elsewhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        for (knows, at, is_believed) in
            [(TOKEN, None, true), (TOKEN, Some(elsewhere), false), ("ffffffffffffffffffffffffffffffff", None, false)]
        {
            let (address, heads) = server(ID, knows, at);
            assert_eq!(is_proved(&studio, &token, &StudioAddress::of(address).unwrap()), is_believed, "{knows} {at:?}");
            assert_eq!(heads.lock().unwrap().len(), 1, "it was asked");
        }
    }

    #[test]
    fn another_studio_at_the_old_address_gets_no_token() {
        let (folder, network) = (tempfile::tempdir().unwrap(), network());
        let (address, heads) = server("ffffffffffffffffffffffffffffffff", TOKEN, None);
        let (studio, file) = kept_at(address, folder.path());
        assert_eq!(locate_within(&studio, &file, network, Duration::ZERO), Err(StudioError::Replaced { studio: "Anna".into() }));
        assert!(heads.lock().unwrap().iter().all(|head| !head.to_lowercase().contains("authorization")));
        let without = KeptStudio { id: None, ..studio };
        assert_eq!(locate_studio(&without, &file, network).unwrap().moved_from, None, "one whose identity is not known is where it was");
    }
}
