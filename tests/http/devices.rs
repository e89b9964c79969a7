//! Devices without a token, which are let in by their addresses.

use std::net::IpAddr;

use atelier::http::guard::Policy;
use atelier_core::paths::Paths;
use serde_json::{Value, json};

use crate::client::{Sent, get};
use crate::studio::Studio;

/// Every client of these tests.
const DEVICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

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
    std::fs::write(Paths::beneath(studio.home.path()).data.join("serve-approvals.json"), approvals.to_string()).unwrap();
}

#[test]
fn a_device_is_let_in_also_after_a_restart_until_that_is_revoked() {
    let mut studio = guarded();
    assert_eq!(status(&studio), 401);
    assert_eq!(studio.server().guests().asking, [DEVICE]);
    studio.server().answer(DEVICE, true).keep().unwrap();
    assert_eq!(status(&studio), 200);
    let guests = studio.server().guests();
    assert_eq!((guests.admitted, guests.asking.len()), (vec![DEVICE], 0));
    studio.serve();
    assert_eq!(status(&studio), 200);
    studio.server().answer(DEVICE, false).keep().unwrap();
    assert_eq!(status(&studio), 401);
    assert!(studio.server().guests().asking.is_empty(), "it was answered in this run");
    studio.serve();
    assert_eq!(status(&studio), 401);
    assert_eq!(studio.server().guests().asking, [DEVICE]);
}

#[test]
fn an_approval_is_for_the_address_of_a_connection_in_the_network_where_it_was_given() {
    let mut studio = guarded();
    for (device, here, allowed) in
        [("127.0.0.1", "127.0.0.1", 200), ("127.0.0.1", "10.0.0.1", 401), ("10.0.0.7", "127.0.0.1", 401), ("10.0.0.7", "10.0.0.1", 401)]
    {
        write_approval(&studio, device, here);
        studio.serve();
        for header in ["Accept", "X-Forwarded-For", "Forwarded", "X-Real-IP"] {
            let value = if header == "Forwarded" { format!("for={device}") } else { device.to_owned() };
            let asked = Sent::new(studio.address(), "GET", "/sdapi/v1/cmd-flags", &[(header, &value)], b"").answer();
            assert_eq!(asked.status, allowed, "{device} at {here}, {header}");
        }
    }
}
