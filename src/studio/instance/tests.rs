//! Two starts in one process: locks belong to open files, so they meet as two processes do.

use std::fs;

use super::*;

/// Longest wait for a thread to answer; a machine that is busy may need it.
const LONG: Duration = Duration::from_mins(1);

fn first(data: &Path) -> Instance {
    match claim(data, &[]) {
        Claim::First(instance) => instance,
        other => panic!("{other:?}"),
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    vec![folder.join("a picture.png"), folder.join("湖.gguf")]
}

#[test]
fn a_second_start_hands_its_files_to_the_first_and_a_third_only_brings_it_forward() {
    let folder = tempfile::tempdir().unwrap();
    let mut instance = first(folder.path());
    let mailbox = instance.listen(|| {}).unwrap();
    let files = files(folder.path());
    assert!(matches!(claim(folder.path(), &files), Claim::HandedOver));
    assert_eq!(mailbox.next_within(LONG), Some(Handover { files }));
    assert!(matches!(claim(folder.path(), &[]), Claim::HandedOver));
    assert_eq!(mailbox.next_within(LONG), Some(Handover { files: vec![] }));
}

#[test]
fn a_second_start_waits_for_a_first_that_is_still_opening_its_window() {
    let folder = tempfile::tempdir().unwrap();
    let mut instance = first(folder.path());
    let data = folder.path().to_owned();
    let second = thread::spawn(move || claim(&data, &[data.join("a.png")]));
    let mailbox = instance.listen(|| {}).unwrap();
    assert_eq!(mailbox.next_within(LONG).unwrap().files, [folder.path().join("a.png")]);
    assert!(matches!(second.join().unwrap(), Claim::HandedOver));
}

#[test]
fn another_home_has_a_first_start_of_its_own() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut instance = first(one.path());
    let mailbox = instance.listen(|| {}).unwrap();
    let _other = first(other.path());
    assert_eq!(mailbox.try_next(), None);
}

#[test]
fn who_comes_while_the_window_closes_becomes_the_first_once_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mut instance = first(folder.path());
    let mailbox = instance.listen(|| {}).unwrap();
    instance.close();
    let data = folder.path().to_owned();
    let second = thread::spawn(move || claim(&data, &[]));
    drop(instance);
    assert!(matches!(second.join().unwrap(), Claim::First(_)));
    assert_eq!(mailbox.try_next(), None);
}

#[cfg(unix)]
#[test]
fn a_socket_that_a_crash_left_behind_locks_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    // As after a kill: nobody holds the lock, and nobody listens at the socket.
    let address = Address::of(folder.path()).unwrap();
    drop(address.listen().unwrap());
    fs::write(folder.path().join(LOCK_NAME), "").unwrap();
    let mut instance = first(folder.path());
    let mailbox = instance.listen(|| {}).unwrap();
    assert!(matches!(claim(folder.path(), &[]), Claim::HandedOver));
    assert!(mailbox.next_within(LONG).is_some());
}

#[test]
fn a_start_whose_first_never_answers_opens_its_own_window() {
    let folder = tempfile::tempdir().unwrap();
    // It has the lock and never listens; its socket is not there.
    let mut instance = first(folder.path());
    instance.listener = None;
    instance.address.remove();
    assert!(matches!(claim_within(folder.path(), &[], Duration::ZERO), Claim::Alone));
}

#[test]
fn a_folder_that_cannot_be_written_opens_a_window_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(claim(&file.join("data"), &[]), Claim::Alone));
}

#[test]
fn noise_on_the_socket_is_refused_and_the_next_start_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let mut instance = first(folder.path());
    let mailbox = instance.listen(|| {}).unwrap();
    let head = [b"ATELIER1".as_slice(), &u32::MAX.to_le_bytes()].concat();
    for noise in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &head, &[0; 4096]] {
        assert!(instance.address.send(noise).is_err());
    }
    assert!(matches!(claim(folder.path(), &[folder.path().join("a.png")]), Claim::HandedOver));
    assert_eq!(mailbox.next_within(LONG).unwrap().files, [folder.path().join("a.png")]);
}

#[cfg(unix)]
#[test]
fn nobody_else_may_open_the_socket() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let _instance = first(folder.path());
    let sockets: Vec<PathBuf> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
    for socket in sockets.iter().filter(|it| it.extension().is_some_and(|it| it == "sock")) {
        assert_eq!(fs::metadata(socket).unwrap().permissions().mode() & 0o077, 0);
    }
}
