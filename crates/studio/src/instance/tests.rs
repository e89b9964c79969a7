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
    let mailbox = instance.listen(Arc::default(), || {}).unwrap();
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
    let mailbox = instance.listen(Arc::default(), || {}).unwrap();
    assert_eq!(mailbox.next_within(LONG).unwrap().files, [folder.path().join("a.png")]);
    assert!(matches!(second.join().unwrap(), Claim::HandedOver));
}

#[test]
fn another_home_has_a_first_start_of_its_own() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut instance = first(one.path());
    let mailbox = instance.listen(Arc::default(), || {}).unwrap();
    let _other = first(other.path());
    assert_eq!(mailbox.try_next(), None);
}

#[test]
fn who_comes_while_the_window_closes_becomes_the_first_once_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mut instance = first(folder.path());
    let mailbox = instance.listen(Arc::default(), || {}).unwrap();
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
    let mailbox = instance.listen(Arc::default(), || {}).unwrap();
    assert!(matches!(claim(folder.path(), &[]), Claim::HandedOver));
    assert!(mailbox.next_within(LONG).is_some());
}

#[test]
fn a_start_whose_first_never_answers_waits_and_knows_that_it_is_the_second() {
    let folder = tempfile::tempdir().unwrap();
    // It has the lock and a socket, and reads nothing, as a window that hangs.
    let mut instance = first(folder.path());
    let begun = Instant::now();
    assert!(matches!(claim_within(folder.path(), &files(folder.path()), socket::ANSWER_WITHIN + RETRY_INTERVAL), Claim::Beside));
    assert!(begun.elapsed() > socket::ANSWER_WITHIN, "once is not enough");
    // Awake again it opens nothing that was handed to it in vain.
    let mailbox = instance.listen(Arc::default(), || {}).unwrap();
    assert!(matches!(claim(folder.path(), &[]), Claim::HandedOver));
    assert_eq!(mailbox.next_within(LONG), Some(Handover { files: vec![] }));
    assert_eq!(mailbox.try_next(), None);

    // Without a socket too.
    drop(instance);
    let instance = first(folder.path());
    instance.address.as_ref().unwrap().remove();
    assert!(matches!(claim_within(folder.path(), &[], Duration::ZERO), Claim::Beside));
}

#[test]
fn who_comes_while_the_program_ends_is_not_sent_away_with_nothing_and_opens_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (mut instance, is_terminated) = (first(folder.path()), Arc::new(AtomicBool::new(false)));
    let mailbox = instance.listen(Arc::clone(&is_terminated), || {}).unwrap();
    let claim_now = || claim_within(folder.path(), &files(folder.path()), Duration::ZERO);
    // The signal has come and no frame was drawn since.
    is_terminated.store(true, Ordering::Release);
    assert!(matches!(claim_now(), Claim::Beside), "it was not handed over");
    is_terminated.store(false, Ordering::Release);
    instance.set_taking_files(false);
    assert!(matches!(claim_now(), Claim::Beside));
    // The person was asked and stays.
    instance.set_taking_files(true);
    assert!(matches!(claim(folder.path(), &files(folder.path())), Claim::HandedOver));
    assert_eq!(mailbox.next_within(LONG), Some(Handover { files: files(folder.path()) }));
    instance.set_taking_files(false);
    let data = folder.path().to_owned();
    let second = thread::spawn(move || claim(&data, &files(&data)));
    drop(instance);
    assert!(matches!(second.join().unwrap(), Claim::First(_)), "it waits for the lock");
    assert_eq!(mailbox.try_next(), None);
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
    let mailbox = instance.listen(Arc::default(), || {}).unwrap();
    let head = [b"ATELIER1".as_slice(), &u32::MAX.to_le_bytes()].concat();
    for noise in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &head, &[0; 4096]] {
        assert!(instance.address.as_ref().unwrap().send(noise).is_err());
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
