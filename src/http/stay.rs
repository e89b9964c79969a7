//! Answers that last end as soon as whoever asked may come in no longer: a token is taken back while
//! events of a picture are told.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Frame;

use super::asking::verdict_on;
use super::error::Failure;
use super::events::EVENT_STREAM;
use super::gate::Gate;
use super::guard::{Refusal, Verdict};
use atelier_gallery::queue::Owner;

/// Somebody who was let in, by the head of their request.
pub(super) struct Stay {
    gate: Gate,
    asked: Parts,
    owner: Owner,
}

impl Stay {
    pub(super) const fn new(gate: Gate, asked: Parts, owner: Owner) -> Self {
        Self { gate, asked, owner }
    }

    /// What `work` answers, unless they may come in no longer before it does; an answer of events ends
    /// then too.
    pub(super) async fn answer(self, work: impl Future<Output = Response>) -> Response {
        let stay = Arc::new(self);
        let response = tokio::select! {
            biased;
            () = Arc::clone(&stay).until_over() => return Failure::Unauthorized(Refusal::Token.sentence()).into_response(),
            response = work => response,
        };
        if response.headers().get(header::CONTENT_TYPE).is_none_or(|kind| kind != EVENT_STREAM) {
            return response;
        }
        response.map(|body| Body::new(StayBody { body, over: Some(Box::pin(stay.until_over())) }))
    }

    /// True while their request would be let in as it was.
    fn holds(&self) -> bool {
        matches!(verdict_on(&self.asked, &self.gate), Verdict::Pass { owner, .. } if owner == self.owner)
    }

    async fn until_over(self: Arc<Self>) {
        // Before the first look: what changes after it is heard.
        let mut changes = self.gate.changes();
        while self.holds() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// A body that ends with their stay.
struct StayBody {
    body: Body,
    /// `None` once it is over.
    over: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl hyper::body::Body for StayBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let is_over = self.over.as_mut().is_some_and(|over| over.as_mut().poll(context).is_ready());
        if is_over {
            // The work behind a body ends with it.
            self.body = Body::empty();
            self.over = None;
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::net::{IpAddr, SocketAddr};
    use std::path::Path;
    use std::time::Duration;

    use axum::Router;
    use axum::http::{Request, StatusCode};
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use http_body_util::BodyExt as _;
    use serde_json::json;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tower::ServiceExt as _;

    use super::*;
    use crate::http::admit;
    use crate::http::connections::Peer;
    use crate::http::events::stream;
    use crate::http::guard::Policy;
    use crate::http::identity::Local;
    use crate::http::register::Register;
    use crate::http::tokens::{Tokens, file_in, forget};
    use crate::http::visitors::Caller;

    const ANNA: &str = "anna-0123456789abcdef";
    const BEN: &str = "ben-0123456789abcdef";

    fn tokens(people: &[(&str, &str)]) -> Tokens {
        let mut tokens = Tokens::default();
        for (name, token) in people {
            tokens.add(name, token, false).unwrap();
        }
        tokens
    }

    /// Tells that the work it is in has ended.
    struct DropSignal(UnboundedSender<&'static str>);

    impl Drop for DropSignal {
        fn drop(&mut self) {
            let _ = self.0.send("ended");
        }
    }

    /// A server of endless answers behind the guard, and what happens to them.
    fn server(folder: &Path) -> (Gate, Router, UnboundedReceiver<&'static str>) {
        let policy = Policy { tokens: tokens(&[("Anna", ANNA), ("Ben", BEN)]), ..Policy::default() };
        let gate = Gate::new(policy, Register::open(folder));
        gate.refresh_now();
        let (tell, told) = unbounded_channel();
        let begun = tell.clone();
        let router = Router::new()
            .route(
                "/events",
                get(move || async move {
                    let work_ends = DropSignal(tell);
                    stream(None, |events| async move {
                        let _work_ends = work_ends;
                        events.send(Some("step"), &json!({"step": 1})).await;
                        pending::<()>().await;
                    })
                }),
            )
            .route(
                "/picture",
                get(move || async move {
                    begun.send("begun").unwrap();
                    pending::<Response>().await
                }),
            )
            .layer(from_fn_with_state(gate.clone(), admit));
        (gate, router, told)
    }

    async fn ask(router: &Router, path: &str, token: &str) -> Response {
        let head = Request::builder().uri(path).header("host", "localhost").header("authorization", format!("Bearer {token}"));
        router.clone().oneshot(head.body(Body::empty()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn events_end_with_the_token_they_were_asked_for_with_and_those_of_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, router, mut told) = server(folder.path());
        let mut of_anna = ask(&router, "/events", ANNA).await.into_body();
        let mut of_ben = ask(&router, "/events", BEN).await.into_body();
        for body in [&mut of_anna, &mut of_ben] {
            assert!(body.frame().await.is_some());
        }
        gate.set_tokens(tokens(&[("Ben", BEN), ("Anna", "another-0123456789abcdef")]));
        assert!(of_anna.frame().await.is_none(), "also where she has another token now");
        assert_eq!(told.recv().await, Some("ended"));
        tokio::select! {
            biased;
            _ = of_ben.frame() => panic!("Ben's go on, and nothing is told"),
            () = ready(()) => {}
        }
        assert_eq!(ask(&router, "/events", ANNA).await.status(), StatusCode::UNAUTHORIZED);
    }

    #[tokio::test]
    async fn who_waits_for_a_picture_is_refused_once_the_token_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, router, mut told) = server(folder.path());
        let waiting = tokio::spawn(async move { ask(&router, "/picture", ANNA).await });
        assert_eq!(told.recv().await, Some("begun"));
        gate.set_tokens(Tokens::default());
        assert_eq!(waiting.await.unwrap().status(), StatusCode::UNAUTHORIZED);
    }

    #[tokio::test]
    async fn what_another_process_takes_back_is_heard_of_while_nobody_asks() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, router, _told) = server(folder.path());
        let file = file_in(folder.path());
        let of_carol = Tokens::default().of_people(&file, &["Carol".to_owned()], None, 0).unwrap();
        let following = tokio::spawn(gate.follow(Duration::from_millis(1)));
        let mut body = ask(&router, "/events", &of_carol[0].1).await.into_body();
        assert!(body.frame().await.is_some());
        assert!(forget(&file, "Carol").unwrap());
        assert!(body.frame().await.is_none());
        following.abort();
    }

    #[tokio::test]
    async fn events_of_a_device_end_once_it_is_turned_away() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, router, _told) = server(folder.path());
        let [address, here] = [7, 1].map(|last| IpAddr::from([10, 0, 0, last]));
        gate.visitors.note_asking(Caller { address, program: None }, here);
        drop(gate.answer(address, true));
        let head = Request::builder().uri("/events").header("host", "localhost");
        let head = head.extension(Peer(SocketAddr::new(address, 9))).extension(Local(SocketAddr::new(here, 80)));
        let mut body = router.oneshot(head.body(Body::empty()).unwrap()).await.unwrap().into_body();
        assert!(body.frame().await.is_some());
        drop(gate.answer(address, false));
        assert!(body.frame().await.is_none());
    }
}
