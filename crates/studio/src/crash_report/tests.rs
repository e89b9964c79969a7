//! Tests of crash reports; the folders are beneath a temporary one.

use super::*;
use atelier_core::device::DeviceKind;

fn paths(home: &Path) -> Paths {
    Paths::beneath(home)
}

fn reports(paths: &Paths) -> Vec<String> {
    let entries = fs::read_dir(folder(paths)).into_iter().flatten().flatten();
    entries.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect()
}

fn card() -> Device {
    Device {
        name: "CUDA0".into(),
        description: "Some card".into(),
        kind: DeviceKind::Gpu,
        gpu: None,
        memory_total_bytes: 8 << 30,
        memory_free_bytes: 6 << 30,
        memory_allocated_bytes: 0,
    }
}

#[test]
fn a_window_that_ended_as_it_should_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let paths = paths(home.path());
    for _ in 0..2 {
        let watch = Watch::new(&paths);
        assert_eq!(watch.begin(), None);
        watch.set_devices(&[card()]);
        watch.end();
    }
    assert!(reports(&paths).is_empty() && !paths.data.join(MARKER_NAME).exists());
}

#[test]
fn an_end_without_a_word_is_told_once_at_the_next_start_with_devices_version_and_the_end_of_the_log() {
    let home = tempfile::tempdir().unwrap();
    let paths = paths(home.path());
    let watch = Watch::new(&paths);
    assert_eq!(watch.begin(), None);
    watch.set_devices(&[card()]);
    fs::create_dir_all(logs::folder(&paths)).unwrap();
    fs::write(logs::folder(&paths).join("atelier.log"), "WARN the very last line\n").unwrap();
    drop(watch);

    let next = Watch::new(&paths);
    let crash = next.begin().unwrap();
    let text = fs::read_to_string(&crash.report).unwrap();
    for part in [version::FULL, atelier_engine::version(), "CUDA0: GPU, Some card, 8.0 GiB", "WARN the very last line", "Nothing was sent"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    next.end();
    assert_eq!(Watch::new(&paths).begin(), None);
    assert_eq!(reports(&paths).len(), 1);
}

#[test]
fn a_panic_writes_its_report_at_once_and_the_next_start_shows_that_one() {
    let home = tempfile::tempdir().unwrap();
    let paths = paths(home.path());
    let watch = Watch::new(&paths);
    assert_eq!(watch.begin(), None);
    watch.panicked("The thread \"main\" panicked at x.rs:1: no such index", &Backtrace::disabled());
    // What still runs while the program ends takes nothing back.
    watch.end();
    assert!(reports(&paths)[0].contains("no such index"));
    let crash = Watch::new(&paths).begin().unwrap();
    assert!(fs::read_to_string(crash.report).unwrap().contains("no such index"));
    assert_eq!(reports(&paths).len(), 1);
}

#[test]
fn a_system_that_went_down_with_the_window_is_no_crash() {
    let home = tempfile::tempdir().unwrap();
    let paths = paths(home.path());
    assert_eq!(Watch::new(&paths).begin(), None);
    assert_eq!(take_crash(&paths, now_secs() + 100), None);
    assert!(reports(&paths).is_empty() && !paths.data.join(MARKER_NAME).exists());
}

#[test]
fn a_marker_that_cannot_be_read_is_a_crash_of_which_nothing_is_known() {
    let home = tempfile::tempdir().unwrap();
    let paths = paths(home.path());
    fs::create_dir_all(&paths.data).unwrap();
    for text in [String::new(), "{".into(), "x".repeat(300 << 10), r#"{"report":"/etc/passwd","started_secs":4000000000}"#.into()] {
        fs::write(paths.data.join(MARKER_NAME), &text).unwrap();
        let crash = take_crash(&paths, 0).unwrap();
        assert_eq!(crash.report.parent(), Some(folder(&paths).as_path()), "nothing else is shown");
    }
}

#[test]
fn the_home_folder_is_left_out_and_only_the_newest_reports_stay() {
    let home = Path::new("/home/somebody");
    assert_eq!(without_home("/home/somebody/models/a.gguf is damaged", Some(home)), "~/models/a.gguf is damaged");
    assert_eq!(without_home("/a", Some(Path::new("/"))), "/a");
    let home = tempfile::tempdir().unwrap();
    let paths = paths(home.path());
    for n in 0..MAX_REPORTS + 4 {
        write_report(&paths, &Marker::default(), &format!("number {n}")).unwrap();
    }
    assert_eq!(reports(&paths).len(), MAX_REPORTS);
}

#[test]
fn a_folder_that_cannot_be_written_stops_no_window() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let watch = Watch::new(&paths(&file));
    assert_eq!(watch.begin(), None);
    watch.end();
}
