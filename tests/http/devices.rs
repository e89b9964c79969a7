//! Devices without a token, which are let in by their addresses.

use std::net::IpAddr;
use std::process::Output;

use atelier::http::Caller;
use atelier::http::guard::Policy;
use atelier_core::paths::{Paths, write_private};
use serde_json::{Value, json};

use crate::client::{Sent, get};
use crate::owners::{ANNA, BEN, ask};
use crate::process::atelier;
use crate::studio::Studio;

/// Every client of these tests.
const DEVICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
/// One that gives no name.
const CALLER: Caller = Caller { address: DEVICE, program: None };

/// A server that lets nobody in without a token.
fn guarded() -> Studio {
    Studio::guarded(Policy { requires_token: true, ..Policy::default() })
}

fn status(studio: &Studio) -> u16 {
    get(studio.address(), "/sdapi/v1/cmd-flags").status
}

/// Writes the approval of a device that asked at this address of this computer.
fn write_approval(studio: &Studio, device: &str, here: &str) {
    let since = time::OffsetDateTime::now_utc().unix_timestamp();
    let approvals: Value = json!({device: {"here": here, "since": since}});
    let file = Paths::beneath(studio.home.path()).data.join("serve-approvals.json");
    write_private(&file, approvals.to_string().as_bytes()).unwrap();
}

#[test]
fn a_device_is_let_in_also_after_a_restart_until_that_is_revoked() {
    let mut studio = guarded();
    assert_eq!(status(&studio), 401);
    assert_eq!(studio.server().guests().asking, [CALLER]);
    studio.server().answer(DEVICE, true).keep().unwrap();
    assert_eq!(status(&studio), 200);
    let guests = studio.server().guests();
    assert_eq!((guests.admitted, guests.asking.len()), (vec![CALLER], 0));
    studio.serve();
    assert_eq!(status(&studio), 200);
    studio.server().answer(DEVICE, false).keep().unwrap();
    assert_eq!(status(&studio), 401);
    assert!(studio.server().guests().asking.is_empty(), "it was answered in this run");
    studio.serve();
    assert_eq!(status(&studio), 401);
    assert_eq!(studio.server().guests().asking, [CALLER]);
}

#[test]
fn what_a_program_calls_itself_is_told_where_it_asks_and_as_long_as_it_has_access() {
    let mut studio = guarded();
    let named = |name: &str| Sent::new(studio.address(), "GET", "/sdapi/v1/cmd-flags", &[("User-Agent", name)], b"").answer().status;
    let long = format!("Krita/5.3 (Windows; \"x64\") {}", "plugin ".repeat(300));
    assert_eq!([named(&long), named("Another")], [401; 2]);
    let asking = studio.server().guests().asking;
    assert_eq!(asking.iter().map(|it| it.address).collect::<Vec<_>>(), [DEVICE], "once");
    let name = asking[0].program.as_deref().unwrap();
    assert!(name.starts_with("Krita/5.3 plugin plugin") && name.len() <= 63, "{name}");
    studio.server().answer(DEVICE, true).keep().unwrap();
    studio.serve();
    assert_eq!(status(&studio), 200);
    assert!(studio.server().guests().admitted[0].program.as_ref().is_some_and(|it| it.starts_with("Krita/5.3")));
    let listed = atelier(studio.home.path(), &["serve", "access"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.lines().next().unwrap().ends_with("CALLS ITSELF") && listed.contains("  Krita/5.3 plugin"), "{listed}");
}

#[test]
fn an_approval_is_for_one_address_in_one_network() {
    let studio = guarded();
    for (device, here, allowed) in
        [("127.0.0.1", "127.0.0.1", 200), ("127.0.0.1", "10.0.0.1", 401), ("10.0.0.7", "127.0.0.1", 401), ("10.0.0.7", "10.0.0.1", 401)]
    {
        write_approval(&studio, device, here);
        for header in ["Accept", "X-Forwarded-For", "Forwarded", "X-Real-IP"] {
            let value = if header == "Forwarded" { format!("for={device}") } else { device.to_owned() };
            let asked = Sent::new(studio.address(), "GET", "/sdapi/v1/cmd-flags", &[(header, &value)], b"").answer();
            assert_eq!(asked.status, allowed, "{device} at {here}, {header}");
        }
    }
}

#[test]
fn the_command_line_lists_who_may_come_in_and_shuts_them_out_while_a_server_runs() {
    let studio = guarded();
    let tokens = Paths::beneath(studio.home.path()).data.join("serve-tokens.json");
    std::fs::write(&tokens, json!({"Anna": ANNA, "Ben": BEN}).to_string()).unwrap();
    let statuses = || [ANNA, BEN, "nobody-nobody-nobody"].map(|it| ask(&studio, it, "GET", "/sdapi/v1/cmd-flags", &Value::Null).status);
    assert_eq!(statuses(), [200, 200, 401], "what is in the file now counts");
    write_approval(&studio, "127.0.0.1", "127.0.0.1");
    assert_eq!(statuses(), [200, 200, 200]);
    assert_eq!(studio.server().people().len(), 2);

    let run = |args: &[&str]| -> Output { atelier(studio.home.path(), &[&["serve"], args].concat()).output().unwrap() };
    let listed = String::from_utf8(run(&["access"]).stdout).unwrap();
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(rows, [["NAME", "BY"], ["Anna", "token"], ["Ben", "token"], ["127.0.0.1", "address"]]);
    assert!(!listed.contains(ANNA), "{listed}");
    for name in ["Anna", "127.0.0.1"] {
        let revoked = run(&["revoke", name]);
        assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    }
    assert_eq!(statuses(), [401, 200, 401]);
    assert_eq!((studio.server().people().len(), studio.server().guests().asking), (1, vec![CALLER]));
    let nobody = run(&["revoke", "Anna"]);
    let said = String::from_utf8_lossy(&nobody.stderr);
    assert!(nobody.status.code() == Some(1) && said.contains("atelier serve access"), "{said}");
    assert!(run(&["revoke", "Ben"]).status.success());
    assert_eq!(statuses(), [401; 3]);
    assert!(String::from_utf8_lossy(&run(&["access"]).stdout).contains("Nobody"));

    // What cannot be read changes nothing, and is read once it can.
    std::fs::write(&tokens, json!({"Anna": ANNA}).to_string()).unwrap();
    assert_eq!(statuses(), [200, 401, 401]);
    std::fs::write(&tokens, b"{").unwrap();
    assert_eq!(statuses(), [200, 401, 401]);
    assert_eq!(run(&["access"]).status.code(), Some(1));
    std::fs::remove_file(&tokens).unwrap();
    assert_eq!(statuses(), [401; 3]);
}
